"""``python -m reference_impl``: the reference charge service, set up by its environment."""

import gc
import importlib
import sys

if __name__ == "__main__":
    # Importing makes things that stay: to collect garbage meanwhile is a fifth of the start.
    gc.disable()
    command = importlib.import_module("reference_impl.command")
    gc.freeze()
    gc.enable()
    sys.exit(command.main())
