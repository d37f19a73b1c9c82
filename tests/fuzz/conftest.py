"""How much is fuzzed, and from which seed: the same few seconds in CI, and an hour in a bench."""

import os

import pytest


@pytest.fixture(scope="session")
def requests_to_send() -> int:
    return int(os.environ.get("ONECHARGE_FUZZ_REQUESTS", "5000"))


@pytest.fixture(scope="session")
def fuzz_seed() -> int:
    return int(os.environ.get("ONECHARGE_FUZZ_SEED", "0"))
