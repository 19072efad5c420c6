import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ResourceNotFoundException } from "@aws-sdk/client-sqs";
import { counts, freshQueue, receiveOne, useServer } from "./tidegate.mjs";

const server = useServer();

async function arn(QueueUrl) {
  const { Attributes } = await server.sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["QueueArn"] });
  return Attributes.QueueArn;
}

/** A source queue with one allowed delivery, and its dead-letter queue. */
async function pair(attributes) {
  const dlq = await freshQueue(server.sqs, attributes);
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: await arn(dlq), maxReceiveCount: 1 });
  return { source: await freshQueue(server.sqs, { ...attributes, RedrivePolicy }), dlq };
}

/** Makes every message of `source` a dead letter: one receive more than the policy allows. */
async function exhaust({ source, dlq }, count) {
  for (let i = 0; i < 2; i++) {
    await server.sqs.receiveMessage({ QueueUrl: source, MaxNumberOfMessages: 10, VisibilityTimeout: 0 });
  }
  assert.deepEqual(await counts(server.sqs, source), [0, 0, 0]);
  assert.deepEqual(await counts(server.sqs, dlq), [count, 0, 0]);
}

/** The newest move task of the queue, once it has this status. */
async function taskWhen(SourceArn, status) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const { Results } = await server.sqs.listMessageMoveTasks({ SourceArn });
    if (Results[0].Status === status) return Results[0];
    assert.ok(Date.now() < deadline, JSON.stringify(Results));
    await sleep(100);
  }
}

test("a dead letter names its source, and a redrive takes it home", async () => {
  const { source, dlq } = await pair();
  const sent = await server.sqs.sendMessage({ QueueUrl: source, MessageBody: "dead" });
  await exhaust({ source, dlq }, 1);
  const dead = await receiveOne(server.sqs, dlq, { MessageSystemAttributeNames: ["All"] });
  assert.equal(dead.MessageId, sent.MessageId);
  assert.equal(dead.Attributes.DeadLetterQueueSourceArn, await arn(source));
  assert.equal(dead.Attributes.ApproximateReceiveCount, "2");
  assert.deepEqual((await server.sqs.listDeadLetterSourceQueues({ QueueUrl: dlq })).queueUrls, [source]);
  await server.sqs.changeMessageVisibility({
    QueueUrl: dlq,
    ReceiptHandle: dead.ReceiptHandle,
    VisibilityTimeout: 0,
  });

  const SourceArn = await arn(dlq);
  assert.ok((await server.sqs.startMessageMoveTask({ SourceArn })).TaskHandle);
  const home = await receiveOne(server.sqs, source, { WaitTimeSeconds: 20, MessageSystemAttributeNames: ["All"] });
  assert.equal(home.Body, "dead");
  assert.equal(home.Attributes.ApproximateReceiveCount, "1");
  const task = await taskWhen(SourceArn, "COMPLETED");
  assert.equal(task.ApproximateNumberOfMessagesMoved, 1);
  assert.ok(Math.abs(task.StartedTimestamp - Date.now()) < 600_000, "in milliseconds");
  assert.deepEqual([task.TaskHandle, task.DestinationArn], [undefined, undefined]);
});

test("a cancelled redrive leaves the rest in place", async () => {
  const { source, dlq } = await pair();
  const destination = await freshQueue(server.sqs);
  const Entries = [...Array(6).keys()].map((i) => ({ Id: `${i}`, MessageBody: `m${i}` }));
  await server.sqs.sendMessageBatch({ QueueUrl: source, Entries });
  await exhaust({ source, dlq }, 6);

  const task = {
    SourceArn: await arn(dlq),
    DestinationArn: await arn(destination),
    MaxNumberOfMessagesPerSecond: 1,
  };
  const { TaskHandle } = await server.sqs.startMessageMoveTask(task);
  await assert.rejects(server.sqs.startMessageMoveTask(task), (error) => {
    assert.equal(error.Error.Code, "InvalidParameterValue");
    return true;
  });
  const running = await taskWhen(task.SourceArn, "RUNNING");
  assert.equal(running.TaskHandle, TaskHandle);
  assert.equal(running.DestinationArn, task.DestinationArn);

  await receiveOne(server.sqs, destination, { WaitTimeSeconds: 20 });
  await server.sqs.cancelMessageMoveTask({ TaskHandle });
  const cancelled = await taskWhen(task.SourceArn, "CANCELLED");
  const moved = cancelled.ApproximateNumberOfMessagesMoved;
  assert.ok(moved >= 1 && moved < 6, `${moved} moved`);
  assert.deepEqual(await counts(server.sqs, dlq), [6 - moved, 0, 0]);
  await assert.rejects(server.sqs.cancelMessageMoveTask({ TaskHandle }), ResourceNotFoundException);
});

test("typed move task errors", async () => {
  const SourceArn = await arn(await freshQueue(server.sqs));
  await assert.rejects(server.sqs.startMessageMoveTask({ SourceArn }), (error) => {
    assert.equal(error.Error.Code, "InvalidParameterValue");
    assert.equal(error.message, "Source queue must be configured as a Dead Letter Queue.");
    return true;
  });
  await assert.rejects(server.sqs.startMessageMoveTask({ SourceArn: `${SourceArn}-missing` }), (error) => {
    assert.ok(error instanceof ResourceNotFoundException);
    assert.equal(error.$metadata.httpStatusCode, 404);
    return true;
  });
});

test("a FIFO dead letter keeps its group and gets a new place", async () => {
  const { source, dlq } = await pair({ FifoQueue: "true" });
  const sent = await server.sqs.sendMessage({
    QueueUrl: source,
    MessageBody: "dead",
    MessageGroupId: "g",
    MessageDeduplicationId: "d",
  });
  await exhaust({ source, dlq }, 1);
  const { MessageId, Attributes } = await receiveOne(server.sqs, dlq, { MessageSystemAttributeNames: ["All"] });
  assert.equal(MessageId, sent.MessageId);
  assert.equal(Attributes.MessageGroupId, "g");
  assert.equal(Attributes.MessageDeduplicationId, sent.MessageId);
  assert.equal(Attributes.DeadLetterQueueSourceArn, await arn(source));
  assert.notEqual(Attributes.SequenceNumber, sent.SequenceNumber);
});
