import pytest
from botocore.exceptions import ClientError

from test_messages import counts, receive


@pytest.fixture
def fifo_url(sqs, name):
    return sqs.create_queue(QueueName=f"{name}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]


def send(sqs, url, body, group, dedup=None):
    return sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=dedup or body)


def test_attributes_of_a_fresh_fifo_queue(sqs, fifo_url):
    found = sqs.get_queue_attributes(QueueUrl=fifo_url, AttributeNames=["All"])["Attributes"]
    expected = {
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "queue",
        "FifoQueue": "true",
        "FifoThroughputLimit": "perQueue",
    }
    assert {name: found.get(name) for name in expected} == expected


def test_order_and_group_lock(sqs, fifo_url):
    numbers = [int(send(sqs, fifo_url, f"a{i}", "a")["SequenceNumber"]) for i in range(3)]
    assert numbers == sorted(set(numbers))
    send(sqs, fifo_url, "b0", "b")

    first = receive(sqs, fifo_url, AttributeNames=["All"])
    assert first["Body"] == "a0"
    assert first["Attributes"]["MessageGroupId"] == "a"
    assert first["Attributes"]["MessageDeduplicationId"] == "a0"
    assert int(first["Attributes"]["SequenceNumber"]) == numbers[0]

    assert receive(sqs, fifo_url, MaxNumberOfMessages=10)["Body"] == "b0", "group a is locked"
    assert counts(sqs, fifo_url) == (2, 2, 0)

    sqs.delete_message(QueueUrl=fifo_url, ReceiptHandle=first["ReceiptHandle"])
    rest = sqs.receive_message(QueueUrl=fifo_url, MaxNumberOfMessages=10, WaitTimeSeconds=5)["Messages"]
    assert [message["Body"] for message in rest] == ["a1", "a2"]


def test_duplicate_is_accepted_and_not_delivered(sqs, fifo_url):
    first = send(sqs, fifo_url, "one", "g", dedup="same")
    second = send(sqs, fifo_url, "other body", "h", dedup="same")
    assert second["MessageId"] == first["MessageId"]
    message = receive(sqs, fifo_url, MaxNumberOfMessages=10)
    assert message["Body"] == "one"
    sqs.delete_message(QueueUrl=fifo_url, ReceiptHandle=message["ReceiptHandle"])
    send(sqs, fifo_url, "after the delete", "g", dedup="same")
    assert "Messages" not in sqs.receive_message(QueueUrl=fifo_url, WaitTimeSeconds=1)


def test_content_based_deduplication(sqs, name):
    url = sqs.create_queue(
        QueueName=f"{name}.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    )["QueueUrl"]
    for _ in range(2):
        sqs.send_message(QueueUrl=url, MessageBody="same", MessageGroupId="g")
    message = receive(sqs, url, MaxNumberOfMessages=10, AttributeNames=["MessageDeduplicationId"])
    assert message["Attributes"] == {
        "MessageDeduplicationId": "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5"
    }


def test_late_delete_is_refused(sqs, fifo_url):
    send(sqs, fifo_url, "x", "g")
    late = receive(sqs, fifo_url, VisibilityTimeout=1)
    again = receive(sqs, fifo_url, WaitTimeSeconds=10)
    assert again["MessageId"] == late["MessageId"]
    with pytest.raises(ClientError) as raised:
        sqs.delete_message(QueueUrl=fifo_url, ReceiptHandle=late["ReceiptHandle"])
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"
    sqs.delete_message(QueueUrl=fifo_url, ReceiptHandle=again["ReceiptHandle"])
    assert counts(sqs, fifo_url) == (0, 0, 0)


def test_what_a_fifo_send_needs(sqs, fifo_url):
    with pytest.raises(ClientError) as raised:
        sqs.send_message(QueueUrl=fifo_url, MessageBody="x", MessageDeduplicationId="d")
    assert raised.value.response["Error"]["Code"] == "MissingParameter"
    with pytest.raises(ClientError) as raised:
        sqs.send_message(QueueUrl=fifo_url, MessageBody="x", MessageGroupId="g")
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"
    with pytest.raises(ClientError) as raised:
        sqs.send_message(
            QueueUrl=fifo_url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d", DelaySeconds=1
        )
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"
