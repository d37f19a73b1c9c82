"""The endpoints that hear of events, and the secrets by which they know us."""

from typing import TYPE_CHECKING

from simulator.control.asks import Asked, Told, Trouble, invalid

if TYPE_CHECKING:
    from simulator.control.bodies import EndpointBody, RotateBody
    from simulator.server import Simulator


async def add_endpoint(simulator: "Simulator", asked: Asked) -> Told:
    """Tell an endpoint of every event to come."""
    body: EndpointBody = asked.body
    try:
        simulator.add_endpoint(body.url, body.secret, body.account)
    except ValueError as error:
        raise _unsound_secret(simulator, error) from None
    return Told({"url": body.url, "account": body.account}, 201)


async def rotate(simulator: "Simulator", asked: Asked) -> Told:
    """Give an endpoint a new secret, and keep the old one beside it for a while."""
    body: RotateBody = asked.body
    try:
        simulator.provider.rotate_secret(
            body.url,
            body.secret,
            body.account,
            now=simulator.clock.now(),
            keep_s=body.keep_s,
        )
    except KeyError:
        raise Trouble(404, "No such endpoint", f"Nobody listens at {body.url!r}.") from None
    except ValueError as error:
        raise _unsound_secret(simulator, error) from None
    return Told({"url": body.url, "account": body.account})


async def clear_endpoints(simulator: "Simulator", _: Asked) -> Told:
    """Tell nobody anything any more."""
    simulator.clear_endpoints()
    return Told(status=204)


def _unsound_secret(simulator: "Simulator", error: ValueError) -> Trouble:
    return invalid("secret", f"what {simulator.dialect} takes: {error}", "…")
