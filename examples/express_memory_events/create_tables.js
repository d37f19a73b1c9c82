// Make the tables, once, before the first start.

import pg from "pg";

const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
await db.connect();
await db.query(`
  CREATE TABLE topups (
    id uuid PRIMARY KEY,
    key text NOT NULL UNIQUE,
    order_id text NOT NULL,
    wallet text NOT NULL,
    cents integer NOT NULL,
    status text NOT NULL DEFAULT 'processing',
    intent text
  );
  CREATE TABLE credits (
    id bigserial PRIMARY KEY,
    topup uuid NOT NULL REFERENCES topups,
    cents integer NOT NULL
  );
`);
await db.end();
