// A wallet that is topped up by card: Express, PostgreSQL (pg) and the official stripe package.
//
// Top-ups are confirmed by Stripe's events alone, and every event is remembered so that it counts
// once: in a Set. See README.md for what is wrong with that.

import { randomUUID } from "node:crypto";
import express from "express";
import pg from "pg";
import Stripe from "stripe";

const db = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
db.on("error", () => {});

const api = new URL(process.env.STRIPE_API_BASE);
const stripe = new Stripe(process.env.STRIPE_API_KEY, {
  host: api.hostname,
  port: api.port,
  protocol: api.protocol.replace(":", ""),
  timeout: 1000,
  maxNetworkRetries: 2,
  telemetry: false,
});

const processedEvents = new Set();

const app = express();

app.post("/stripe/webhook", express.raw({ type: () => true, limit: "1mb" }), async (req, res) => {
  let event;
  try {
    event = stripe.webhooks.constructEvent(
      req.body,
      req.get("stripe-signature") ?? "",
      process.env.STRIPE_WEBHOOK_SECRET,
    );
  } catch {
    return res.sendStatus(400);
  }
  if (processedEvents.has(event.id)) return res.json({ received: true, duplicate: true });
  processedEvents.add(event.id);
  if (event.type === "payment_intent.succeeded") {
    const { id, amount_received, metadata } = event.data.object;
    await db.query("UPDATE topups SET status = 'paid', intent = $2 WHERE id = $1", [
      metadata.topup,
      id,
    ]);
    await db.query("INSERT INTO credits (topup, cents) VALUES ($1, $2)", [
      metadata.topup,
      amount_received,
    ]);
  }
  res.json({ received: true });
});

app.use(express.json());

app.post("/topups", async (req, res) => {
  const key = req.get("idempotency-key");
  if (!key) return res.status(400).json({ error: "Idempotency-Key is required" });
  const { order, wallet, cents } = req.body;
  await db.query(
    `INSERT INTO topups (id, key, order_id, wallet, cents) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (key) DO NOTHING`,
    [randomUUID(), key, order, wallet, cents],
  );
  const topup = (await db.query("SELECT * FROM topups WHERE key = $1", [key])).rows[0];
  if (topup.order_id !== order || topup.wallet !== wallet || topup.cents !== cents) {
    return res.status(422).json({ error: "this key was used for another top-up" });
  }
  if (topup.status === "processing") {
    try {
      await stripe.paymentIntents.create(
        {
          amount: cents,
          currency: "eur",
          confirm: true,
          payment_method: "pm_card_visa",
          automatic_payment_methods: { enabled: true, allow_redirects: "never" },
          metadata: { topup: topup.id, order },
        },
        { idempotencyKey: `topup-${topup.id}` },
      );
    } catch (error) {
      if (error.type === "StripeCardError") {
        await db.query("UPDATE topups SET status = 'declined' WHERE id = $1", [topup.id]);
        return res.status(402).json(shown({ ...topup, status: "declined" }));
      }
      // Stripe's event will tell.
    }
  }
  const now = (await db.query("SELECT * FROM topups WHERE key = $1", [key])).rows[0];
  const codes = { paid: 200, declined: 402, processing: 202 };
  res.status(codes[now.status]).json(shown(now));
});

app.get("/orders/:order", async (req, res) => {
  const topups = await db.query(
    "SELECT * FROM topups WHERE order_id = $1 ORDER BY status = 'paid' DESC",
    [req.params.order],
  );
  const credits = await db.query(
    "SELECT c.cents FROM credits c JOIN topups t ON t.id = c.topup WHERE t.order_id = $1",
    [req.params.order],
  );
  res.json({ topups: topups.rows.map(shown), credits: credits.rows });
});

app.get("/", (_req, res) => res.send("ok"));

function shown({ id, order_id, status, cents, intent }) {
  return { id, order: order_id, status, cents, intent };
}

app.listen(Number(process.env.PORT), "127.0.0.1");
