"""``/_sim/``: how a test in any language arms faults, moves time and reads the truth.

One file for each kind of thing that can be asked of; ``routes.py`` lists them all.
"""

from simulator.control.front import PREFIX, Control

__all__ = ["PREFIX", "Control"]
