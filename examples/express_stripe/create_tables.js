// Make the tables, once, before the first start.

import pg from "pg";

const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
await db.connect();
await db.query(`
  CREATE TABLE checkouts (
    id uuid PRIMARY KEY,
    key text NOT NULL UNIQUE,
    fingerprint text NOT NULL,
    order_id text NOT NULL,
    customer text NOT NULL,
    cents integer NOT NULL CHECK (cents > 0),
    currency text NOT NULL,
    status text NOT NULL DEFAULT 'processing',
    intent text UNIQUE,
    attempt integer NOT NULL DEFAULT 1,
    owned_until timestamptz NOT NULL
  );
  CREATE INDEX ON checkouts (order_id);
  CREATE TABLE credits (
    checkout uuid PRIMARY KEY REFERENCES checkouts,
    cents integer NOT NULL
  );
  CREATE TABLE events (id text PRIMARY KEY);
`);
await db.end();
