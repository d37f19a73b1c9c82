"""Protocols of databases as bytes: what is a message, and what does it say. No I/O in here."""
