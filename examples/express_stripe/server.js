// Checkout of a small shop: Express, PostgreSQL (pg) and the official stripe package.
//
// A checkout is a row before Stripe hears of it, and its id makes Stripe's idempotency key. What is
// not known for sure stays 'processing'; an event, a retry or the sweep below settles it.

import { createHash, randomUUID } from "node:crypto";
import express from "express";
import pg from "pg";
import Stripe from "stripe";

const LEASE_MS = 4000; // longer than one call to Stripe may take, with the package's retries
const OUTCOMES = { succeeded: "paid", requires_payment_method: "declined" };

const db = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
db.on("error", () => {}); // an idle connection broke; the next query takes another

const api = new URL(process.env.STRIPE_API_BASE);
const stripe = new Stripe(process.env.STRIPE_API_KEY, {
  host: api.hostname,
  port: api.port,
  protocol: api.protocol.replace(":", ""),
  timeout: 1000,
  maxNetworkRetries: 1,
  telemetry: false,
});

const app = express();

app.post("/webhooks/stripe", express.raw({ type: () => true, limit: "1mb" }), async (req, res) => {
  let event;
  try {
    event = stripe.webhooks.constructEvent(
      req.body,
      req.get("stripe-signature") ?? "",
      process.env.STRIPE_WEBHOOK_SECRET,
    );
  } catch {
    return res.status(400).json({ error: "not an event of Stripe's" });
  }
  await transaction(async (tx) => {
    const fresh = await tx.query("INSERT INTO events (id) VALUES ($1) ON CONFLICT DO NOTHING", [
      event.id,
    ]);
    if (fresh.rowCount === 1 && event.type === "payment_intent.succeeded") {
      const { id, metadata } = event.data.object;
      if (metadata.checkout) await markPaid(tx, metadata.checkout, id);
    }
  });
  res.json({ received: true });
});

app.use(express.json());

app.post("/checkouts", async (req, res) => {
  const key = req.get("idempotency-key") ?? "";
  const wanted = read(req.body);
  if (!/^[\x20-\x7e]{1,255}$/.test(key) || !wanted) {
    return res.status(400).json({ error: "a key, an order, a customer, cents and a currency" });
  }
  let { checkout, ours } = await reserve(key, wanted);
  if (checkout.fingerprint !== fingerprint(wanted)) {
    return res.status(422).json({ error: "this key was used for another checkout" });
  }
  if (checkout.status === "processing") {
    if (!ours) return res.status(409).set("Retry-After", "1").json({ error: "in progress" });
    checkout = await settle(checkout);
  }
  if (checkout.status === "processing") {
    return res.status(503).set("Retry-After", "1").json({ error: "not known yet" });
  }
  res.status(checkout.status === "paid" ? 201 : 402).json(shown(checkout));
});

app.get("/orders/:order", async (req, res) => {
  const checkouts = await db.query(
    "SELECT * FROM checkouts WHERE order_id = $1 ORDER BY status = 'paid' DESC",
    [req.params.order],
  );
  const credits = await db.query(
    "SELECT c.cents FROM credits c JOIN checkouts o ON o.id = c.checkout WHERE o.order_id = $1",
    [req.params.order],
  );
  res.json({ checkouts: checkouts.rows.map(shown), credits: credits.rows });
});

app.get("/health", async (_req, res) => {
  await db.query("SELECT 1");
  res.json({ ok: true });
});

app.use((error, _req, res, _next) => {
  res.status(error.status ?? 500).json({ error: "something went wrong" });
});

async function reserve(key, wanted) {
  const made = await db.query(
    `INSERT INTO checkouts (id, key, fingerprint, order_id, customer, cents, currency, owned_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 millisecond')
     ON CONFLICT (key) DO NOTHING RETURNING *`,
    [
      randomUUID(),
      key,
      fingerprint(wanted),
      wanted.order,
      wanted.customer,
      wanted.cents,
      wanted.currency,
      LEASE_MS,
    ],
  );
  if (made.rowCount === 1) return { checkout: made.rows[0], ours: true };
  const found = await db.query("SELECT * FROM checkouts WHERE key = $1", [key]);
  const checkout = found.rows[0];
  return { checkout, ours: await takeOver(checkout.id) };
}

// Become the owner of a checkout whose owner has been silent for too long.
async function takeOver(id) {
  const taken = await db.query(
    `UPDATE checkouts SET owned_until = now() + $2 * interval '1 millisecond'
     WHERE id = $1 AND status = 'processing' AND owned_until < now()`,
    [id, LEASE_MS],
  );
  return taken.rowCount === 1;
}

// Ask Stripe for the money and write down what came of it, if anything definite did.
async function settle(checkout) {
  const { outcome, intent } = await ask(checkout);
  return transaction(async (tx) => {
    if (outcome === "paid") {
      await markPaid(tx, checkout.id, intent);
    } else if (outcome === "declined") {
      await tx.query(
        "UPDATE checkouts SET status = 'declined', intent = $2 WHERE id = $1 AND status = 'processing'",
        [checkout.id, intent],
      );
    } else {
      // Whoever asks next may go on at once, with a new key if this one is spent.
      await tx.query(
        "UPDATE checkouts SET attempt = $3, owned_until = now() WHERE id = $1 AND attempt = $2",
        [checkout.id, checkout.attempt, checkout.attempt + (outcome === "nothing happened" ? 1 : 0)],
      );
    }
    return (await tx.query("SELECT * FROM checkouts WHERE id = $1", [checkout.id])).rows[0];
  });
}

async function ask(checkout) {
  try {
    let intent = await stripe.paymentIntents.create(
      {
        amount: checkout.cents,
        currency: checkout.currency.toLowerCase(),
        confirm: true,
        payment_method: "pm_card_visa",
        automatic_payment_methods: { enabled: true, allow_redirects: "never" },
        metadata: { checkout: checkout.id, order: checkout.order_id },
      },
      { idempotencyKey: `checkout-${checkout.id}-${checkout.attempt}` },
    );
    // A bank that takes its time: under this key Stripe says "processing" for ever.
    if (intent.status === "processing") intent = await stripe.paymentIntents.retrieve(intent.id);
    return { outcome: OUTCOMES[intent.status], intent: intent.id };
  } catch (error) {
    if (error.type === "StripeCardError") {
      return { outcome: "declined", intent: error.payment_intent?.id ?? null };
    }
    return look(checkout, error.headers?.["idempotent-replayed"] === "true");
  }
}

// Look for the intent when Stripe's answer was lost or no answer at all. Stripe keeps a 5xx under
// the key, so asking again would never end; but a kept answer is the end of its request, and an
// intent that is not there by now never will be.
async function look(checkout, spent) {
  try {
    for await (const intent of stripe.paymentIntents.list({ limit: 100 })) {
      if (intent.metadata.checkout === checkout.id) {
        return { outcome: OUTCOMES[intent.status], intent: intent.id };
      }
    }
  } catch {
    return {};
  }
  return { outcome: spent ? "nothing happened" : undefined };
}

// Book a checkout, whoever learns of it first; the second one changes nothing.
async function markPaid(tx, id, intent) {
  const paid = await tx.query(
    "UPDATE checkouts SET status = 'paid', intent = $2 WHERE id = $1 RETURNING cents",
    [id, intent],
  );
  if (paid.rowCount === 1) {
    await tx.query("INSERT INTO credits (checkout, cents) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
      id,
      paid.rows[0].cents,
    ]);
  }
}

// Go on with what its owner has left unfinished.
async function sweep() {
  const left = await db.query(
    "SELECT * FROM checkouts WHERE status = 'processing' AND owned_until < now()",
  );
  for (const checkout of left.rows) {
    if (await takeOver(checkout.id)) await settle(checkout);
  }
}

async function sweepForEver() {
  await sweep().catch(() => {}); // the database may be away for a while
  setTimeout(sweepForEver, 500);
}

async function transaction(work) {
  const tx = await db.connect();
  try {
    await tx.query("BEGIN");
    const result = await work(tx);
    await tx.query("COMMIT");
    tx.release();
    return result;
  } catch (error) {
    tx.release(error); // not one more query on a connection in an unknown state
    throw error;
  }
}

function read(body) {
  const { order, customer, cents, currency } = body ?? {};
  const sound =
    typeof order === "string" &&
    typeof customer === "string" &&
    Number.isInteger(cents) &&
    cents > 0 &&
    /^[A-Za-z]{3}$/.test(currency ?? "");
  return sound ? { order, customer, cents, currency } : null;
}

function fingerprint(wanted) {
  const { order, customer, cents, currency } = wanted;
  return createHash("sha256").update(JSON.stringify([order, customer, cents, currency])).digest("hex");
}

function shown({ id, order_id, status, cents, currency, intent }) {
  return { id, order: order_id, status, cents, currency, intent };
}

process.on("unhandledRejection", (error) => console.error(error));
app.listen(Number(process.env.PORT), "127.0.0.1", () => sweepForEver());
