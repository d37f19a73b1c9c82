"""``/_sim/`` as its OpenAPI document describes it, by schemathesis: what is promised is kept.

Requests are drawn from the document, the right ones and the wrong ones; every answer has to be
one that the document knows, in the form that it says, and none a 5xx.
"""

import contextlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from simulator.control.routes import ROUTES

OPENAPI: Final[dict[str, Any]] = json.loads(
    (resources.files("simulator") / "openapi.json").read_text()
)
CHECKS: Final = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
SERVE: Final = "import asyncio; from simulator.server import serve; asyncio.run(serve())"
MOST: Final = 100  # requests for each operation in each mode; they take their time
SHARE: Final = 10  # of the requests of a fuzz, one in so many is drawn here


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A simulator in a process of its own: it must be there when all is over."""
    argv = [sys.executable, "-c", SERVE]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as served:  # noqa: S603
        assert served.stdout is not None
        yield str(json.loads(served.stdout.readline())["url"])
        assert served.poll() is None
        served.terminate()


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.filterwarnings("ignore")  # of schemathesis' own making
@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_every_answer_is_one_that_the_document_promises(
    url: str, requests_to_send: int, fuzz_seed: int, mode: GenerationMode
) -> None:
    schema = schemathesis.openapi.from_dict(OPENAPI)
    schema.config.base_url = url
    seen = Counter[str]()
    session = requests.Session()
    share = requests_to_send // SHARE // len(ROUTES) // len(GenerationMode)
    each = min(max(1, share), MOST)

    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()

        @seed(fuzz_seed)
        @settings(
            max_examples=each,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: schemathesis.Case[Any]) -> None:
            if isinstance(case.body, dict) and "url" in case.body and mode.is_positive:
                case.body["url"] = "http://127.0.0.1:9/"  # nobody else is to be bothered
            response = case.call(session=session)
            case.validate_response(response, checks=list(CHECKS))
            seen[f"{response.status_code // 100}xx"] += 1

        with contextlib.suppress(Unsatisfiable):  # nothing can be wrong with a GET of no words
            ask()

    print(f"\n/_sim/ {mode.value}: {dict(sorted(seen.items()))}")  # noqa: T201
    assert requests.get(f"{url}/_sim/ready", timeout=5).json()["ready"] is True
    assert seen["2xx"] if mode.is_positive else seen["4xx"]
