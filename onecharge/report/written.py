"""Files of ours are there whole or not at all.

A CI step that reads one must find what was meant or nothing, never half of it.
"""

import os
from pathlib import Path


def write_whole(text: str, path: Path) -> None:
    """Write a text to ``path`` as UTF-8; ``OSError`` if it cannot be written."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")  # a device or a pipe: there is nothing to replace
        return
    # Beside the target, so that the last step is a rename on one file system.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
