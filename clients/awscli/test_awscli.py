"""The whole life of messages with the `aws` command line, as a script would drive it."""

import base64
import json
import pathlib
import subprocess
import sys
import threading
import time
import uuid

import pytest

import tidegate
from checksum import md5_of_attributes, md5_of_body

AWS = pathlib.Path(sys.executable).parent / "aws"
NO_SUCH_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"
TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


class Failed(Exception):
    """The command line ended with an error; the text is what it printed."""


class Cli:
    def __init__(self, endpoint):
        self.endpoint = endpoint

    def __call__(self, operation, *arguments, **options):
        command = [str(AWS), "--endpoint-url", self.endpoint, "--output", "json", "sqs", operation]
        for name, value in options.items():
            values = value if isinstance(value, (list, tuple)) else [value]
            texts = [json.dumps(v) if isinstance(v, dict) else str(v) for v in values]
            command += [f"--{name.replace('_', '-')}", *texts]
        done = subprocess.run(
            [*command, *arguments], env=tidegate.client_env(self.endpoint), capture_output=True, text=True, timeout=60
        )
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def fails(self, code, operation, **options):
        with pytest.raises(Failed) as raised:
            self(operation, **options)
        assert f"({code})" in str(raised.value)

    def receive(self, url, **options):
        return self("receive-message", queue_url=url, **{"wait_time_seconds": 5, **options}).get("Messages", [])

    def counts(self, url):
        names = [f"ApproximateNumberOfMessages{suffix}" for suffix in ("", "NotVisible", "Delayed")]
        found = self("get-queue-attributes", queue_url=url, attribute_names=names)["Attributes"]
        return tuple(int(found[name]) for name in names)


@pytest.fixture(scope="module")
def aws():
    with tidegate.endpoint() as url:
        yield Cli(url)


@pytest.fixture
def name():
    return f"cli-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def url(aws, name):
    return aws("create-queue", queue_name=name)["QueueUrl"]


def entries(values):
    """A list argument that the command line takes as one JSON text."""
    return json.dumps(values)


def test_queue_life(aws, name):
    url = aws("create-queue", queue_name=name, attributes="VisibilityTimeout=7")["QueueUrl"]
    assert url == f"{aws.endpoint}/{tidegate.ACCOUNT}/{name}"
    assert aws("create-queue", queue_name=name)["QueueUrl"] == url
    assert aws("get-queue-url", queue_name=name)["QueueUrl"] == url
    aws.fails("QueueAlreadyExists", "create-queue", queue_name=name, attributes="VisibilityTimeout=8")

    aws("set-queue-attributes", queue_url=url, attributes="DelaySeconds=3,MessageRetentionPeriod=86400")
    found = aws("get-queue-attributes", queue_url=url, attribute_names="All")["Attributes"]
    assert (found["VisibilityTimeout"], found["DelaySeconds"], found["MessageRetentionPeriod"]) == ("7", "3", "86400")
    assert found["QueueArn"] == f"arn:aws:sqs:{tidegate.REGION}:{tidegate.ACCOUNT}:{name}"
    aws.fails("InvalidAttributeName", "get-queue-attributes", queue_url=url, attribute_names="Foobar")
    aws.fails("InvalidAttributeValue", "set-queue-attributes", queue_url=url, attributes="DelaySeconds=901")

    assert aws("delete-queue", queue_url=url) == {}
    aws.fails(NO_SUCH_QUEUE, "get-queue-url", queue_name=name)
    aws.fails(NO_SUCH_QUEUE, "send-message", queue_url=url, message_body="x")


def test_list_by_prefix_and_pages(aws, name):
    urls = [aws("create-queue", queue_name=f"{name}-{i}")["QueueUrl"] for i in range(3)]
    assert aws("list-queues", queue_name_prefix=name) == {"QueueUrls": urls}
    page = aws("list-queues", queue_name_prefix=name, max_items=2)
    assert page["QueueUrls"] == urls[:2]
    rest = aws("list-queues", queue_name_prefix=name, starting_token=page["NextToken"])
    assert rest == {"QueueUrls": urls[2:]}
    assert aws("list-queues", queue_name_prefix=f"{name}-none") == {}


def test_tags(aws, name):
    url = aws("create-queue", queue_name=name, tags="team=sea,empty=")["QueueUrl"]
    assert aws("list-queue-tags", queue_url=url)["Tags"] == {"team": "sea", "empty": ""}
    aws("tag-queue", queue_url=url, tags="Team=größer,team=land")
    aws("untag-queue", queue_url=url, tag_keys=["empty", "never-there"])
    assert aws("list-queue-tags", queue_url=url)["Tags"] == {"team": "land", "Team": "größer"}
    aws("untag-queue", queue_url=url, tag_keys=["team", "Team"])
    assert aws("list-queue-tags", queue_url=url) == {}


def test_send_receive_delete(aws, url):
    body = "größer, 漢字, 🌊 cr\rlf\ncrlf\r\n\"&quot;&quot;\r<a href='x'>&amp; ]]></a>\r"
    sent = aws("send-message", queue_url=url, message_body=body)
    assert sent["MD5OfMessageBody"] == md5_of_body(body)
    (message,) = aws.receive(url, attribute_names="ApproximateReceiveCount")
    assert message["Body"] == body
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == md5_of_body(body)
    assert message["Attributes"] == {"ApproximateReceiveCount": "1"}
    assert aws("delete-message", queue_url=url, receipt_handle=message["ReceiptHandle"]) == {}
    assert aws.counts(url) == (0, 0, 0)


def test_message_attributes_with_custom_types(aws, url, tmp_path):
    binary = tmp_path / "binary"
    binary.write_bytes(b"\x00\xff\x10")
    sent = aws(
        "send-message",
        queue_url=url,
        message_body="x",
        message_attributes=(
            "ts={DataType=Number.java.lang.Long,StringValue=1493147359900},"
            "s={DataType=String.custom,StringValue=v},"
            f"b={{DataType=Binary.png,BinaryValue@=fileb://{binary}}}"
        ),
        message_system_attributes={"AWSTraceHeader": {"DataType": "String", "StringValue": TRACE}},
    )
    expected = {
        "ts": {"DataType": "Number.java.lang.Long", "StringValue": "1493147359900"},
        "s": {"DataType": "String.custom", "StringValue": "v"},
        "b": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff\x10"},
    }
    assert sent["MD5OfMessageAttributes"] == md5_of_attributes(expected)
    assert sent["MD5OfMessageSystemAttributes"] == "5ae4d5d7636402d80f4eb6d213245a88"

    (message,) = aws.receive(url, message_attribute_names="All", message_system_attribute_names="AWSTraceHeader")
    expected["b"]["BinaryValue"] = base64.b64encode(b"\x00\xff\x10").decode()
    assert message["MessageAttributes"] == expected
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert message["Attributes"] == {"AWSTraceHeader": TRACE}


def test_largest_body(aws, url, tmp_path):
    body = tmp_path / "body"
    body.write_text("x" * 1_048_576)
    aws("send-message", queue_url=url, message_body=f"file://{body}")
    (message,) = aws.receive(url)
    assert message["Body"] == "x" * 1_048_576
    body.write_text("x" * 1_048_577)
    aws.fails("InvalidParameterValue", "send-message", queue_url=url, message_body=f"file://{body}")


def test_batches(aws, url):
    sent = [{"Id": f"m{i}", "MessageBody": f"body {i}"} for i in range(10)]
    sent[6]["MessageBody"] = "back\x08space"
    answer = aws("send-message-batch", queue_url=url, entries=entries(sent))
    good = [i for i in range(10) if i != 6]
    assert {entry["Id"] for entry in answer["Successful"]} == {f"m{i}" for i in good}
    (failed,) = answer["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("m6", "InvalidMessageContents", True)

    messages = []
    while len(messages) < 9:
        batch = aws.receive(url, max_number_of_messages=10)
        assert batch
        messages += batch
    assert sorted(message["Body"] for message in messages) == [f"body {i}" for i in good]
    handles = [message["ReceiptHandle"] for message in messages]

    changed = [{"Id": f"c{i}", "ReceiptHandle": h, "VisibilityTimeout": 600} for i, h in enumerate(handles)]
    answer = aws("change-message-visibility-batch", queue_url=url, entries=entries(changed))
    assert len(answer["Successful"]) == 9
    assert "Failed" not in answer

    deleted = [{"Id": f"d{i}", "ReceiptHandle": h} for i, h in enumerate(["garbage", *handles])]
    answer = aws("delete-message-batch", queue_url=url, entries=entries(deleted))
    assert {entry["Id"] for entry in answer["Successful"]} == {f"d{i}" for i in range(1, 10)}
    assert [(entry["Id"], entry["Code"]) for entry in answer["Failed"]] == [("d0", "ReceiptHandleIsInvalid")]
    assert aws.counts(url) == (0, 0, 0)


def test_batch_errors(aws, url):
    prefix = "AWS.SimpleQueueService"

    def fails(code, ids):
        batch = [{"Id": i, "MessageBody": "x"} for i in ids]
        aws.fails(f"{prefix}.{code}", "send-message-batch", queue_url=url, entries=entries(batch))

    fails("EmptyBatchRequest", [])
    fails("TooManyEntriesInBatchRequest", [f"m{i}" for i in range(11)])
    fails("BatchEntryIdsNotDistinct", ["a", "b", "a"])


def test_long_poll_is_woken_by_a_send(aws, url):
    started = time.monotonic()
    answer = []
    poll = threading.Thread(target=lambda: answer.extend(aws.receive(url, wait_time_seconds=20)))
    poll.start()
    time.sleep(2)
    aws("send-message", queue_url=url, message_body="wake")
    poll.join(timeout=40)
    assert [message["Body"] for message in answer] == ["wake"]
    assert time.monotonic() - started < 16


def test_visibility(aws, url):
    aws("send-message", queue_url=url, message_body="x")
    (first,) = aws.receive(url)
    assert aws.receive(url, wait_time_seconds=0) == []
    assert aws.counts(url) == (0, 1, 0)

    change = {"queue_url": url, "receipt_handle": first["ReceiptHandle"]}
    aws("change-message-visibility", **change, visibility_timeout=0)
    (second,) = aws.receive(url, attribute_names="All", visibility_timeout=2)
    assert second["MessageId"] == first["MessageId"]
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"

    change["receipt_handle"] = second["ReceiptHandle"]
    aws("change-message-visibility", **change, visibility_timeout=60)
    assert aws.receive(url, wait_time_seconds=3) == []
    aws("delete-message", **change)
    aws.fails("InvalidParameterValue", "change-message-visibility", **change, visibility_timeout=0)
    change["receipt_handle"] = "garbage"
    aws.fails("ReceiptHandleIsInvalid", "change-message-visibility", **change, visibility_timeout=0)
    aws.fails("ReceiptHandleIsInvalid", "delete-message", **change)


def test_delay_and_purge(aws, url):
    aws("send-message", queue_url=url, message_body="later", delay_seconds=1)
    (message,) = aws.receive(url, wait_time_seconds=10)
    assert message["Body"] == "later"

    aws("send-message", queue_url=url, message_body="much later", delay_seconds=600)
    aws("send-message", queue_url=url, message_body="now")
    assert aws.counts(url) == (1, 1, 1)
    assert aws("purge-queue", queue_url=url) == {}
    assert aws.counts(url) == (0, 0, 0)
    aws.fails("AWS.SimpleQueueService.PurgeQueueInProgress", "purge-queue", queue_url=url)


def test_fifo(aws, name):
    url = aws(
        "create-queue", queue_name=f"{name}.fifo", attributes="FifoQueue=true,ContentBasedDeduplication=true"
    )["QueueUrl"]
    first = aws("send-message", queue_url=url, message_body="same", message_group_id="g")
    second = aws("send-message", queue_url=url, message_body="same", message_group_id="g")
    assert second["MessageId"] == first["MessageId"]
    assert int(first["SequenceNumber"]) > 0
    assert aws.counts(url) == (1, 0, 0)
