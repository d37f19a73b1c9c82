"""A payment provider that goes wrong on request: a pure machine and a thin aiohttp shell."""
