"""Gates: what stands between a service and its stores, and holds one command at a time."""
