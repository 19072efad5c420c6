import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BatchEntryIdsNotDistinct,
  EmptyBatchRequest,
  InvalidBatchEntryId,
  TooManyEntriesInBatchRequest,
} from "@aws-sdk/client-sqs";
import { counts, freshQueue, md5OfAttributes, useServer } from "./tidegate.mjs";

const server = useServer();

const NUMBERS = [...Array(10).keys()];

const ids = (entries) => entries.map((entry) => entry.Id).sort();

async function receiveAll(sqs, QueueUrl, count) {
  const messages = [];
  while (messages.length < count) {
    const { Messages } = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 });
    assert.ok(Messages, `${messages.length} of ${count} messages received`);
    messages.push(...Messages);
  }
  assert.equal(messages.length, count);
  return messages;
}

test("one bad entry does not stop the others", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const MessageAttributes = { b: { DataType: "Binary.png", BinaryValue: Uint8Array.of(0x00, 0xff, 0x10) } };
  const Entries = NUMBERS.map((i) => ({ Id: `m${i}`, MessageBody: i === 6 ? "back\bspace" : `body ${i} \r\n<&>` }));
  Entries[3].MessageAttributes = MessageAttributes;

  const { Successful, Failed } = await sqs.sendMessageBatch({ QueueUrl, Entries });
  assert.deepEqual(ids(Successful), ids(Entries.filter((_, i) => i !== 6)));
  const withAttributes = Successful.find((entry) => entry.Id === "m3");
  assert.equal(withAttributes.MD5OfMessageAttributes, md5OfAttributes(MessageAttributes));
  assert.equal(Failed.length, 1);
  assert.deepEqual([Failed[0].Id, Failed[0].Code, Failed[0].SenderFault], ["m6", "InvalidMessageContents", true]);

  const messages = await receiveAll(sqs, QueueUrl, 9);
  const expected = Entries.filter((_, i) => i !== 6).map((entry) => entry.MessageBody);
  assert.deepEqual(messages.map((message) => message.Body).sort(), expected.sort());
});

test("visibility and delete batches with one garbage handle each", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const sent = await sqs.sendMessageBatch({
    QueueUrl,
    Entries: NUMBERS.map((i) => ({ Id: `m${i}`, MessageBody: `body ${i}` })),
  });
  assert.equal(sent.Successful.length, 10);
  assert.equal(sent.Failed, undefined);
  const handles = (await receiveAll(sqs, QueueUrl, 10)).map((message) => message.ReceiptHandle);

  const changed = await sqs.changeMessageVisibilityBatch({
    QueueUrl,
    Entries: ["garbage", ...handles.slice(1)].map((ReceiptHandle, i) => ({
      Id: `c${i}`,
      ReceiptHandle,
      VisibilityTimeout: 600,
    })),
  });
  assert.equal(changed.Successful.length, 9);
  assert.deepEqual(changed.Failed.map((entry) => [entry.Id, entry.Code]), [["c0", "ReceiptHandleIsInvalid"]]);

  const deleted = await sqs.deleteMessageBatch({
    QueueUrl,
    Entries: [...handles.slice(0, 9), "garbage"].map((ReceiptHandle, i) => ({ Id: `d${i}`, ReceiptHandle })),
  });
  assert.equal(deleted.Successful.length, 9);
  assert.deepEqual(deleted.Failed.map((entry) => [entry.Id, entry.Code]), [["d9", "ReceiptHandleIsInvalid"]]);
  assert.deepEqual(await counts(sqs, QueueUrl), [0, 1, 0]);
});

test("typed batch errors", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const send = (...names) =>
    sqs.sendMessageBatch({ QueueUrl, Entries: names.map((Id) => ({ Id, MessageBody: "x" })) });
  await assert.rejects(send(), EmptyBatchRequest);
  await assert.rejects(send(...NUMBERS.map(String), "10"), TooManyEntriesInBatchRequest);
  await assert.rejects(send("a", "b", "a"), BatchEntryIdsNotDistinct);
  await assert.rejects(send("no spaces"), InvalidBatchEntryId);
  assert.deepEqual(await counts(sqs, QueueUrl), [0, 0, 0]);
});
