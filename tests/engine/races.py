"""The hard races: which mistake of which shop, and where the explorer is to look for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from onecharge.control import clean_control
from onecharge.engine.stage import SCOPES, Stage
from onecharge.service_file import ServiceFile, read_service_file
from onecharge.world.world import World, standing

_SERVICES: Final = Path(__file__).parent / "services"
SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Race:
    """One mistake, and what it takes to see it.

    ``scope`` is where it is found, ``patterns`` what its witness may look like. Whoever has no
    ``stores`` has nothing to be held at.
    """

    mistake: str
    what: str
    scope: str
    kind: str = "one_charge_per_key"
    instances: int = 1
    workers: int = 1
    """So many processes at each address, between which the system deals out connections."""
    stores: frozenset[str] = field(default=frozenset({"database"}))
    webhooks: bool = False
    lease_s: float | None = None
    patterns: tuple[str, ...] = ("claim_gone_before_the_result",)
    shop: str = "races.toml"
    env: str = "MISTAKE"

    def file(self) -> ServiceFile:
        """Return the service file of a shop that makes this mistake."""
        file = read_service_file(_SERVICES / self.shop)
        env = {**file.service.env, self.env: self.mistake}
        if self.workers > 1:
            env["WORKERS"] = str(self.workers)
        if "redis" not in self.stores:
            env.pop("REDIS_URL", None)
            env |= {"REDIS_URL": ""} if self.shop == "races.toml" else {}
        changes: dict[str, object] = {
            "service": file.service.model_copy(update={"env": env, "instances": self.instances}),
        }
        if self.lease_s is not None:
            changes["provider"] = file.provider.model_copy(update={"lease_s": self.lease_s})
        changes |= {store: None for store in ("database", "redis") if store not in self.stores}
        if not self.webhooks:
            absent = {"webhooks": False, "effects": False}
            changes |= {"webhook": None, "effects": None}
            changes["capabilities"] = file.capabilities.model_copy(update=absent)
        return file.model_copy(update=changes)


RACES: Final = {
    race.mistake: race
    for race in (
        Race(
            "not_exists",
            "a race inside one SQL statement",
            "two-requests",
            shop="onecharge.toml",
            env="GUARD",
            patterns=("looked_then_claimed",),
        ),
        Race("local_lock", "a lock of one process, two instances", "two-requests", instances=2),
        Race(
            "short_lease",
            "a lease shorter than the provider call",
            "lease-runs-out",
            lease_s=0.2,
            patterns=("taken_over",),
        ),
        Race("forgets_first", "a claim cleared just before the result is durable", "two-requests"),
        Race(
            "lost_commit",
            "a COMMIT without an answer, tried again",
            "one-request-and-troubles",
            patterns=("commit_tried_again",),
        ),
        Race(
            "redis_guard",
            "a guard in Redis whose claim is cleared at completion",
            "two-requests",
            stores=frozenset({"redis"}),
            patterns=("acted_on_an_old_look",),
        ),
        Race(
            "looks_first",
            "a webhook's event looked for, then inserted",
            "webhook-copies",
            kind="one_effect_per_event",
            webhooks=True,
            patterns=("event_looked_for_then_inserted",),
        ),
        Race(
            "in_memory",
            "a claim cleared before the result is there, in memory",
            "late-probes",
            patterns=("claim_gone_before_the_result", "acted_on_an_old_look"),
            stores=frozenset(),
        ),
        Race(
            "gives_up",
            "a customer who hangs up takes the claim along",
            "one-request-and-troubles",
            patterns=("hung_up",),
        ),
        Race(
            "fails_open",
            "a look at the store that is given up when it takes too long",
            "quick-and-slow",
            stores=frozenset({"redis"}),
            patterns=("result_not_bound",),
        ),
    )
}


@asynccontextmanager
async def world_of(
    race: Race, folder: Path, *, gated: bool = True, server_url: str | None = None
) -> AsyncIterator[World]:
    """Yield a world with a shop that makes the mistake; its clean control is passed."""
    file = race.file()
    async with standing(file, folder, seed=SEED, gated=gated, server_url=server_url) as world:
        await clean_control(world, seed=SEED)
        yield world


@asynccontextmanager
async def stage_of(race: Race, world: World, number: int = 1) -> AsyncIterator[Stage]:
    """Yield the stage of the race's scope; of each ``number`` there can be one in a world."""
    scope = replace(SCOPES[race.scope], name=f"{race.scope}-{number}")
    async with Stage.set_up(world, scope, seed=SEED, bound_s=10, repeat="") as stage:
        yield stage
