"""Who may control the simulator, and what is said to who may not.

Rule 1: without a token only loopback may ask; with one, whoever shows it.
Rule 2: without a token no web page may ask either: a browser says where a page comes from
        (``Origin``) and whom it took us for (``Host``), and both must be this machine.
"""

import hmac
import ipaddress
import re

from aiohttp import web

from simulator.control.asks import Trouble


def check_right(request: web.BaseRequest, token: str | None) -> None:
    """Raise ``Trouble`` unless whoever asks may control this simulator."""
    if token is not None:
        shown = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(shown, f"Bearer {token}".encode()):
            raise Trouble(401, "Token required", "Show the token: Authorization: Bearer ….")
        return
    if not is_loopback(request.transport and request.transport.get_extra_info("peername")):
        raise Trouble(403, "Loopback only", "Start with a token to control it from elsewhere.")
    host = request.headers.get("Host", "")
    if not names_loopback(host):
        raise Trouble(403, "Strange Host", "Call it by a name or address of this machine.")
    if request.headers.get("Origin", f"http://{host}") != f"http://{host}":
        raise Trouble(403, "Strange Origin", "A page from elsewhere may not control it.")


def is_loopback(peer: object) -> bool:
    """Tell whether a socket's peer is on this machine."""
    if not (isinstance(peer, tuple) and peer):
        return False
    address = ipaddress.ip_address(peer[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def names_loopback(host: str) -> bool:
    """Tell whether a ``Host`` header names this machine: no other name can be rebound to it."""
    name = host.rpartition(":")[0] if re.fullmatch(r".*:\d*", host) else host
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return is_loopback((name.strip("[]"), 0))
    except ValueError:
        return False
