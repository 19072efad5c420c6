// The `sqs-consumer` library: a long-polling loop with deletes, heartbeats and visibility changes of its own.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Consumer } from "sqs-consumer";
import { counts, freshQueue, useServer } from "./tidegate.mjs";

const server = useServer();

async function sendMany(sqs, QueueUrl, count) {
  for (let i = 0; i < count; i++) await sqs.sendMessage({ QueueUrl, MessageBody: `job ${i}` });
}

/** Runs a consumer until `done()` holds, then stops it and returns the errors that it reported before that. */
async function consume(options, done) {
  const errors = [];
  const consumer = Consumer.create({ sqs: server.sqs, waitTimeSeconds: 5, ...options });
  for (const event of ["error", "processing_error", "timeout_error"]) {
    consumer.on(event, (error) => errors.push(error));
  }
  consumer.start();
  const deadline = Date.now() + 30_000;
  while (!done() && Date.now() < deadline) await sleep(50);
  const finished = done();
  const stopped = once(consumer, "stopped");
  // Lets the acknowledgement of the last message out before polling ends.
  await sleep(200);
  // A poll that the stop aborts is one more error.
  const reported = [...errors];
  consumer.stop({ abort: true });
  await stopped;
  assert.ok(finished, `not done within 30 s: ${reported}`);
  return reported;
}

test("handles and deletes every message", async () => {
  const queueUrl = await freshQueue(server.sqs);
  await sendMany(server.sqs, queueUrl, 12);
  const seen = [];
  const errors = await consume(
    {
      queueUrl,
      batchSize: 10,
      handleMessage: async (message) => {
        seen.push(message.Body);
        return message;
      },
    },
    () => seen.length >= 12,
  );
  assert.deepEqual(errors, []);
  assert.equal(new Set(seen).size, 12);
  assert.deepEqual(await counts(server.sqs, queueUrl), [0, 0, 0]);
});

test("handles and deletes batches", async () => {
  const queueUrl = await freshQueue(server.sqs);
  await sendMany(server.sqs, queueUrl, 10);
  const seen = [];
  const errors = await consume(
    {
      queueUrl,
      batchSize: 10,
      messageAttributeNames: ["All"],
      handleMessageBatch: async (messages) => {
        seen.push(...messages.map((message) => message.Body));
        return messages;
      },
    },
    () => seen.length >= 10,
  );
  assert.deepEqual(errors, []);
  assert.deepEqual(await counts(server.sqs, queueUrl), [0, 0, 0]);
});

test("a failed message comes back at once", async () => {
  const queueUrl = await freshQueue(server.sqs);
  await sendMany(server.sqs, queueUrl, 1);
  const attempts = [];
  const errors = await consume(
    {
      queueUrl,
      terminateVisibilityTimeout: true,
      attributeNames: ["ApproximateReceiveCount"],
      handleMessage: async (message) => {
        attempts.push(message.Attributes.ApproximateReceiveCount);
        if (attempts.length === 1) throw new Error("first attempt");
        return message;
      },
    },
    () => attempts.length >= 2,
  );
  assert.deepEqual(attempts, ["1", "2"]);
  assert.equal(errors.length, 1);
  assert.deepEqual(await counts(server.sqs, queueUrl), [0, 0, 0]);
});

test("heartbeats keep a slow message hidden", async () => {
  const queueUrl = await freshQueue(server.sqs);
  await sendMany(server.sqs, queueUrl, 1);
  let handled = 0;
  const errors = await consume(
    {
      queueUrl,
      visibilityTimeout: 2,
      heartbeatInterval: 1,
      handleMessage: async (message) => {
        await sleep(3500);
        // Nobody else may have it, although the first timeout is long over.
        assert.deepEqual(await counts(server.sqs, queueUrl), [0, 1, 0]);
        handled++;
        return message;
      },
    },
    () => handled >= 1,
  );
  assert.deepEqual(errors, []);
  assert.equal(handled, 1);
  assert.deepEqual(await counts(server.sqs, queueUrl), [0, 0, 0]);
});

const GROUPS = ["a", "b", "c"];
const PER_GROUP = 10;

/** Sends "a0", "b0", "c0", "a1" and so on: every group in order, mixed with the others. */
async function sendGroups(sqs, QueueUrl) {
  for (let i = 0; i < PER_GROUP; i++) {
    await sqs.sendMessageBatch({
      QueueUrl,
      Entries: GROUPS.map((group) => ({ Id: group, MessageBody: `${group}${i}`, MessageGroupId: group })),
    });
  }
}

const inOrder = (group) => [...Array(PER_GROUP).keys()].map((i) => `${group}${i}`);

test("two consumers of a FIFO queue keep the order of each group", async () => {
  const queueUrl = await freshQueue(server.sqs, { FifoQueue: "true", ContentBasedDeduplication: "true" });
  await sendGroups(server.sqs, queueUrl);
  const seen = [];
  const run = (pauseMs) => {
    const handleMessageBatch = async (messages) => {
      await sleep(pauseMs);
      seen.push(...messages.map((message) => message.Body));
      return messages;
    };
    return consume(
      { queueUrl, batchSize: 4, suppressFifoWarning: true, handleMessageBatch },
      () => seen.length >= GROUPS.length * PER_GROUP,
    );
  };
  // The quick one would overtake the slow one, if the server let it.
  const errors = await Promise.all([run(200), run(0)]);
  assert.deepEqual(errors, [[], []]);
  for (const group of GROUPS) assert.deepEqual(seen.filter((body) => body[0] === group), inOrder(group));
  assert.deepEqual(await counts(server.sqs, queueUrl), [0, 0, 0]);
});

test("a failed FIFO message holds up its group only, and comes back in its place", async () => {
  const queueUrl = await freshQueue(server.sqs, { FifoQueue: "true", ContentBasedDeduplication: "true" });
  await sendGroups(server.sqs, queueUrl);
  const seen = [];
  let failed = false;
  const errors = await consume(
    {
      queueUrl,
      batchSize: 1,
      visibilityTimeout: 60,
      terminateVisibilityTimeout: 2,
      suppressFifoWarning: true,
      handleMessage: async (message) => {
        if (message.Body === "b3" && !failed) {
          failed = true;
          throw new Error("first attempt");
        }
        seen.push(message.Body);
        return message;
      },
    },
    () => seen.length >= GROUPS.length * PER_GROUP,
  );
  assert.equal(errors.length, 1);
  for (const group of GROUPS) assert.deepEqual(seen.filter((body) => body[0] === group), inOrder(group));
  assert.deepEqual(await counts(server.sqs, queueUrl), [0, 0, 0]);
});
