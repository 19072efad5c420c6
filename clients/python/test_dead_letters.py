import json
import time

import pytest
from botocore.exceptions import ClientError

from test_messages import CUSTOM_TYPES, TRACE, counts, receive


def arn(sqs, url):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


@pytest.fixture
def pair(sqs, name):
    """A source queue with one allowed delivery, and its dead-letter queue."""
    dlq = sqs.create_queue(QueueName=f"{name}-dlq")["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": arn(sqs, dlq), "maxReceiveCount": 1})
    source = sqs.create_queue(QueueName=name, Attributes={"RedrivePolicy": policy})["QueueUrl"]
    return source, dlq


def exhaust(sqs, source, dlq):
    """Makes the one message of `source` a dead letter."""
    message = receive(sqs, source, VisibilityTimeout=0)
    assert "Messages" not in sqs.receive_message(QueueUrl=source)
    assert counts(sqs, source) == (0, 0, 0)
    assert counts(sqs, dlq) == (1, 0, 0)
    return message


def task_when(sqs, dlq, status):
    """The newest move task of `dlq`, once it has this status."""
    deadline = time.monotonic() + 20
    while True:
        task = sqs.list_message_move_tasks(SourceArn=arn(sqs, dlq))["Results"][0]
        if task["Status"] == status:
            return task
        assert time.monotonic() < deadline, task
        time.sleep(0.1)


def test_message_moves_on_the_receive_that_exceeds_the_count(sqs, pair):
    source, dlq = pair
    sent = sqs.send_message(
        QueueUrl=source,
        MessageBody="dead",
        MessageAttributes=CUSTOM_TYPES,
        MessageSystemAttributes={"AWSTraceHeader": {"DataType": "String", "StringValue": TRACE}},
    )
    exhaust(sqs, source, dlq)
    dead = receive(sqs, dlq, AttributeNames=["All"], MessageAttributeNames=["All"])
    assert dead["MessageId"] == sent["MessageId"]
    assert dead["Body"] == "dead"
    assert dead["MessageAttributes"] == CUSTOM_TYPES
    assert dead["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert dead["Attributes"]["DeadLetterQueueSourceArn"] == arn(sqs, source)
    assert dead["Attributes"]["AWSTraceHeader"] == TRACE
    assert dead["Attributes"]["ApproximateReceiveCount"] == "2"


def test_sources_are_listed(sqs, pair):
    source, dlq = pair
    assert sqs.list_dead_letter_source_queues(QueueUrl=dlq)["queueUrls"] == [source]
    assert not sqs.list_dead_letter_source_queues(QueueUrl=source).get("queueUrls")
    sqs.set_queue_attributes(QueueUrl=source, Attributes={"RedrivePolicy": ""})
    assert not sqs.list_dead_letter_source_queues(QueueUrl=dlq).get("queueUrls")


def test_redrive_brings_messages_home(sqs, pair):
    source, dlq = pair
    sqs.send_message(QueueUrl=source, MessageBody="home again")
    exhaust(sqs, source, dlq)
    assert sqs.start_message_move_task(SourceArn=arn(sqs, dlq))["TaskHandle"]

    message = receive(sqs, source, WaitTimeSeconds=20, AttributeNames=["ApproximateReceiveCount"])
    assert message["Body"] == "home again"
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"

    task = task_when(sqs, dlq, "COMPLETED")
    assert task["ApproximateNumberOfMessagesMoved"] == 1
    assert "TaskHandle" not in task
    assert "DestinationArn" not in task


def test_move_task_errors(sqs, name, queue_url):
    with pytest.raises(ClientError) as raised:
        sqs.start_message_move_task(SourceArn=arn(sqs, queue_url))
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"
    with pytest.raises(sqs.exceptions.ResourceNotFoundException):
        sqs.start_message_move_task(SourceArn=arn(sqs, queue_url) + "-missing")


@pytest.mark.parametrize("count", [0, 1001, "abc"])
def test_bad_redrive_policy_is_refused(sqs, pair, count):
    source, dlq = pair
    policy = json.dumps({"deadLetterTargetArn": arn(sqs, dlq), "maxReceiveCount": count})
    with pytest.raises(ClientError) as raised:
        sqs.set_queue_attributes(QueueUrl=source, Attributes={"RedrivePolicy": policy})
    assert raised.value.response["Error"]["Code"] == "InvalidParameterValue"


def source_of(sqs, dlq, name, **attributes):
    """A queue that gives its messages up after one delivery."""
    policy = json.dumps({"deadLetterTargetArn": arn(sqs, dlq), "maxReceiveCount": 1})
    return sqs.create_queue(QueueName=name, Attributes={"RedrivePolicy": policy, **attributes})["QueueUrl"]


def test_each_source_gets_its_own_messages_back(sqs, name):
    dlq = sqs.create_queue(QueueName=f"{name}-dlq")["QueueUrl"]
    sources = {letter: source_of(sqs, dlq, f"{name}-{letter}") for letter in "ab"}
    for letter, source in sources.items():
        for i in range(2):
            sqs.send_message(QueueUrl=source, MessageBody=f"{letter}{i}")
        for _ in range(2):
            sqs.receive_message(QueueUrl=source, VisibilityTimeout=0, MaxNumberOfMessages=10)
    assert counts(sqs, dlq) == (4, 0, 0)

    sqs.start_message_move_task(SourceArn=arn(sqs, dlq))
    task = task_when(sqs, dlq, "COMPLETED")
    assert (task["ApproximateNumberOfMessagesMoved"], task["ApproximateNumberOfMessagesToMove"]) == (4, 4)
    for letter, source in sources.items():
        found = sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10, WaitTimeSeconds=5)["Messages"]
        assert sorted(message["Body"] for message in found) == [f"{letter}0", f"{letter}1"]


def test_cancel_leaves_the_rest_in_place(sqs, pair, queue_url):
    source, dlq = pair
    total = 6
    for i in range(total):
        sqs.send_message(QueueUrl=source, MessageBody=f"m{i}")
    for _ in range(2):
        sqs.receive_message(QueueUrl=source, VisibilityTimeout=0, MaxNumberOfMessages=10)
    assert counts(sqs, dlq) == (total, 0, 0)
    destination = arn(sqs, queue_url)
    start = {"SourceArn": arn(sqs, dlq), "DestinationArn": destination, "MaxNumberOfMessagesPerSecond": 1}
    handle = sqs.start_message_move_task(**start)["TaskHandle"]
    with pytest.raises(ClientError) as raised:
        sqs.start_message_move_task(**start)
    assert raised.value.response["Error"]["Message"] == (
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
    )
    running = task_when(sqs, dlq, "RUNNING")
    assert running["TaskHandle"] == handle
    assert running["DestinationArn"] == destination
    assert running["MaxNumberOfMessagesPerSecond"] == 1
    assert running["ApproximateNumberOfMessagesToMove"] == total

    receive(sqs, queue_url)
    moved = sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert 1 <= moved < total
    cancelled = task_when(sqs, dlq, "CANCELLED")
    assert "TaskHandle" not in cancelled
    moved = cancelled["ApproximateNumberOfMessagesMoved"]
    assert counts(sqs, dlq) == (total - moved, 0, 0)
    assert sum(counts(sqs, queue_url)) == moved
    with pytest.raises(sqs.exceptions.ResourceNotFoundException):
        sqs.cancel_message_move_task(TaskHandle=handle)


def test_fifo_dead_letter(sqs, name, create_fifo):
    dlq = create_fifo("-dlq")
    source = source_of(sqs, dlq, f"{name}.fifo", FifoQueue="true")
    sent = [
        sqs.send_message(QueueUrl=source, MessageBody=f"m{i}", MessageGroupId="g", MessageDeduplicationId=f"d{i}")
        for i in range(2)
    ]
    assert receive(sqs, source, VisibilityTimeout=0)["Body"] == "m0"
    # The group goes on behind the dead letter, in the same receive.
    behind = receive(sqs, source, MaxNumberOfMessages=10)
    assert behind["Body"] == "m1"
    assert counts(sqs, source) == (0, 1, 0)

    dead = receive(sqs, dlq, AttributeNames=["All"])
    assert (dead["MessageId"], dead["Body"]) == (sent[0]["MessageId"], "m0")
    assert dead["Attributes"]["MessageGroupId"] == "g"
    assert dead["Attributes"]["MessageDeduplicationId"] == sent[0]["MessageId"]
    assert dead["Attributes"]["DeadLetterQueueSourceArn"] == arn(sqs, source)
    assert dead["Attributes"]["SequenceNumber"] != sent[0]["SequenceNumber"]

    sqs.change_message_visibility(QueueUrl=dlq, ReceiptHandle=dead["ReceiptHandle"], VisibilityTimeout=0)
    sqs.start_message_move_task(SourceArn=arn(sqs, dlq))
    assert task_when(sqs, dlq, "COMPLETED")["ApproximateNumberOfMessagesMoved"] == 1
    sqs.delete_message(QueueUrl=source, ReceiptHandle=behind["ReceiptHandle"])
    home = receive(sqs, source, AttributeNames=["All"])
    assert (home["Body"], home["Attributes"]["MessageGroupId"]) == ("m0", "g")
    assert int(home["Attributes"]["SequenceNumber"]) > int(sent[1]["SequenceNumber"])
