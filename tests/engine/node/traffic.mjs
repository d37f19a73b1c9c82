// What node-postgres does at length: pools, named statements, errors, large values, transactions.
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.argv[2], max: 4 });
const one = (n) =>
  pool.query({ name: "double", text: "SELECT $1::int AS n, $1::int * 2 AS twice", values: [n] });
const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => one(n)));
const rows = answers.map((answer) => answer.rows[0]);

const big = await pool.query("SELECT length($1::text) AS length", ["x".repeat(2_000_000)]);
const code = await pool.query("SELECT 1 / $1::int", [0]).catch((error) => error.code);

const client = await pool.connect();
await client.query("BEGIN");
await client.query("CREATE TEMPORARY TABLE t (id int) ON COMMIT DROP");
await client.query("INSERT INTO t SELECT generate_series(1, 1000)");
const sum = await client.query("SELECT sum(id)::int AS sum FROM t; SELECT 'two'");
await client.query("COMMIT");
client.release();
await pool.end();

const sums = sum.map((each) => each.rows);
console.log(JSON.stringify({ rows, big: big.rows, code, sums }));
