"""The command ``onecharge``, which is ``python -m onecharge`` as well."""

import gc
import importlib
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Import the command line, and run it."""
    # Importing makes things that stay: to collect garbage meanwhile is a tenth of the start.
    gc.disable()
    command = importlib.import_module("onecharge.cli")
    gc.freeze()
    gc.enable()
    sys.exit(command.main())


if __name__ == "__main__":
    main()
