"""The machine of the core's tests, bent by faults."""

from tests.core.conftest import SECRET, Build, Shop, provider

__all__ = ["SECRET", "Build", "Shop", "provider"]
