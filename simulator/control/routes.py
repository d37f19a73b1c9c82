"""Everything that can be asked below ``/_sim/``; ``openapi.json`` says the same for machines."""

from typing import Final

from simulator.control import calls, clock, events, faults, listeners, simulator, truth
from simulator.control.asks import Route
from simulator.control.bodies import (
    AdvanceBody,
    DuplicateBody,
    EndpointBody,
    ForgeBody,
    HoldBody,
    PlanBody,
    ProfileBody,
    ResetBody,
    RotateBody,
    SeedBody,
)

ROUTES: Final = (
    Route("GET", "/_sim/ready", simulator.ready),
    Route("GET", "/_sim/profile", simulator.profile),
    Route("POST", "/_sim/profile", simulator.change_profile, ProfileBody),
    Route("POST", "/_sim/seed", simulator.reseed, SeedBody),
    Route("POST", "/_sim/reset", simulator.reset, ResetBody),
    Route("GET", "/_sim/openapi.json", simulator.openapi),
    Route("GET", "/_sim/faults", faults.faults),
    Route("GET", "/_sim/plan", faults.plan),
    Route("POST", "/_sim/plan", faults.arm, PlanBody),
    Route("DELETE", "/_sim/plan", faults.disarm),
    Route("GET", "/_sim/in_flight", calls.in_flight),
    Route("GET", "/_sim/held", calls.held),
    Route("POST", "/_sim/held", calls.hold, HoldBody),
    Route("POST", "/_sim/held/release", calls.release_all),
    Route("POST", "/_sim/held/{call}/release", calls.release),
    Route("GET", "/_sim/clock", clock.clock),
    Route("POST", "/_sim/clock/advance", clock.advance, AdvanceBody),
    Route("GET", "/_sim/ledger", truth.ledger),
    Route("GET", "/_sim/journal", truth.journal),
    Route("GET", "/_sim/deliveries", truth.deliveries),
    Route("POST", "/_sim/endpoints", listeners.add_endpoint, EndpointBody),
    Route("DELETE", "/_sim/endpoints", listeners.clear_endpoints),
    Route("POST", "/_sim/endpoints/rotate", listeners.rotate, RotateBody),
    Route("GET", "/_sim/events", events.events),
    Route("POST", "/_sim/events/forge", events.forge, ForgeBody),
    Route("POST", "/_sim/events/{event}/resend", events.resend),
    Route("POST", "/_sim/events/{event}/duplicate", events.duplicate, DuplicateBody),
)
