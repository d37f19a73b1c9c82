"""The factors of two services: the reference, which can do everything, and the corner shop."""

from dataclasses import replace
from pathlib import Path

import pytest

from onecharge.combinations.factors import factors_of
from onecharge.combinations.rows import Row, Space
from onecharge.combinations.values import Call
from onecharge.service_file import ServiceFile, read_service_file
from onecharge.targets import target

SHOP = Path(__file__).parents[1] / "cli" / "onecharge.toml"
CHARGE = [Call("charge.create")]


@pytest.fixture(scope="session")
def reference_file() -> ServiceFile:
    return target(None, None).service_file


@pytest.fixture(scope="session")
def shop_file() -> ServiceFile:
    return read_service_file(SHOP)


@pytest.fixture(scope="session")
def space(reference_file: ServiceFile) -> Space:
    """Everything that can be combined for the reference."""
    return Space(factors_of(reference_file, CHARGE, own_database=True))


@pytest.fixture(scope="session")
def rows(space: Space) -> list[Row]:
    """The rows in which every pair is; they are made once."""
    return space.covering()


@pytest.fixture(scope="session")
def small(space: Space) -> Space:
    """A few values of each factor."""
    return Space([replace(factor, values=factor.values[:4]) for factor in space.factors])
