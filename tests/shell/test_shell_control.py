"""``/_sim/``: what a test in any language can ask, and what it is told when it asks badly."""

import asyncio
import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import ClientError

from simulator.control import bodies, rights
from simulator.control.asks import Route
from simulator.control.routes import ROUTES

from .conftest import SECRET

if TYPE_CHECKING:
    from .conftest import Start, World

OPENAPI: dict[str, Any] = json.loads((resources.files("simulator") / "openapi.json").read_text())


async def test_ready_says_where_and_what(world: "World") -> None:
    answer = await world.call("GET", "/_sim/ready")

    assert answer.status == 200
    assert answer.data["ready"] is True
    assert answer.data["dialect"] == "generic"
    assert answer.data["urls"] == {"provider": world.simulator.url()}


async def test_a_plan_is_armed_shown_and_ended(world: "World") -> None:
    rules: list[dict[str, object]] = [
        {"fault": "lose_reply", "operation": "charge.create", "times": 1},
        {"fault": "lose_reply", "order": "ord-7"},
    ]
    armed = await world.call("POST", "/_sim/plan", {"rules": rules})
    with pytest.raises(ClientError):
        await world.charge("ord-1")
    shown = await world.call("GET", "/_sim/plan")
    ended = await world.call("DELETE", "/_sim/plan")
    after = await world.call("GET", "/_sim/plan")

    names = [("lose_reply", 0), ("lose_reply-2", 0)]
    assert [(rule["name"], rule["fired"]) for rule in armed.data["rules"]] == names
    assert shown.data["rules"][0] == rules[0] | {"name": "lose_reply", "fired": 1}
    assert shown.data["in_force"] is True
    assert (ended.status, ended.data) == (204, "")
    assert after.data == shown.data | {"in_force": False}


async def test_a_held_call_is_shown_and_released(world: "World") -> None:
    rule = {"fault": "hold", "operation": "charge.create", "until": "released"}
    await world.call("POST", "/_sim/plan", {"rules": [rule]})
    charging = asyncio.ensure_future(world.charge("ord-1"))
    await world.hold_one()

    [held] = (await world.call("GET", "/_sim/held")).data["held"]
    released = await world.call("POST", f"/_sim/held/{held['call']}/release")
    again = await world.call("POST", f"/_sim/held/{held['call']}/release")

    assert (held["order"], held["seam"]) == ("ord-1", "before_commit")
    assert held["until"] == {"condition": "released", "amount": 0, "at_most_ms": 10_000}
    assert (released.status, again.status) == (200, 404)
    assert (await charging).status == 201
    assert world.journal.find("release", reason="control")


async def test_a_call_is_held_by_control_and_released_beside_the_plan(world: "World") -> None:
    await world.call("POST", "/_sim/plan", {"rules": [{"fault": "decline", "order": "ord-2"}]})
    asked = {"operation": "charge.create", "order": "ord-1", "seam": "after_commit"}
    hold = await world.call("POST", "/_sim/held", asked)
    charging = asyncio.ensure_future(world.charge("ord-1"))
    held = await world.hold_one()
    declined = await world.charge("ord-2")  # neither held nor forgotten

    assert world.charged == ["ord-1"]
    assert (hold.status, hold.data) == (201, {"rule": "hold"})
    assert (held.seam, held.until.condition, held.until.at_most_ms) == (
        "after_commit",
        "released",
        60_000,
    )
    assert declined.status == 402
    assert (await world.call("POST", f"/_sim/held/{held.call}/release")).status == 200
    assert (await charging).status == 201
    assert (await world.charge("ord-1")).status == 201  # it was to hold one call
    assert world.simulator.fired() == {"decline": 1, "hold": 1}


async def test_two_holds_by_control_are_two_rules(world: "World") -> None:
    first = await world.call("POST", "/_sim/held", {"order": "ord-1"})
    second = await world.call("POST", "/_sim/held", {"order": "ord-2", "times": 2})

    plan = await world.call("GET", "/_sim/plan")

    assert [first.data["rule"], second.data["rule"]] == ["hold", "hold-2"]
    assert [(rule["name"], rule["times"]) for rule in plan.data["rules"]] == [
        ("hold", 1),
        ("hold-2", 2),
    ]


async def test_the_clock_moves_forward(world: "World") -> None:
    world.listen()
    world.shop.statuses = [500]
    await world.charge("ord-1")
    await world.journal.seen("fail", what="attempt")

    answer = await world.call("POST", "/_sim/clock/advance", {"seconds": 10})

    assert answer.data["now_s"] >= 10
    await world.journal.seen("ok", what="attempt")


async def test_the_ledger_is_readable(world: "World") -> None:
    await world.charge("ord-1")

    answer = await world.call("GET", "/_sim/ledger")

    assert answer.data["discrepancies"] == []
    [posting] = answer.data["postings"]
    assert (posting["kind"], posting["reference"], posting["amount_minor"]) == (
        "capture",
        "ord-1",
        500,
    )


async def test_the_journal_is_readable_from_where_one_left_off(start: "Start") -> None:
    world = await start(sink=None)
    await world.charge("ord-1")
    first = await world.call("GET", "/_sim/journal")
    await world.charge("ord-1")

    second = await world.call("GET", f"/_sim/journal?from={first.data['next']}")

    assert [entry["i"] for entry in first.data["entries"]] == list(range(first.data["next"]))
    assert (
        first.data["entries"][0].items()
        >= {
            "lane": "provider",
            "kind": "receive",
            "order": "ord-1",
            "tenant": "shop",
            "key": "key-ord-1",
        }.items()
    )
    assert second.data["entries"][0]["i"] == first.data["next"]
    assert second.data["entries"][-1]["value"]["replayed"] is True
    assert second.data["entries"][-1]["cause"] == first.data["next"]


async def test_a_journal_that_others_keep_is_not_here(world: "World") -> None:
    assert (await world.call("GET", "/_sim/journal")).status == 409


async def test_endpoints_deliveries_and_resending(world: "World") -> None:
    added = await world.call(
        "POST", "/_sim/endpoints", {"url": world.shop.url, "secret": SECRET, "account": "shop"}
    )
    await world.charge("ord-1")
    await world.journal.seen("ok", what="attempt")
    resent = await world.call("POST", "/_sim/events/evt_1/resend")
    await world.journal.seen("ok", count=2, what="attempt")
    shown = await world.call("GET", "/_sim/deliveries")
    cleared = await world.call("DELETE", "/_sim/endpoints")

    assert (added.status, resent.status, cleared.status) == (201, 202, 204)
    assert added.data == {"url": world.shop.url, "account": "shop"}
    assert shown.data["unfinished"] == 0
    assert [(each["event"], each["acknowledged"]) for each in shown.data["deliveries"]] == [
        ("evt_1", True),
        ("evt_1", True),
    ]
    assert resent.data["deliveries"] == [shown.data["deliveries"][1]["id"]]
    assert world.shop.events == ["evt_1", "evt_1"]


async def test_reset_begins_again(start: "Start") -> None:
    world = await start(sink=None)
    await world.charge("ord-1")
    await world.call("POST", "/_sim/plan", {"rules": [{"fault": "lose_reply"}]})

    answer = await world.call("POST", "/_sim/reset", {"seed": 7})

    assert answer.data == {"seed": 7}
    assert (await world.call("POST", "/_sim/reset")).data == {"seed": 7}
    assert (await world.call("GET", "/_sim/ledger")).data["postings"] == []
    assert (await world.call("GET", "/_sim/plan")).data == {"in_force": False, "rules": []}
    assert (await world.call("GET", "/_sim/journal")).data == {"entries": [], "next": 0}


async def test_resets_at_the_same_time_leave_one_sender_of_webhooks(world: "World") -> None:
    await asyncio.gather(*(world.call("POST", "/_sim/reset") for _ in range(5)))

    senders = [task for task in asyncio.all_tasks() if task.get_name() == "webhook sender"]
    assert [task.done() for task in senders] == [False]
    world.listen()
    await world.charge()
    await world.journal.seen("ok", what="attempt")
    assert world.shop.events == ["evt_1"]


async def test_calls_that_come_during_a_reset_are_answered_like_any_others(start: "Start") -> None:
    """A call of the new provider may have the id of one of the old that still stands."""
    world = await start(sink=None)
    hold = {"rules": [{"fault": "hold", "operation": "charge.create", "until": "released"}]}
    for _ in range(2):
        await world.call("POST", "/_sim/plan", hold)
        held = [asyncio.ensure_future(world.charge(f"old-{number}")) for number in range(4)]
        while len(world.simulator.gates.held()) < len(held):
            await asyncio.sleep(0)

        resets = [world.call("POST", "/_sim/reset") for _ in range(2)]
        others = [
            step
            for number in range(12)
            for step in (world.call("POST", "/_sim/held", {}), world.charge(f"new-{number}"))
        ]
        meanwhile = [asyncio.ensure_future(each) for each in (*resets, *others)]
        while not all(task.done() for task in (*held, *meanwhile)):
            world.simulator.gates.release_all()
            await asyncio.sleep(0)

        statuses = {task.result().status for task in (*held, *meanwhile)}
        assert statuses == {200, 201}
        assert world.simulator.provider.held == {}
        assert world.simulator.provider.ledger.discrepancies() == []


@pytest.mark.parametrize(
    "path, body, status, field",
    [
        ("/_sim/plan", {}, 422, "rules"),
        ("/_sim/plan", {"rules": 3}, 422, "rules"),
        ("/_sim/plan", {"rules": [], "rule": []}, 422, "rule"),
        ("/_sim/plan", [], 422, "the body"),
        ("/_sim/plan", {"rules": [{}]}, 422, "rules[0].fault"),
        ("/_sim/plan", {"rules": [{"fault": "hold"}, {"fault": "hodl"}]}, 422, "rules[1].fault"),
        ("/_sim/plan", {"rules": [{"fault": "hold", "amount": "x"}]}, 422, "rules[0].amount"),
        ("/_sim/held", {"operation": "charge.creat"}, 422, "operation"),
        ("/_sim/held", {"seam": "on_delivery"}, 422, "seam"),
        ("/_sim/held", {"at_most_ms": 600_001}, 422, "at_most_ms"),
        ("/_sim/clock/advance", {"seconds": -1}, 422, "seconds"),
        ("/_sim/clock/advance", {"seconds": "1"}, 422, "seconds"),
        ("/_sim/clock/advance", {"seconds": True}, 422, "seconds"),
        ("/_sim/clock/advance", {"seconds": float("inf")}, 422, "seconds"),
        ("/_sim/endpoints", {"url": "ftp://x", "secret": SECRET}, 422, "url"),
        ("/_sim/endpoints", {"url": "http://x", "secret": "wrong"}, 422, "secret"),
        ("/_sim/reset", {"seed": "7"}, 422, "seed"),
        ("/_sim/held/call-9/release", {}, 404, None),
        ("/_sim/held/call-9/release", {"now": True}, 422, "now"),
        ("/_sim/events/evt_9/resend", None, 404, None),
        ("/_sim/ledger", {}, 405, None),
        ("/_sim/nothing", {}, 404, None),
        ("/_sim/", {}, 404, None),
    ],
)
async def test_what_is_asked_badly_is_a_problem_that_names_the_field(
    world: "World", path: str, body: object, status: int, field: str | None
) -> None:
    answer = await world.call("POST", path, body)

    assert answer.status == status, answer.data
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    assert answer.data["status"] == status
    assert answer.data.get("field") == field
    assert SECRET not in str(answer.data)
    assert world.simulator.fired() == {}


async def test_what_is_no_json_is_400(world: "World") -> None:
    async with world.http.post(world.simulator.url() + "/_sim/plan", data=b"{rules}") as answer:
        assert answer.status == 400


async def test_a_journal_index_is_a_number(start: "Start") -> None:
    world = await start(sink=None)

    answer = await world.call("GET", "/_sim/journal?from=-1")

    assert (answer.status, answer.data["field"]) == (422, "from")


async def test_with_a_token_only_who_shows_it_may_ask(start: "Start") -> None:
    world = await start(token="open sesame")

    without = await world.call("GET", "/_sim/ready")
    wrong = await world.call("GET", "/_sim/ready", headers={"Authorization": "Bearer sesame"})
    right = await world.call("GET", "/_sim/ready", headers={"Authorization": "Bearer open sesame"})

    assert (without.status, wrong.status, right.status) == (401, 401, 200)
    assert (await world.charge()).status == 201  # calls to the provider need none of it


@pytest.mark.parametrize(
    "peer, loopback",
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
    ],
)
def test_only_loopback_is_loopback(peer: str, *, loopback: bool) -> None:
    assert rights.is_loopback((peer, 1234)) is loopback


async def test_the_openapi_document_is_served(world: "World") -> None:
    assert (await world.call("GET", "/_sim/openapi.json")).data == OPENAPI


def test_the_openapi_document_knows_exactly_the_routes() -> None:
    documented = {
        (method.upper(), path) for path, methods in OPENAPI["paths"].items() for method in methods
    }

    assert documented == {(route.method, route.path) for route in ROUTES}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_documented_operation_is_the_route(route: Route) -> None:
    operation = OPENAPI["paths"][route.path][route.method.lower()]

    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    named = [each["name"] for each in operation.get("parameters", []) if each["in"] == "path"]
    assert operation["operationId"] == route.answer.__name__
    assert operation["summary"] == (route.answer.__doc__ or "").removesuffix(".")
    assert body.get("schema") == (
        None
        if route.body is bodies.NoBody
        else {"$ref": f"#/components/schemas/{route.body.__name__}"}
    )
    assert named == re.findall(r"\{(\w+)\}", route.path)


@pytest.mark.parametrize(
    "body",
    sorted({r.body for r in ROUTES} - {bodies.NoBody}, key=str),
)
def test_a_documented_body_has_the_fields_that_are_read(body: type[bodies.Body]) -> None:
    schema = OPENAPI["components"]["schemas"][body.__name__]
    read = body.model_json_schema()

    assert schema["properties"].keys() == read["properties"].keys()
    assert schema.get("required", []) == read.get("required", [])
    assert schema["additionalProperties"] is False
    assert schema["description"] == (body.__doc__ or "").removesuffix(".")


def test_every_reference_in_the_openapi_document_leads_somewhere() -> None:
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(OPENAPI)):
        place: Any = OPENAPI
        for step in reference.split("/"):
            place = place[step]
        assert place
