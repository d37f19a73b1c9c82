"""The same service with one guard broken, one file per bug. See ``parts.py``."""
