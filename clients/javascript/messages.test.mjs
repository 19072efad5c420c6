import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { InvalidMessageContents, PurgeQueueInProgress, ReceiptHandleIsInvalid } from "@aws-sdk/client-sqs";
import { counts, freshQueue, md5OfAttributes, md5OfBody, receiveOne, useServer } from "./tidegate.mjs";

const server = useServer();

const TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

const CUSTOM_TYPES = {
  ts: { DataType: "Number.java.lang.Long", StringValue: "1493147359900" },
  s: { DataType: "String.custom", StringValue: "größe <&> 漢字 🌊" },
  b: { DataType: "Binary.png", BinaryValue: Uint8Array.of(0x00, 0xff, 0x10) },
};

const BODIES = {
  plain: "hello",
  unicode: "größer, 漢字, עברית, 🌊, e\u0301, \u2028 and \ufffd",
  "line ends": "cr\rlf\ncrlf\r\nend\r",
  "xml specials": "\"&quot;&quot;\r<a href='x'>&amp; ]]> <![CDATA[y]]> --></a>",
  "json specials": '{"a": "\\u0041\\n", "b": [null, "\\\\"]}',
  "only white space": " \r\n\t ",
  "edges of the allowed set": "\t \ud7ff\ue000\ufffd\u{10000}\u{10ffff}",
};

test("send, receive, delete", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const sent = await sqs.sendMessage({ QueueUrl, MessageBody: "hello" });
  assert.equal(sent.MD5OfMessageBody, "5d41402abc4b2a76b9719d911017c592");
  assert.equal(sent.MD5OfMessageAttributes, undefined);
  assert.equal(sent.SequenceNumber, undefined);

  const before = Date.now() - 60_000;
  const message = await receiveOne(sqs, QueueUrl, { MessageSystemAttributeNames: ["All"] });
  assert.equal(message.MessageId, sent.MessageId);
  assert.equal(message.Body, "hello");
  assert.equal(message.MessageAttributes, undefined);
  assert.deepEqual(Object.keys(message.Attributes).sort(), [
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "SenderId",
    "SentTimestamp",
  ]);
  assert.equal(message.Attributes.ApproximateReceiveCount, "1");
  assert.ok(Number(message.Attributes.SentTimestamp) > before, "in milliseconds");

  const { ReceiptHandle } = message;
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
  assert.deepEqual(await counts(sqs, QueueUrl), [0, 0, 0]);
});

for (const [name, body] of Object.entries(BODIES)) {
  test(`body comes back unchanged: ${name}`, async () => {
    const { sqs } = server;
    const QueueUrl = await freshQueue(sqs);
    const sent = await sqs.sendMessage({ QueueUrl, MessageBody: body });
    const message = await receiveOne(sqs, QueueUrl);
    assert.equal(message.Body, body);
    assert.equal(message.MD5OfBody, md5OfBody(body));
    assert.equal(sent.MD5OfMessageBody, md5OfBody(body));
  });
}

test("largest body", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const body = "ä".repeat(512 * 1024);
  await sqs.sendMessage({ QueueUrl, MessageBody: body });
  assert.ok((await receiveOne(sqs, QueueUrl)).Body === body);
  await assert.rejects(sqs.sendMessage({ QueueUrl, MessageBody: `${body}x` }), (error) => {
    assert.equal(error.Error.Code, "InvalidParameterValue");
    return true;
  });
});

test("message attributes with custom types", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const sent = await sqs.sendMessage({ QueueUrl, MessageBody: "x", MessageAttributes: CUSTOM_TYPES });
  assert.equal(sent.MD5OfMessageAttributes, md5OfAttributes(CUSTOM_TYPES));

  const message = await receiveOne(sqs, QueueUrl, { MessageAttributeNames: ["All"], VisibilityTimeout: 0 });
  assert.deepEqual(Object.keys(message.MessageAttributes).sort(), ["b", "s", "ts"]);
  for (const [name, sentValue] of Object.entries(CUSTOM_TYPES)) {
    const { DataType, StringValue, BinaryValue } = message.MessageAttributes[name];
    assert.deepEqual({ DataType, StringValue }, { DataType: sentValue.DataType, StringValue: sentValue.StringValue });
    assert.deepEqual(BinaryValue && [...BinaryValue], sentValue.BinaryValue && [...sentValue.BinaryValue]);
  }
  assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);

  const part = await receiveOne(sqs, QueueUrl, { MessageAttributeNames: ["t.*", "s", "unknown"], VisibilityTimeout: 0 });
  const { ts, s } = CUSTOM_TYPES;
  assert.deepEqual(Object.keys(part.MessageAttributes).sort(), ["s", "ts"]);
  assert.equal(part.MD5OfMessageAttributes, md5OfAttributes({ ts, s }));

  const none = await receiveOne(sqs, QueueUrl);
  assert.equal(none.MessageAttributes, undefined);
  assert.equal(none.MD5OfMessageAttributes, undefined);
});

test("recorded attribute digest", async () => {
  const { sqs } = server;
  const MessageAttributes = {
    blob: { DataType: "Binary", BinaryValue: Uint8Array.of(1, 2, 3) },
    color: { DataType: "String", StringValue: "blue" },
    count: { DataType: "Number", StringValue: "3" },
  };
  const sent = await sqs.sendMessage({ QueueUrl: await freshQueue(sqs), MessageBody: "x", MessageAttributes });
  assert.equal(sent.MD5OfMessageAttributes, "d838729972a4b70e2d2acd9d59ac847c");
  assert.equal(md5OfAttributes(MessageAttributes), "d838729972a4b70e2d2acd9d59ac847c");
});

test("trace header", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const MessageSystemAttributes = { AWSTraceHeader: { DataType: "String", StringValue: TRACE } };
  const sent = await sqs.sendMessage({ QueueUrl, MessageBody: "x", MessageSystemAttributes });
  assert.equal(sent.MD5OfMessageSystemAttributes, "5ae4d5d7636402d80f4eb6d213245a88");
  const { Attributes } = await receiveOne(sqs, QueueUrl, { MessageSystemAttributeNames: ["AWSTraceHeader"] });
  assert.deepEqual(Attributes, { AWSTraceHeader: TRACE });
});

test("long poll is woken by a send", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const started = Date.now();
  const poll = sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 });
  await sleep(1000);
  await sqs.sendMessage({ QueueUrl, MessageBody: "wake" });
  const { Messages } = await poll;
  assert.deepEqual(Messages.map((message) => message.Body), ["wake"]);
  assert.ok(Date.now() - started < 15_000);
});

test("an aborted long poll swallows no message", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const abort = new AbortController();
  const poll = sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 }, { abortSignal: abort.signal });
  setTimeout(() => abort.abort(), 500);
  await assert.rejects(poll, { name: "AbortError" });
  await sleep(500);
  await sqs.sendMessage({ QueueUrl, MessageBody: "for the living" });
  const { Body, Attributes } = await receiveOne(sqs, QueueUrl, { MessageSystemAttributeNames: ["All"] });
  assert.deepEqual([Body, Attributes.ApproximateReceiveCount], ["for the living", "1"]);
});

test("empty receive", async () => {
  const { sqs } = server;
  assert.equal((await sqs.receiveMessage({ QueueUrl: await freshQueue(sqs) })).Messages, undefined);
});

test("visibility", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  await sqs.sendMessage({ QueueUrl, MessageBody: "x" });
  const first = await receiveOne(sqs, QueueUrl);
  assert.equal((await sqs.receiveMessage({ QueueUrl })).Messages, undefined);
  assert.deepEqual(await counts(sqs, QueueUrl), [0, 1, 0]);

  await sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle: first.ReceiptHandle, VisibilityTimeout: 0 });
  const second = await receiveOne(sqs, QueueUrl, {
    MessageSystemAttributeNames: ["ApproximateReceiveCount"],
    VisibilityTimeout: 2,
  });
  assert.equal(second.MessageId, first.MessageId);
  assert.deepEqual(second.Attributes, { ApproximateReceiveCount: "2" });

  const { ReceiptHandle } = second;
  await sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 60 });
  assert.equal((await sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 3 })).Messages, undefined);
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle });

  await assert.rejects(sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 1 }), (error) => {
    assert.equal(error.Error.Code, "InvalidParameterValue");
    return true;
  });
});

test("delay", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  await sqs.sendMessage({ QueueUrl, MessageBody: "later", DelaySeconds: 1 });
  assert.deepEqual(await counts(sqs, QueueUrl), [0, 0, 1]);
  assert.equal((await receiveOne(sqs, QueueUrl, { WaitTimeSeconds: 10 })).Body, "later");
});

test("purge", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  await sqs.sendMessage({ QueueUrl, MessageBody: "in flight" });
  await receiveOne(sqs, QueueUrl);
  await sqs.sendMessage({ QueueUrl, MessageBody: "delayed", DelaySeconds: 600 });
  await sqs.sendMessage({ QueueUrl, MessageBody: "visible" });
  assert.deepEqual(await counts(sqs, QueueUrl), [1, 1, 1]);
  await sqs.purgeQueue({ QueueUrl });
  assert.deepEqual(await counts(sqs, QueueUrl), [0, 0, 0]);
  await assert.rejects(sqs.purgeQueue({ QueueUrl }), (error) => {
    assert.ok(error instanceof PurgeQueueInProgress);
    assert.equal(error.$metadata.httpStatusCode, 403);
    return true;
  });
});

test("typed errors", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  await assert.rejects(sqs.sendMessage({ QueueUrl, MessageBody: "back\bspace" }), InvalidMessageContents);
  await assert.rejects(sqs.deleteMessage({ QueueUrl, ReceiptHandle: "garbage" }), (error) => {
    assert.ok(error instanceof ReceiptHandleIsInvalid);
    assert.equal(error.$metadata.httpStatusCode, 404);
    return true;
  });
  for (const [option, value] of [["MaxNumberOfMessages", 11], ["WaitTimeSeconds", 21]]) {
    await assert.rejects(sqs.receiveMessage({ QueueUrl, [option]: value }), (error) => {
      assert.equal(error.Error.Code, "InvalidParameterValue");
      return true;
    });
  }
});
