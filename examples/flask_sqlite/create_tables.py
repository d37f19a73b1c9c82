"""Make an empty database."""

import sqlite3
from pathlib import Path

from app import DATABASE

Path(DATABASE).unlink(missing_ok=True)
with sqlite3.connect(DATABASE) as db:
    db.executescript(
        """
        PRAGMA journal_mode = WAL;
        CREATE TABLE donations (
            key TEXT PRIMARY KEY,
            purpose TEXT NOT NULL,
            donor TEXT NOT NULL,
            amount INTEGER NOT NULL,
            status TEXT NOT NULL DEFAULT 'pending',
            intent TEXT UNIQUE
        );
        CREATE TABLE credits (
            id INTEGER PRIMARY KEY,
            purpose TEXT NOT NULL,
            amount INTEGER NOT NULL
        );
        """
    )
