import time

import pytest
from botocore.exceptions import ClientError

from test_messages import assert_nothing_to_receive, counts, receive


def send(sqs, url, body, group, dedup=None):
    return sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=dedup or body)


def receive_all(sqs, url, **options):
    """One receive of up to ten messages; waits only for the first."""
    options = {"WaitTimeSeconds": 5, "MaxNumberOfMessages": 10, **options}
    return sqs.receive_message(QueueUrl=url, **options).get("Messages", [])


def bodies(messages):
    return [message["Body"] for message in messages]


def delete(sqs, url, *messages):
    for message in messages:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def assert_refused(raised, reason):
    """An invalid value with the service's own reason."""
    error = raised.value.response["Error"]
    assert error["Code"] == "InvalidParameterValue"
    assert error["Message"].endswith(f"Reason: {reason}")


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
    assert bodies(receive_all(sqs, fifo_url)) == ["a1", "a2"]


def test_one_receive_fills_up_group_by_group(sqs, fifo_url):
    for body in ("a1", "b1", "a2", "a3"):
        send(sqs, fifo_url, body, body[0])
    assert bodies(receive_all(sqs, fifo_url)) == ["a1", "a2", "a3", "b1"]


def test_batch_keeps_its_order(sqs, fifo_url):
    entries = [
        {"Id": f"e{i}", "MessageBody": f"m{i}", "MessageGroupId": "g", "MessageDeduplicationId": f"d{i}"}
        for i in range(10)
    ]
    sent = sqs.send_message_batch(QueueUrl=fifo_url, Entries=entries)["Successful"]
    numbers = {entry["Id"]: int(entry["SequenceNumber"]) for entry in sent}
    assert sorted(numbers, key=numbers.get) == [entry["Id"] for entry in entries]
    messages = receive_all(sqs, fifo_url, AttributeNames=["SequenceNumber"])
    assert bodies(messages) == [entry["MessageBody"] for entry in entries]
    assert [int(message["Attributes"]["SequenceNumber"]) for message in messages] == sorted(numbers.values())


def test_duplicate_is_accepted_and_not_delivered(sqs, fifo_url):
    first = send(sqs, fifo_url, "one", "g", dedup="same")
    second = send(sqs, fifo_url, "other body", "h", dedup="same")
    assert second["MessageId"] == first["MessageId"]
    message = receive(sqs, fifo_url, MaxNumberOfMessages=10)
    assert message["Body"] == "one"
    sqs.delete_message(QueueUrl=fifo_url, ReceiptHandle=message["ReceiptHandle"])
    send(sqs, fifo_url, "after the delete", "g", dedup="same")
    assert "Messages" not in sqs.receive_message(QueueUrl=fifo_url, WaitTimeSeconds=1)


def test_content_based_deduplication(sqs, create_fifo):
    url = create_fifo(ContentBasedDeduplication="true")
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
    assert_refused(raised, "The receipt handle has expired.")
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


@pytest.mark.parametrize("limit", ["perQueue", "perMessageGroupId"])
def test_deduplication_within_a_message_group(sqs, create_fifo, limit):
    url = create_fifo(DeduplicationScope="messageGroup", FifoThroughputLimit=limit)
    first = send(sqs, url, "one", "a", dedup="same")
    assert send(sqs, url, "again", "a", dedup="same")["SequenceNumber"] == first["SequenceNumber"]
    other = send(sqs, url, "two", "b", dedup="same")
    assert other["MessageId"] != first["MessageId"]
    assert bodies(receive_all(sqs, url)) == ["one", "two"]


def test_high_throughput_needs_the_narrow_scope(sqs, fifo_url):
    with pytest.raises(sqs.exceptions.ClientError) as raised:
        sqs.set_queue_attributes(QueueUrl=fifo_url, Attributes={"FifoThroughputLimit": "perMessageGroupId"})
    assert raised.value.response["Error"]["Code"] == "InvalidAttributeValue"


def test_attempt_id_repeats_a_receive(sqs, fifo_url):
    for i in range(3):
        send(sqs, fifo_url, f"m{i}", "g")
    options = {"ReceiveRequestAttemptId": "lost-answer", "AttributeNames": ["ApproximateReceiveCount"]}
    first = receive_all(sqs, fifo_url, **options)
    assert bodies(first) == ["m0", "m1", "m2"]
    assert bodies(receive_all(sqs, fifo_url, **options, WaitTimeSeconds=0)) == ["m0", "m1", "m2"]
    again = receive_all(sqs, fifo_url, **options)
    assert [message["ReceiptHandle"] for message in again] == [message["ReceiptHandle"] for message in first]
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in again} == {"1"}
    options["ReceiveRequestAttemptId"] = "another"
    assert receive_all(sqs, fifo_url, **options, WaitTimeSeconds=0) == []
    delete(sqs, fifo_url, *again)


@pytest.mark.parametrize("touch", ["delete", "change visibility"])
def test_attempt_id_is_void_once_a_message_was_touched(sqs, fifo_url, touch):
    send(sqs, fifo_url, "m0", "g")
    send(sqs, fifo_url, "m1", "g")
    first, _ = receive_all(sqs, fifo_url, ReceiveRequestAttemptId="attempt")
    if touch == "delete":
        delete(sqs, fifo_url, first)
    else:
        sqs.change_message_visibility(
            QueueUrl=fifo_url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=60
        )
    with pytest.raises(ClientError) as raised:
        receive_all(sqs, fifo_url, ReceiveRequestAttemptId="attempt")
    assert_refused(raised, "The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.")


def test_purge_forgets_deduplication_ids(sqs, fifo_url):
    before = send(sqs, fifo_url, "one", "g", dedup="same")
    sqs.purge_queue(QueueUrl=fifo_url)
    assert counts(sqs, fifo_url) == (0, 0, 0)
    after = send(sqs, fifo_url, "two", "g", dedup="same")
    assert int(after["SequenceNumber"]) > int(before["SequenceNumber"])
    assert bodies(receive_all(sqs, fifo_url)) == ["two"]


def test_delayed_message_does_not_hold_up_an_earlier_one(sqs, create_fifo):
    url = create_fifo(DelaySeconds="3")
    send(sqs, url, "early", "g")
    deadline = time.monotonic() + 20
    while counts(sqs, url) != (1, 0, 0):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    send(sqs, url, "late", "g")
    (early,) = receive_all(sqs, url, WaitTimeSeconds=0)
    assert early["Body"] == "early"
    assert counts(sqs, url) == (0, 1, 1)
    delete(sqs, url, early)
    assert bodies(receive_all(sqs, url, WaitTimeSeconds=20)) == ["late"]


def test_visibility_zero_gives_a_message_back_in_its_place(sqs, fifo_url):
    for i in range(3):
        send(sqs, fifo_url, f"m{i}", "g")
    first, second = receive_all(sqs, fifo_url, MaxNumberOfMessages=2)
    sqs.change_message_visibility(QueueUrl=fifo_url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
    # The second is still in flight: nothing may overtake it.
    again = receive_all(sqs, fifo_url)
    assert bodies(again) == ["m0"]
    delete(sqs, fifo_url, again[0], second)
    assert bodies(receive_all(sqs, fifo_url)) == ["m2"]
    assert_nothing_to_receive(sqs, fifo_url)
