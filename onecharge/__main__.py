"""``python -m onecharge`` is the command ``onecharge``."""

from onecharge.cli import main

main()
