// Goes shopping with the official `stripe` package and writes down what it met, as JSON.
// Usage: node shopping.mjs URL — one test armed the faults before; see test_stripe_node_sdk.py.
import http from 'node:http';
import Stripe from 'stripe';

const {hostname, port} = new URL(process.argv[2]);
const stripe = new Stripe('sk_test_shop', {
  host: hostname,
  port,
  protocol: 'http',
  maxNetworkRetries: 2,
});

const order = {
  amount: 500,
  currency: 'usd',
  confirm: true,
  payment_method: 'pm_card_visa',
  metadata: {order_id: 'ord-1'},
};

// What an error looks like to whoever catches it.
const caught = async (promise) => {
  try {
    await promise;
    return null;
  } catch (error) {
    return {
      kind: error.constructor.name,
      status: error.statusCode,
      code: error.code ?? null,
      decline_code: error.decline_code ?? null,
      param: error.param ?? null,
      intent: error.payment_intent?.status ?? null,
    };
  }
};

const steps = {
  async charge() {
    const intent = await stripe.paymentIntents.create({...order, expand: ['latest_charge']});
    return {
      status: intent.status,
      brand: intent.latest_charge.payment_method_details.card.brand,
      requestId: intent.lastResponse.requestId,
    };
  },
  async hold() {
    const held = await stripe.paymentIntents.create({...order, capture_method: 'manual'});
    const taken = await stripe.paymentIntents.capture(held.id, {amount_to_capture: 200});
    const refund = await stripe.refunds.create({payment_intent: held.id, amount: 50});
    return {held: held.status, received: taken.amount_received, refund: refund.status};
  },
  async decline() {
    return caught(
      stripe.paymentIntents.create({
        ...order,
        payment_method: 'pm_card_chargeDeclinedInsufficientFunds',
      }),
    );
  },
  async mismatch() {
    const options = {idempotencyKey: 'k1'};
    await stripe.customers.create({name: 'Ada'}, options);
    return caught(stripe.customers.create({name: 'Bob'}, options));
  },
  async unknown() {
    return caught(stripe.paymentIntents.create({...order, amonut: 1}));
  },
  async page() {
    const ids = [];
    for await (const each of stripe.paymentIntents.list({limit: 1})) ids.push(each.id);
    return ids.length === new Set(ids).size ? ids.length : 'repeated';
  },
  async webhook() {
    let endpoint;
    const received = new Promise((resolve) => {
      const server = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
          response.end();
          server.close();
          resolve({
            body: Buffer.concat(parts),
            signature: request.headers['stripe-signature'],
          });
        });
      });
      server.listen(0, '127.0.0.1', async () => {
        const url = `http://127.0.0.1:${server.address().port}/hook`;
        const enabled_events = ['payment_intent.succeeded'];
        endpoint = await stripe.webhookEndpoints.create({url, enabled_events});
        await stripe.paymentIntents.create(order, {idempotencyKey: 'k2'});
      });
    });
    const {body, signature} = await received;
    const event = stripe.webhooks.constructEvent(body, signature, endpoint.secret);
    let forged = null;
    try {
      stripe.webhooks.constructEvent(body + ' ', signature, endpoint.secret);
    } catch (error) {
      forged = error.constructor.name;
    }
    await stripe.webhookEndpoints.del(endpoint.id);
    return {
      type: event.type,
      order: event.data.object.metadata.order_id,
      key: event.request.idempotency_key,
      forged,
    };
  },
};

const met = {};
for (const [name, step] of Object.entries(steps)) met[name] = await step();
console.log(JSON.stringify(met));
