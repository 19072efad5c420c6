import assert from "node:assert/strict";
import { test } from "node:test";
import {
  InvalidAttributeName,
  InvalidAttributeValue,
  QueueDeletedRecently,
  QueueDoesNotExist,
  QueueNameExists,
  paginateListQueues,
} from "@aws-sdk/client-sqs";
import { ACCOUNT, REGION, freshName, freshQueue, receiveOne, useServer } from "./tidegate.mjs";

const server = useServer();

test("create is idempotent", async () => {
  const { sqs, endpoint } = server;
  const QueueName = freshName();
  const { QueueUrl } = await sqs.createQueue({ QueueName, Attributes: { VisibilityTimeout: "7" } });
  assert.equal(QueueUrl, `${endpoint}/${ACCOUNT}/${QueueName}`);
  assert.equal((await sqs.createQueue({ QueueName })).QueueUrl, QueueUrl);
  assert.equal((await sqs.createQueue({ QueueName, Attributes: { VisibilityTimeout: "7" } })).QueueUrl, QueueUrl);
  assert.equal((await sqs.getQueueUrl({ QueueName })).QueueUrl, QueueUrl);

  await assert.rejects(sqs.createQueue({ QueueName, Attributes: { VisibilityTimeout: "8" } }), (error) => {
    assert.ok(error instanceof QueueNameExists);
    assert.equal(error.Error.Code, "QueueAlreadyExists");
    assert.match(error.message, /a different value for attribute VisibilityTimeout$/);
    return true;
  });
});

test("list by prefix and pages", async () => {
  const { sqs } = server;
  const prefix = freshName();
  const urls = [];
  for (let i = 0; i < 5; i++) urls.push((await sqs.createQueue({ QueueName: `${prefix}-${i}` })).QueueUrl);

  const all = await sqs.listQueues({ QueueNamePrefix: prefix });
  assert.deepEqual(all.QueueUrls, urls);
  assert.equal(all.NextToken, undefined);
  assert.equal((await sqs.listQueues({ QueueNamePrefix: `${prefix}-none` })).QueueUrls, undefined);

  const pages = [];
  for await (const page of paginateListQueues({ client: sqs, pageSize: 2 }, { QueueNamePrefix: prefix })) {
    pages.push(page.QueueUrls);
  }
  assert.deepEqual(pages, [urls.slice(0, 2), urls.slice(2, 4), urls.slice(4)]);
});

test("attributes", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const name = QueueUrl.split("/").at(-1);
  const read = async (...AttributeNames) => (await sqs.getQueueAttributes({ QueueUrl, AttributeNames })).Attributes;

  const { CreatedTimestamp, LastModifiedTimestamp, ...fresh } = await read("All");
  assert.ok(Math.abs(Number(CreatedTimestamp) - Date.now() / 1000) < 60, "in seconds");
  assert.ok(Number(LastModifiedTimestamp) >= Number(CreatedTimestamp));
  assert.deepEqual(fresh, {
    ApproximateNumberOfMessages: "0",
    ApproximateNumberOfMessagesDelayed: "0",
    ApproximateNumberOfMessagesNotVisible: "0",
    DelaySeconds: "0",
    MaximumMessageSize: "1048576",
    MessageRetentionPeriod: "345600",
    QueueArn: `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`,
    ReceiveMessageWaitTimeSeconds: "0",
    SqsManagedSseEnabled: "true",
    VisibilityTimeout: "30",
  });

  await sqs.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: "3", VisibilityTimeout: "55" } });
  assert.deepEqual(await read("DelaySeconds", "VisibilityTimeout"), { DelaySeconds: "3", VisibilityTimeout: "55" });
  assert.equal(await read("Policy"), undefined);

  await assert.rejects(read("Foobar"), InvalidAttributeName);
  await assert.rejects(sqs.setQueueAttributes({ QueueUrl, Attributes: { Foobar: "1" } }), InvalidAttributeName);
  await assert.rejects(sqs.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: "901" } }), InvalidAttributeValue);
});

test("tags", async () => {
  const { sqs } = server;
  const { QueueUrl } = await sqs.createQueue({ QueueName: freshName(), tags: { team: "sea", empty: "" } });
  const tags = async () => (await sqs.listQueueTags({ QueueUrl })).Tags;
  assert.deepEqual(await tags(), { team: "sea", empty: "" });
  await sqs.tagQueue({ QueueUrl, Tags: { team: "land", Team: "größer", also: "" } });
  await sqs.untagQueue({ QueueUrl, TagKeys: ["empty", "never-there"] });
  assert.deepEqual(await tags(), { team: "land", Team: "größer", also: "" });
  await sqs.untagQueue({ QueueUrl, TagKeys: ["team", "Team", "also"] });
  assert.equal(await tags(), undefined);
});

test("deleted and missing queues", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  const QueueName = QueueUrl.split("/").at(-1);
  await sqs.deleteQueue({ QueueUrl });
  const calls = [
    () => sqs.getQueueUrl({ QueueName }),
    () => sqs.sendMessage({ QueueUrl, MessageBody: "x" }),
    () => sqs.receiveMessage({ QueueUrl }),
    () => sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["All"] }),
    () => sqs.deleteQueue({ QueueUrl }),
  ];
  for (const call of calls) {
    await assert.rejects(call(), (error) => {
      assert.ok(error instanceof QueueDoesNotExist, `${error.name}: ${error.message}`);
      assert.equal(error.message, "The specified queue does not exist.");
      assert.equal(error.Error.Code, "AWS.SimpleQueueService.NonExistentQueue");
      assert.equal(error.$metadata.httpStatusCode, 400);
      return true;
    });
  }
  await assert.rejects(sqs.createQueue({ QueueName }), QueueDeletedRecently);
});

test("any host in the queue URL reaches the same queue", async () => {
  const { sqs } = server;
  const QueueUrl = await freshQueue(sqs);
  // This SDK sends to the host of the queue URL, not to the configured endpoint.
  await sqs.sendMessage({ QueueUrl: QueueUrl.replace("127.0.0.1", "localhost"), MessageBody: "x" });
  assert.equal((await receiveOne(sqs, QueueUrl)).Body, "x");
});
