"""A port for a server that will be killed and started again on it.

Below the range from which the kernel serves outgoing connections: a client that knocks while
the server is down could otherwise be given the server's own port and connect to itself.
"""

import random
import socket
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"

_LOWEST = 10_000
_EPHEMERAL_BY_DEFAULT = 32_768
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(chance: random.Random | random.SystemRandom | None = None) -> int:
    """Return a loopback port that nobody listens on now. Others may come first: try again."""
    chance = chance or random.SystemRandom()
    for _ in range(100):
        port = chance.randrange(_LOWEST, _first_ephemeral())
        if _is_free(port):
            return port
    with socket.create_server((LOOPBACK, 0)) as server:
        return int(server.getsockname()[1])


def _is_free(port: int) -> bool:
    with suppress(OSError), socket.socket() as probe:
        probe.bind((LOOPBACK, port))
        return True
    return False


def _first_ephemeral() -> int:
    with suppress(OSError, ValueError):
        first = int(_RANGE.read_text().split()[0])
        return first if first > _LOWEST else _EPHEMERAL_BY_DEFAULT
    return _EPHEMERAL_BY_DEFAULT
