"""The world of a run: its processes, its PostgreSQL and the clients around the service."""
