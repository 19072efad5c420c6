import threading
import time

import pytest
from botocore.exceptions import ClientError

from checksum import md5_of_attributes, md5_of_body

TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

CUSTOM_TYPES = {
    "ts": {"DataType": "Number.java.lang.Long", "StringValue": "1493147359900"},
    "s": {"DataType": "String.custom", "StringValue": "größe <&> 漢字 🌊"},
    "b": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff\x10"},
}

BODIES = {
    "plain": "hello",
    "unicode": "Tidenhub: größer, 漢字, עברית, 🌊, e\u0301 (combining), \u2028 and \ufffd",
    "line ends": "cr\rlf\ncrlf\r\nend\r",
    "xml specials": "\"&quot;&quot;\r<a href='x'>&amp; ]]> <![CDATA[y]]> --></a>",
    "form specials": "a=b&c=d+e%20f%0D;g?h#i/j",
    "json specials": '{"a": "\\u0041\\n", "b": [null, "\\\\"]}',
    "white space": "  \t leading and trailing \t  ",
    "only white space": " \r\n\t ",
    "edges of the allowed set": "\t \ud7ff\ue000\ufffd\U00010000\U0010ffff",
}


def receive(sqs, url, **options):
    """One message, waiting for it so that a slow machine is no failure."""
    options = {"WaitTimeSeconds": 5, **options}
    messages = sqs.receive_message(QueueUrl=url, **options).get("Messages", [])
    assert len(messages) == 1
    return messages[0]


def assert_nothing_to_receive(sqs, url):
    assert "Messages" not in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)


def counts(sqs, url):
    names = [f"ApproximateNumberOfMessages{suffix}" for suffix in ("", "NotVisible", "Delayed")]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return tuple(int(found[name]) for name in names)


def test_send_receive_delete(sqs, queue_url):
    sent = sqs.send_message(QueueUrl=queue_url, MessageBody="hello")
    assert sent["MD5OfMessageBody"] == "5d41402abc4b2a76b9719d911017c592"
    assert "MD5OfMessageAttributes" not in sent
    assert "MD5OfMessageSystemAttributes" not in sent
    assert "SequenceNumber" not in sent

    message = receive(sqs, queue_url)
    assert message["MessageId"] == sent["MessageId"]
    assert message["Body"] == "hello"
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"]
    assert set(message) == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}
    assert len(message["ReceiptHandle"]) <= 1024

    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
    assert counts(sqs, queue_url) == (0, 0, 0)
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])


def test_system_attributes(sqs, queue_url):
    before = int(time.time() * 1000) - 1000
    sqs.send_message(QueueUrl=queue_url, MessageBody="x")
    found = receive(sqs, queue_url, AttributeNames=["All"], VisibilityTimeout=0)["Attributes"]
    assert set(found) == {
        "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
    }
    assert found["ApproximateReceiveCount"] == "1"
    after = int(time.time() * 1000) + 1000
    assert before <= int(found["SentTimestamp"]) <= int(found["ApproximateFirstReceiveTimestamp"]) <= after

    again = receive(sqs, queue_url, AttributeNames=["ApproximateReceiveCount"])
    assert again["Attributes"] == {"ApproximateReceiveCount": "2"}


def test_message_attributes_with_custom_types(sqs, queue_url):
    sent = sqs.send_message(QueueUrl=queue_url, MessageBody="x", MessageAttributes=CUSTOM_TYPES)
    assert sent["MD5OfMessageAttributes"] == md5_of_attributes(CUSTOM_TYPES)

    message = receive(sqs, queue_url, MessageAttributeNames=["All"])
    assert message["MessageAttributes"] == CUSTOM_TYPES
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert "Attributes" not in message


def test_recorded_attribute_digest(sqs, queue_url):
    recorded = {
        "blob": {"DataType": "Binary", "BinaryValue": b"\x01\x02\x03"},
        "color": {"DataType": "String", "StringValue": "blue"},
        "count": {"DataType": "Number", "StringValue": "3"},
    }
    sent = sqs.send_message(QueueUrl=queue_url, MessageBody="x", MessageAttributes=recorded)
    assert sent["MD5OfMessageAttributes"] == "d838729972a4b70e2d2acd9d59ac847c"
    assert md5_of_attributes(recorded) == "d838729972a4b70e2d2acd9d59ac847c"


@pytest.mark.parametrize(
    "wanted, returned",
    [
        (None, []),
        ([], []),
        (["All"], ["General", "Hello", "Help.Me"]),
        ([".*"], ["General", "Hello", "Help.Me"]),
        (["Hel.*"], ["Hello", "Help.Me"]),
        (["Foo", "Hello"], ["Hello"]),
        (["Help", "AWS.", "..foo"], []),
    ],
)
def test_message_attribute_filter(sqs, queue_url, wanted, returned):
    sent = {
        "General": {"DataType": "String", "StringValue": "Kenobi"},
        "Hello": {"DataType": "String", "StringValue": "There"},
        "Help.Me": {"DataType": "String", "StringValue": "Me"},
    }
    sqs.send_message(QueueUrl=queue_url, MessageBody="x", MessageAttributes=sent)
    options = {} if wanted is None else {"MessageAttributeNames": wanted}
    message = receive(sqs, queue_url, **options)
    expected = {name: sent[name] for name in returned}
    assert message.get("MessageAttributes", {}) == expected
    digest = md5_of_attributes(expected) if expected else None
    assert message.get("MD5OfMessageAttributes") == digest


def test_trace_header(sqs, queue_url):
    system = {"AWSTraceHeader": {"DataType": "String", "StringValue": TRACE}}
    sent = sqs.send_message(
        QueueUrl=queue_url, MessageBody="x", MessageSystemAttributes=system, MessageAttributes=CUSTOM_TYPES
    )
    assert sent["MD5OfMessageSystemAttributes"] == "5ae4d5d7636402d80f4eb6d213245a88"
    assert sent["MD5OfMessageAttributes"] == md5_of_attributes(CUSTOM_TYPES)
    message = receive(sqs, queue_url, AttributeNames=["AWSTraceHeader"], MessageAttributeNames=["All"])
    assert message["Attributes"] == {"AWSTraceHeader": TRACE}
    assert message["MessageAttributes"] == CUSTOM_TYPES


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_body_comes_back_unchanged(sqs, queue_url, body):
    sent = sqs.send_message(QueueUrl=queue_url, MessageBody=body)
    message = receive(sqs, queue_url)
    assert message["Body"] == body
    assert sent["MD5OfMessageBody"] == message["MD5OfBody"] == md5_of_body(body)


def test_largest_body(sqs, queue_url):
    body = "ä" * (512 * 1024)
    assert len(body.encode()) == 1_048_576
    sqs.send_message(QueueUrl=queue_url, MessageBody=body)
    message = receive(sqs, queue_url)
    assert message["Body"] == body
    assert message["MD5OfBody"] == md5_of_body(body)

    with pytest.raises(ClientError) as raised:
        sqs.send_message(QueueUrl=queue_url, MessageBody=body + "x")
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"
    assert raised.value.response["Error"]["Message"] == (
        "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    )


def test_attributes_count_towards_the_size(sqs, queue_url):
    attribute = {"a": {"DataType": "String", "StringValue": "b"}}  # 1 + 6 + 1 bytes
    sqs.send_message(QueueUrl=queue_url, MessageBody="x" * (1_048_576 - 8), MessageAttributes=attribute)
    with pytest.raises(ClientError) as raised:
        sqs.send_message(QueueUrl=queue_url, MessageBody="x" * (1_048_576 - 7), MessageAttributes=attribute)
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_long_poll_is_woken_by_a_send(sqs, queue_url, connect, endpoint):
    started = time.monotonic()
    answer = []
    poll = threading.Thread(
        target=lambda: answer.append(connect(endpoint).receive_message(QueueUrl=queue_url, WaitTimeSeconds=20))
    )
    poll.start()
    time.sleep(1)
    sqs.send_message(QueueUrl=queue_url, MessageBody="wake")
    poll.join(timeout=30)
    assert [message["Body"] for message in answer[0]["Messages"]] == ["wake"]
    assert time.monotonic() - started < 15


def test_long_poll_of_an_empty_queue_ends_empty(sqs, queue_url):
    started = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=queue_url, WaitTimeSeconds=1)
    assert 0.9 < time.monotonic() - started < 10


def test_long_poll_does_not_wait_to_fill_the_batch(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="only one")
    started = time.monotonic()
    receive(sqs, queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=20)
    assert time.monotonic() - started < 15


def test_message_is_hidden_while_in_flight(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="x")
    receive(sqs, queue_url)
    assert_nothing_to_receive(sqs, queue_url)
    assert counts(sqs, queue_url) == (0, 1, 0)


def test_message_returns_when_its_visibility_timeout_ends(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="x")
    first = receive(sqs, queue_url, VisibilityTimeout=1)
    second = receive(sqs, queue_url, AttributeNames=["ApproximateReceiveCount"], WaitTimeSeconds=10)
    assert second["MessageId"] == first["MessageId"]
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"
    assert second["ReceiptHandle"] != first["ReceiptHandle"]


def test_visibility_changed_to_zero(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="x")
    first = receive(sqs, queue_url)
    sqs.change_message_visibility(QueueUrl=queue_url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
    second = receive(sqs, queue_url, AttributeNames=["ApproximateReceiveCount"])
    assert second["MessageId"] == first["MessageId"]
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"


def test_visibility_extended(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="x")
    handle = receive(sqs, queue_url, VisibilityTimeout=2)["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=queue_url, ReceiptHandle=handle, VisibilityTimeout=60)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue_url, WaitTimeSeconds=3)
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=handle)
    assert counts(sqs, queue_url) == (0, 0, 0)


def test_late_delete_on_a_standard_queue(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="x")
    handle = receive(sqs, queue_url, VisibilityTimeout=0)["ReceiptHandle"]
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=handle)
    assert_nothing_to_receive(sqs, queue_url)
    assert counts(sqs, queue_url) == (0, 0, 0)


def test_delayed_message(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="later", DelaySeconds=1)
    assert counts(sqs, queue_url) == (0, 0, 1)
    assert receive(sqs, queue_url, WaitTimeSeconds=10)["Body"] == "later"
    assert counts(sqs, queue_url) == (0, 1, 0)


def test_queue_delay_and_its_override(sqs, queue_url):
    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"DelaySeconds": "900"})
    sqs.send_message(QueueUrl=queue_url, MessageBody="by the queue")
    sqs.send_message(QueueUrl=queue_url, MessageBody="at once", DelaySeconds=0)
    assert receive(sqs, queue_url)["Body"] == "at once"
    assert counts(sqs, queue_url) == (0, 1, 1)


def test_counts(sqs, queue_url):
    for i in range(3):
        sqs.send_message(QueueUrl=queue_url, MessageBody=str(i))
    sqs.send_message(QueueUrl=queue_url, MessageBody="later", DelaySeconds=600)
    assert counts(sqs, queue_url) == (3, 0, 1)
    message = receive(sqs, queue_url)
    assert counts(sqs, queue_url) == (2, 1, 1)
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
    assert counts(sqs, queue_url) == (2, 0, 1)


def test_purge(sqs, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="in flight")
    receive(sqs, queue_url)
    sqs.send_message(QueueUrl=queue_url, MessageBody="visible")
    sqs.send_message(QueueUrl=queue_url, MessageBody="delayed", DelaySeconds=600)
    sqs.purge_queue(QueueUrl=queue_url)
    assert counts(sqs, queue_url) == (0, 0, 0)

    with pytest.raises(sqs.exceptions.PurgeQueueInProgress) as raised:
        sqs.purge_queue(QueueUrl=queue_url)
    assert raised.value.response["Error"]["Code"] == "AWS.SimpleQueueService.PurgeQueueInProgress"
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403

    sqs.send_message(QueueUrl=queue_url, MessageBody="after")
    assert receive(sqs, queue_url)["Body"] == "after"


def test_receipt_handle_errors(sqs, queue_url):
    for call in (
        lambda: sqs.delete_message(QueueUrl=queue_url, ReceiptHandle="garbage"),
        lambda: sqs.change_message_visibility(QueueUrl=queue_url, ReceiptHandle="garbage", VisibilityTimeout=1),
    ):
        with pytest.raises(sqs.exceptions.ReceiptHandleIsInvalid) as raised:
            call()
        assert raised.value.response["Error"]["Code"] == "ReceiptHandleIsInvalid"
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404

    sqs.send_message(QueueUrl=queue_url, MessageBody="x")
    handle = receive(sqs, queue_url)["ReceiptHandle"]
    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=handle)
    with pytest.raises(ClientError) as raised:
        sqs.change_message_visibility(QueueUrl=queue_url, ReceiptHandle=handle, VisibilityTimeout=10)
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_illegal_characters(sqs, queue_url):
    for body in ("\x00", "a\x08b", "\uffff"):
        with pytest.raises(sqs.exceptions.InvalidMessageContents) as raised:
            sqs.send_message(QueueUrl=queue_url, MessageBody=body)
        assert raised.value.response["Error"]["Code"] == "InvalidMessageContents"
    assert counts(sqs, queue_url) == (0, 0, 0)


@pytest.mark.parametrize(
    "option", [{"MaxNumberOfMessages": 11}, {"MaxNumberOfMessages": 0}, {"WaitTimeSeconds": 21}, {"WaitTimeSeconds": -1}]
)
def test_receive_options_out_of_range(sqs, queue_url, option):
    with pytest.raises(ClientError) as raised:
        sqs.receive_message(QueueUrl=queue_url, **option)
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_empty_body(sqs, queue_url):
    with pytest.raises(ClientError) as raised:
        sqs.send_message(QueueUrl=queue_url, MessageBody="")
    assert raised.value.response["Error"]["Code"] == "MissingParameter"
    assert raised.value.response["Error"]["Message"] == "The request must contain the parameter MessageBody."
