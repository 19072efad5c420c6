import pytest
from botocore.exceptions import ClientError

from checksum import md5_of_attributes, md5_of_body
from test_messages import CUSTOM_TYPES, TRACE, counts

ILLEGAL = "back\x08space"


def by_id(entries):
    return {entry["Id"]: entry for entry in entries}


def receive_all(sqs, url, count, **options):
    """A receive may return fewer messages than there are."""
    messages = []
    while len(messages) < count:
        batch = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5, **options)
        assert batch.get("Messages"), f"{len(messages)} of {count} messages received"
        messages += batch["Messages"]
    assert len(messages) == count
    return messages


def send_ten(sqs, url):
    entries = [{"Id": f"m{i}", "MessageBody": f"body {i}"} for i in range(10)]
    answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert len(answer["Successful"]) == 10
    assert "Failed" not in answer


def test_batch_of_ten(sqs, queue_url):
    entries = [{"Id": f"m{i}", "MessageBody": f"body {i} & \r\n<x>"} for i in range(10)]
    entries[3]["MessageAttributes"] = CUSTOM_TYPES
    entries[4]["DelaySeconds"] = 600
    entries[5]["MessageSystemAttributes"] = {"AWSTraceHeader": {"DataType": "String", "StringValue": TRACE}}
    answer = sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
    assert "Failed" not in answer
    sent = by_id(answer["Successful"])
    assert set(sent) == {entry["Id"] for entry in entries}
    for entry in entries:
        assert sent[entry["Id"]]["MD5OfMessageBody"] == md5_of_body(entry["MessageBody"])
    assert sent["m3"]["MD5OfMessageAttributes"] == md5_of_attributes(CUSTOM_TYPES)
    assert "MD5OfMessageAttributes" not in sent["m2"]
    assert sent["m5"]["MD5OfMessageSystemAttributes"] == "5ae4d5d7636402d80f4eb6d213245a88"
    assert counts(sqs, queue_url) == (9, 0, 1)

    messages = receive_all(sqs, queue_url, 9, MessageAttributeNames=["All"])
    bodies = {message["MessageId"]: message["Body"] for message in messages}
    assert bodies == {
        sent[entry["Id"]]["MessageId"]: entry["MessageBody"] for entry in entries if entry["Id"] != "m4"
    }
    with_attributes = [message for message in messages if "MessageAttributes" in message]
    assert [message["MessageAttributes"] for message in with_attributes] == [CUSTOM_TYPES]


def test_one_bad_entry_does_not_stop_the_others(sqs, queue_url):
    entries = [{"Id": f"m{i}", "MessageBody": f"body {i}"} for i in range(10)]
    entries[6]["MessageBody"] = ILLEGAL
    answer = sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
    assert set(by_id(answer["Successful"])) == {f"m{i}" for i in range(10) if i != 6}
    (failed,) = answer["Failed"]
    assert failed["Id"] == "m6"
    assert failed["Code"] == "InvalidMessageContents"
    assert failed["SenderFault"] is True
    assert failed["Message"]

    bodies = sorted(message["Body"] for message in receive_all(sqs, queue_url, 9))
    assert bodies == [f"body {i}" for i in range(10) if i != 6]


def test_all_entries_bad(sqs, queue_url):
    answer = sqs.send_message_batch(QueueUrl=queue_url, Entries=[{"Id": "a", "MessageBody": ILLEGAL}])
    assert "Successful" not in answer
    assert [entry["Id"] for entry in answer["Failed"]] == ["a"]


def test_delete_batch_with_one_garbage_handle(sqs, queue_url):
    send_ten(sqs, queue_url)
    handles = [message["ReceiptHandle"] for message in receive_all(sqs, queue_url, 10)]
    entries = [{"Id": f"d{i}", "ReceiptHandle": handle} for i, handle in enumerate(handles)]
    entries[2]["ReceiptHandle"] = "garbage"
    answer = sqs.delete_message_batch(QueueUrl=queue_url, Entries=entries)
    assert set(by_id(answer["Successful"])) == {f"d{i}" for i in range(10) if i != 2}
    (failed,) = answer["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("d2", "ReceiptHandleIsInvalid", True)
    assert counts(sqs, queue_url) == (0, 1, 0)


def test_change_visibility_batch(sqs, queue_url):
    send_ten(sqs, queue_url)
    messages = receive_all(sqs, queue_url, 10)
    entries = [
        {"Id": f"c{i}", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0 if i < 4 else 600}
        for i, message in enumerate(messages)
    ]
    entries[9]["ReceiptHandle"] = "garbage"
    answer = sqs.change_message_visibility_batch(QueueUrl=queue_url, Entries=entries)
    assert set(by_id(answer["Successful"])) == {f"c{i}" for i in range(9)}
    assert [(entry["Id"], entry["Code"]) for entry in answer["Failed"]] == [("c9", "ReceiptHandleIsInvalid")]
    assert counts(sqs, queue_url) == (4, 6, 0)
    back = receive_all(sqs, queue_url, 4, AttributeNames=["ApproximateReceiveCount"])
    assert {message["MessageId"] for message in back} == {message["MessageId"] for message in messages[:4]}
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in back} == {"2"}


def test_typed_batch_errors(sqs, queue_url):
    def send(*ids):
        return sqs.send_message_batch(QueueUrl=queue_url, Entries=[{"Id": i, "MessageBody": "x"} for i in ids])

    errors = sqs.exceptions
    prefix = "AWS.SimpleQueueService"
    for ids, kind, code in [
        ([], errors.EmptyBatchRequest, f"{prefix}.EmptyBatchRequest"),
        ([f"m{i}" for i in range(11)], errors.TooManyEntriesInBatchRequest, f"{prefix}.TooManyEntriesInBatchRequest"),
        (["a", "b", "a"], errors.BatchEntryIdsNotDistinct, f"{prefix}.BatchEntryIdsNotDistinct"),
        (["a", "no spaces"], errors.InvalidBatchEntryId, f"{prefix}.InvalidBatchEntryId"),
    ]:
        with pytest.raises(kind) as raised:
            send(*ids)
        assert raised.value.response["Error"]["Code"] == code
    assert counts(sqs, queue_url) == (0, 0, 0)

    with pytest.raises(errors.EmptyBatchRequest):
        sqs.delete_message_batch(QueueUrl=queue_url, Entries=[])
    with pytest.raises(errors.EmptyBatchRequest):
        sqs.change_message_visibility_batch(QueueUrl=queue_url, Entries=[])


def test_batch_too_long(sqs, queue_url):
    entries = [{"Id": "a", "MessageBody": "x" * 600_000}, {"Id": "b", "MessageBody": "y" * 448_577}]
    with pytest.raises(sqs.exceptions.BatchRequestTooLong) as raised:
        sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
    assert raised.value.response["Error"]["Message"] == (
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
    )
    entries[1]["MessageBody"] = "y" * 448_576
    assert len(sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)["Successful"]) == 2


def test_one_entry_over_the_queue_limit(sqs, queue_url):
    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"MaximumMessageSize": "1024"})
    entries = [{"Id": "big", "MessageBody": "x" * 1025}, {"Id": "fits", "MessageBody": "x" * 1024}]
    answer = sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
    assert [entry["Id"] for entry in answer["Successful"]] == ["fits"]
    (failed,) = answer["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("big", "InvalidParameterValue", True)
    with pytest.raises(ClientError):
        sqs.send_message(QueueUrl=queue_url, MessageBody="x" * 1025)
