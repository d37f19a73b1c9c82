"""What a command of Redis does, said in a few words, and whether it is worth to be held.

Rule 1: a key differs from run to run; what stands before its first colon does not.
Rule 2: what a client says for its own sake passes: who it is, which database, whether all is well.
Rule 3: between MULTI and EXEC commands only queue up, which nobody can see: they pass, and EXEC
        is held.
"""

import re
from typing import Final

_FOR_ITS_OWN_SAKE: Final = frozenset(
    [
        "HELLO",
        "AUTH",
        "PING",
        "ECHO",
        "SELECT",
        "CLIENT",
        "COMMAND",
        "INFO",
        "QUIT",
        "RESET",
        "READONLY",
        "READWRITE",
        "ASKING",
        "MULTI",
        "DISCARD",
        "SCRIPT",
        "FUNCTION",
        "CONFIG",
        "LATENCY",
        "MEMORY",
        "SLOWLOG",
        "TIME",
    ]
)
_STREAMS: Final = frozenset(
    [
        "SUBSCRIBE",
        "PSUBSCRIBE",
        "SSUBSCRIBE",
        "UNSUBSCRIBE",
        "PUNSUBSCRIBE",
        "SUNSUBSCRIBE",
        "MONITOR",
        "SYNC",
        "PSYNC",
    ]
)
_WAITS: Final = frozenset(
    [
        "BLPOP",
        "BRPOP",
        "BRPOPLPUSH",
        "BLMOVE",
        "BLMPOP",
        "BZPOPMIN",
        "BZPOPMAX",
        "BZMPOP",
        "XREAD",
        "XREADGROUP",
        "WAIT",
        "WAITAOF",
    ]
)
_READS: Final = frozenset(
    [
        "GET",
        "MGET",
        "GETRANGE",
        "STRLEN",
        "EXISTS",
        "TTL",
        "PTTL",
        "EXPIRETIME",
        "PEXPIRETIME",
        "TYPE",
        "KEYS",
        "SCAN",
        "GETBIT",
        "BITCOUNT",
        "HGET",
        "HMGET",
        "HGETALL",
        "HEXISTS",
        "HKEYS",
        "HVALS",
        "HLEN",
        "HSCAN",
        "SISMEMBER",
        "SMISMEMBER",
        "SMEMBERS",
        "SCARD",
        "SSCAN",
        "LRANGE",
        "LLEN",
        "LINDEX",
        "LPOS",
        "ZSCORE",
        "ZMSCORE",
        "ZRANGE",
        "ZRANGEBYSCORE",
        "ZRANK",
        "ZCARD",
        "ZCOUNT",
        "ZSCAN",
        "XRANGE",
        "XREVRANGE",
        "XLEN",
        "XREAD",
        "EVAL_RO",
        "EVALSHA_RO",
        "FCALL_RO",
    ]
)
_WITHOUT_A_KEY: Final = frozenset(
    {"EXEC", "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "PUBLISH", "SCAN", "XREAD"}
)


def name(said: list[bytes]) -> str:
    """Return which command it is."""
    return said[0].decode(errors="replace").upper()


def head(said: list[bytes]) -> str:
    """Return what a command does and to what kind of key: ``SET idem``, ``EXEC``."""
    verb = name(said)
    if len(said) > 1 and verb not in _WITHOUT_A_KEY:
        kind = re.match(rb"([A-Za-z_]\w{0,39}):", said[1])
        if kind:
            return f"{verb} {kind[1].decode()}"
    return verb


def for_its_own_sake(said: list[bytes]) -> bool:
    """Return whether a client says this for itself, so that it is not to be held."""
    return name(said) in _FOR_ITS_OWN_SAKE


def streams(said: list[bytes]) -> bool:
    """Return whether from here on answers are no longer one for each command."""
    if name(said) == "CLIENT":
        return len(said) > 1 and said[1].upper() == b"REPLY"
    return name(said) in _STREAMS


def reads(said: list[bytes]) -> bool:
    """Return whether a command changes nothing; of what is not known that is not said."""
    return name(said) in _READS


def waits(said: list[bytes]) -> bool:
    """Return whether the server may be waiting for somebody else when it does not answer."""
    return name(said) in _WAITS
