import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, freshQueue, receiveOne, useServer } from "./tidegate.mjs";

const server = useServer();

const fifoQueue = (attributes) => freshQueue(server.sqs, { FifoQueue: "true", ...attributes });

const send = (QueueUrl, MessageBody, MessageGroupId, MessageDeduplicationId = MessageBody) =>
  server.sqs.sendMessage({ QueueUrl, MessageBody, MessageGroupId, MessageDeduplicationId });

async function receive(QueueUrl, options) {
  const { Messages = [] } = await server.sqs.receiveMessage({
    QueueUrl,
    MaxNumberOfMessages: 10,
    WaitTimeSeconds: 5,
    MessageSystemAttributeNames: ["All"],
    ...options,
  });
  return Messages;
}

const bodies = (messages) => messages.map((message) => message.Body);

const remove = (QueueUrl, { ReceiptHandle }) => server.sqs.deleteMessage({ QueueUrl, ReceiptHandle });

/** Checks the code and the reason of a refusal that has no type of its own in this SDK. */
const refusal = (code, reason) => (error) => {
  assert.equal(error.Error.Code, code);
  assert.equal(error.$metadata.httpStatusCode, 400);
  assert.ok(error.message.endsWith(reason), error.message);
  return true;
};

test("order within a group, and a group in flight is locked", async () => {
  const QueueUrl = await fifoQueue();
  const sent = [];
  for (const body of ["a0", "b0", "a1", "a2"]) sent.push(await send(QueueUrl, body, body[0]));
  const numbers = sent.map((answer) => BigInt(answer.SequenceNumber));
  assert.ok(numbers.every((number, i) => i === 0 || number > numbers[i - 1]));

  const [first] = await receive(QueueUrl, { MaxNumberOfMessages: 1 });
  assert.equal(first.Body, "a0");
  assert.equal(first.Attributes.MessageGroupId, "a");
  assert.equal(first.Attributes.MessageDeduplicationId, "a0");
  assert.equal(first.Attributes.SequenceNumber, sent[0].SequenceNumber);

  const [other, ...more] = await receive(QueueUrl);
  assert.deepEqual([other.Body, more.length], ["b0", 0]);
  assert.deepEqual(await counts(server.sqs, QueueUrl), [2, 2, 0]);

  await remove(QueueUrl, first);
  assert.deepEqual(bodies(await receive(QueueUrl)), ["a1", "a2"]);
});

test("explicit deduplication", async () => {
  const QueueUrl = await fifoQueue();
  const first = await send(QueueUrl, "one", "g", "same");
  const second = await send(QueueUrl, "other body", "h", "same");
  assert.equal(second.MessageId, first.MessageId);
  assert.equal(second.SequenceNumber, first.SequenceNumber);
  const [message, ...more] = await receive(QueueUrl);
  assert.deepEqual([message.Body, more.length], ["one", 0]);
  await remove(QueueUrl, message);
  await send(QueueUrl, "after the delete", "g", "same");
  assert.deepEqual(await receive(QueueUrl, { WaitTimeSeconds: 1 }), []);
});

test("deduplication by content", async () => {
  const QueueUrl = await fifoQueue({ ContentBasedDeduplication: "true" });
  const sent = [];
  for (const MessageBody of ["one", "two", "two", "three"]) {
    sent.push(await server.sqs.sendMessage({ QueueUrl, MessageBody, MessageGroupId: "g" }));
  }
  assert.equal(sent[2].MessageId, sent[1].MessageId);
  const messages = await receive(QueueUrl);
  assert.deepEqual(bodies(messages), ["one", "two", "three"]);
  assert.equal(
    messages[0].Attributes.MessageDeduplicationId,
    "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
  );
});

test("deduplication within a group", async () => {
  const QueueUrl = await fifoQueue({ DeduplicationScope: "messageGroup", FifoThroughputLimit: "perMessageGroupId" });
  await send(QueueUrl, "one", "a", "same");
  await send(QueueUrl, "again", "a", "same");
  await send(QueueUrl, "two", "b", "same");
  assert.deepEqual(bodies(await receive(QueueUrl)), ["one", "two"]);
});

test("batches answer with sequence numbers, a duplicate with that of the first", async () => {
  const QueueUrl = await fifoQueue();
  const Entries = [...Array(10).keys()].map((i) => ({
    Id: `e${i}`,
    MessageBody: `m${i}`,
    MessageGroupId: "g",
    MessageDeduplicationId: i === 7 ? "d6" : `d${i}`,
  }));
  const { Successful, Failed } = await server.sqs.sendMessageBatch({ QueueUrl, Entries });
  assert.equal(Failed, undefined);
  const numbers = Object.fromEntries(Successful.map((entry) => [entry.Id, BigInt(entry.SequenceNumber)]));
  assert.equal(numbers.e7, numbers.e6);
  assert.ok(numbers.e5 < numbers.e6 && numbers.e6 < numbers.e8);
  const messages = await receive(QueueUrl);
  const wanted = Entries.filter((entry) => entry.Id !== "e7").map((entry) => entry.MessageBody);
  assert.deepEqual(bodies(messages), wanted);
  assert.equal(BigInt(messages[0].Attributes.SequenceNumber), numbers.e0);
});

test("a late delete is refused", async () => {
  const QueueUrl = await fifoQueue();
  await send(QueueUrl, "x", "g");
  const late = await receiveOne(server.sqs, QueueUrl, { VisibilityTimeout: 1 });
  const again = await receiveOne(server.sqs, QueueUrl, { WaitTimeSeconds: 10 });
  assert.equal(again.MessageId, late.MessageId);
  await assert.rejects(remove(QueueUrl, late), (error) => {
    assert.equal(error.name, "InvalidParameterValue");
    return refusal("InvalidParameterValue", "Reason: The receipt handle has expired.")(error);
  });
  const { Failed } = await server.sqs.deleteMessageBatch({
    QueueUrl,
    Entries: [{ Id: "late", ReceiptHandle: late.ReceiptHandle }],
  });
  assert.deepEqual(Failed.map((entry) => [entry.Id, entry.Code]), [["late", "InvalidParameterValue"]]);
  await remove(QueueUrl, again);
  assert.deepEqual(await counts(server.sqs, QueueUrl), [0, 0, 0]);
});

test("a receive is repeated by its attempt id", async () => {
  const QueueUrl = await fifoQueue();
  await send(QueueUrl, "x", "g");
  const ReceiveRequestAttemptId = "attempt-1";
  const [first] = await receive(QueueUrl, { ReceiveRequestAttemptId });
  const [again] = await receive(QueueUrl, { ReceiveRequestAttemptId });
  assert.equal(again.ReceiptHandle, first.ReceiptHandle);
  assert.equal(again.Attributes.ApproximateReceiveCount, "1");
  await remove(QueueUrl, again);
  await assert.rejects(
    receive(QueueUrl, { ReceiveRequestAttemptId }),
    refusal("InvalidParameterValue", "is not valid anymore since the receive call is not retryable."),
  );
});

test("what a FIFO send needs", async () => {
  const QueueUrl = await fifoQueue();
  const message = { QueueUrl, MessageBody: "x" };
  await assert.rejects(
    server.sqs.sendMessage({ ...message, MessageDeduplicationId: "d" }),
    refusal("MissingParameter", "The request must contain the parameter MessageGroupId."),
  );
  await assert.rejects(
    server.sqs.sendMessage({ ...message, MessageGroupId: "g" }),
    refusal(
      "InvalidParameterValue",
      "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
    ),
  );
});
