"""JSON as it is written here: ASCII only, and no white space.

Rule 1: it is what ``json.dumps`` says, at less than half of its time; what changes is who makes
        the encoder: ``JSONEncoder.encode`` makes its C part anew for every value.
"""

import json
import json.encoder
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

__all__ = ["as_json", "encoder", "quoted"]


def encoder() -> Callable[[object], str]:
    """Return ``JSONEncoder.encode`` with a C part that is made once."""
    plain = json.JSONEncoder(separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # only CPython has it
        return plain.encode
    words = make(
        None, plain.default, quoted, None, ":", ",", False, False, True
    )  # no markers: what we write has no circles
    return lambda value: "".join(words(value, 0))


as_json: Final = encoder()
