"""Who may control the simulator: this machine, but no page that a browser on it has open."""

from typing import TYPE_CHECKING

import pytest

from simulator.control.rights import names_loopback

if TYPE_CHECKING:
    from .conftest import Start, World


@pytest.mark.parametrize("method, path", [("POST", "/_sim/reset"), ("GET", "/_sim/ledger")])
async def test_a_page_from_elsewhere_may_not_control_it(
    world: "World", method: str, path: str
) -> None:
    answer = await world.call(method, path, headers={"Origin": "https://evil.example"})

    assert (answer.status, answer.data["title"]) == (403, "Strange Origin")


async def test_a_page_without_an_origin_of_its_own_may_not_either(world: "World") -> None:
    assert (await world.call("POST", "/_sim/reset", headers={"Origin": "null"})).status == 403


async def test_a_name_that_was_rebound_to_this_machine_is_a_strange_one(world: "World") -> None:
    rebound = {"Host": "evil.example", "Origin": "http://evil.example"}

    answer = await world.call("POST", "/_sim/reset", headers=rebound)

    assert (answer.status, answer.data["title"]) == (403, "Strange Host")


async def test_a_page_that_the_simulator_itself_shows_may(world: "World") -> None:
    own = {"Origin": world.simulator.url()}

    assert (await world.call("POST", "/_sim/reset", headers=own)).status == 200


async def test_a_form_from_elsewhere_changes_nothing(world: "World") -> None:
    await world.charge("ord-1")
    form = {"Origin": "https://evil.example", "Content-Type": "text/plain"}

    await world.call("POST", "/_sim/reset", headers=form)

    assert world.charged == ["ord-1"]


async def test_who_shows_the_token_comes_from_anywhere(start: "Start") -> None:
    world = await start(token="open sesame")
    headers = {"Authorization": "Bearer open sesame", "Host": "simulator.lan"}

    assert (await world.call("GET", "/_sim/ready", headers=headers)).status == 200


async def test_calls_to_the_provider_come_under_any_name(world: "World") -> None:
    headers = {"Authorization": "Bearer shop", "Host": "api.provider.example"}

    assert (await world.call("GET", "/v1/charges", headers=headers)).status == 200


@pytest.mark.parametrize(
    "host, ours",
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("shop.localhost:8000", True),
        ("127.0.0.1:8000", True),
        ("127.8.8.8", True),
        ("[::1]:8000", True),
        ("[::1]", True),
        ("", False),
        (":", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:8000", False),
        ("evil.example", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104
    ],
)
def test_only_names_of_this_machine_are_names_of_this_machine(host: str, *, ours: bool) -> None:
    assert names_loopback(host) is ours
