// Starts the real server for a test file, or points it at one that already runs.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SQS } from "@aws-sdk/client-sqs";

export const REGION = "us-east-1";
// A 12-digit access key is the account.
export const ACCOUNT = "123456789012";

const DEFAULT_BINARY = fileURLToPath(new URL("../../target/release/tidegate", import.meta.url));
const START_TIMEOUT_MS = 30_000;

async function start() {
  const running = process.env.TIDEGATE_ENDPOINT;
  if (running) return { endpoint: running.replace(/\/$/, ""), stop: async () => {} };

  const dataDir = await mkdtemp(join(tmpdir(), "tidegate-suite-"));
  const child = spawn(
    process.env.TIDEGATE_BIN ?? DEFAULT_BINARY,
    ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data-dir", dataDir],
    { env: environmentWithoutSettings(), stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    const [code, signal] = await exited;
    await rm(dataDir, { recursive: true, force: true });
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, "the server stops cleanly");
  };
  try {
    const endpoint = await announcedEndpoint(child, exited);
    await untilHealthy(endpoint);
    return { endpoint, stop };
  } catch (error) {
    child.kill("SIGKILL");
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  }
}

/** The server takes settings from TIDEGATE_* variables and refuses those it does not know. */
function environmentWithoutSettings() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TIDEGATE_")));
}

async function announcedEndpoint(child, exited) {
  const lines = createInterface({ input: child.stdout });
  const found = new Promise((resolve) => {
    lines.on("line", (line) => {
      const match = /endpoint\s+(http:\/\/\S+)/.exec(line);
      if (match) resolve(match[1].replace(/\/$/, ""));
    });
  });
  const fails = async (what) => {
    throw new Error(`the server announced no endpoint: ${what}`);
  };
  return await Promise.race([
    found,
    exited.then(([code]) => fails(`it ended with exit code ${code}`)),
    sleep(START_TIMEOUT_MS, undefined, { ref: false }).then(() => fails("it kept silent")),
  ]);
}

async function untilHealthy(endpoint) {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const status = await fetch(`${endpoint}/health`).then((answer) => answer.status, () => 0);
    if (status === 200) return;
    await sleep(50);
  }
  throw new Error(`${endpoint}/health did not answer 200`);
}

/** Registers the server's start and stop around the tests of one file; the fields are set once it runs. */
export function useServer() {
  const context = {};
  before(async () => {
    const { endpoint, stop } = await start();
    Object.assign(context, { endpoint, stop });
    context.sqs = new SQS({
      endpoint,
      region: REGION,
      credentials: { accessKeyId: ACCOUNT, secretAccessKey: "secret" },
      // A retry would hide a server fault.
      maxAttempts: 1,
    });
  });
  after(async () => {
    context.sqs?.destroy();
    await context.stop?.();
  });
  return context;
}

/** A queue name that no other test, and no earlier run against the same server, has used. */
export function freshName() {
  return `js-${randomBytes(6).toString("hex")}`;
}

export async function freshQueue(sqs, Attributes) {
  const suffix = Attributes?.FifoQueue ? ".fifo" : "";
  const { QueueUrl } = await sqs.createQueue({ QueueName: freshName() + suffix, Attributes });
  return QueueUrl;
}

/** One message, waiting for it so that a slow machine is no failure. */
export async function receiveOne(sqs, QueueUrl, options = {}) {
  const { Messages = [] } = await sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 5, ...options });
  assert.equal(Messages.length, 1);
  return Messages[0];
}

export async function counts(sqs, QueueUrl) {
  const names = ["", "NotVisible", "Delayed"].map((suffix) => `ApproximateNumberOfMessages${suffix}`);
  const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: names });
  return names.map((name) => Number(Attributes[name]));
}

export function md5OfBody(body) {
  return createHash("md5").update(body, "utf8").digest("hex");
}

/** The attribute digest, which this SDK does not verify itself. */
export function md5OfAttributes(attributes) {
  const digest = createHash("md5");
  const field = (data) => {
    const bytes = Buffer.from(data);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    digest.update(length).update(bytes);
  };
  for (const name of Object.keys(attributes).sort()) {
    const { DataType, StringValue, BinaryValue } = attributes[name];
    const binary = DataType.split(".")[0] === "Binary";
    field(name);
    field(DataType);
    digest.update(Buffer.from([binary ? 2 : 1]));
    field(binary ? BinaryValue : StringValue);
  }
  return digest.digest("hex");
}
