"""What goes wrong: the faults there are, and the plan that is in force."""

import inspect
from typing import TYPE_CHECKING, get_args

from simulator import catalogue
from simulator.catalogue import PlanError, rule_schema, rules_from, table_from
from simulator.control.asks import Asked, Told, invalid
from simulator.core.messages import Seam

if TYPE_CHECKING:
    from simulator.server import Simulator


async def faults(simulator: "Simulator", _: Asked) -> Told:  # noqa: ARG001  # all are asked alike
    """Show every fault there is: what it does, whether it is fair, how a rule places it."""
    return Told(
        {
            "faults": [
                {
                    "name": name,
                    "fair": fault.fair,
                    "says": inspect.getdoc(fault),
                    "seams": [seam for seam in get_args(Seam) if fault.bends(seam)],
                    "rule": rule_schema(name),
                }
                for name, fault in catalogue.faults().items()
            ]
        }
    )


async def plan(simulator: "Simulator", _: Asked) -> Told:
    """Show the plan, and how often each rule has fired."""
    plan = simulator.provider.plan
    rules = [table_from(rule) | {"fired": plan.fired[rule.name]} for rule in plan.rules]
    return Told({"in_force": plan.in_force, "rules": rules})


async def arm(simulator: "Simulator", asked: Asked) -> Told:
    """Put a plan in force instead of the present one."""
    try:
        rules = rules_from(asked.body.rules)
    except PlanError as error:
        raise invalid(error.field, error.expected, error.found, str(error)) from None
    simulator.arm(rules, seed=asked.body.seed)
    return await plan(simulator, asked)


async def disarm(simulator: "Simulator", _: Asked) -> Told:
    """End all faults: rules, holds and silent connections."""
    simulator.disarm()
    return Told(status=204)
