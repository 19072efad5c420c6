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

    deadline = time.monotonic() + 20
    while True:
        (task,) = sqs.list_message_move_tasks(SourceArn=arn(sqs, dlq))["Results"]
        if task["Status"] != "RUNNING" or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    assert task["Status"] == "COMPLETED"
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
