"""What infrastructure tools rely on: every read right after a write shows just what was written."""

import json

import pytest

from test_dead_letters import arn

ROUNDS = 50
# Key order and white space of its own: a tool compares the meaning, and some compare the text.
POLICY = """{ "Version": "2012-10-17",
  "Statement": [{"Effect": "Allow", "Sid": "feed", "Principal": {"Service": "sns.amazonaws.com"},
     "Resource": "%s", "Action": "sqs:SendMessage"}] }"""
READ_ONLY = {
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "QueueArn",
}
DOCUMENTS = ("Policy", "RedrivePolicy", "RedriveAllowPolicy")
DEFAULTS = {
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
    "VisibilityTimeout": "30",
}
FIFO_DEFAULTS = {
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "FifoQueue": "true",
    "FifoThroughputLimit": "perQueue",
}


def read(sqs, url):
    """The settings of a queue as a tool keeps them in its state: documents by meaning, nothing that only counts."""
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert READ_ONLY <= set(found)
    return plan({name: value for name, value in found.items() if name not in READ_ONLY})


def plan(attributes):
    return {name: json.loads(value) if name in DOCUMENTS else value for name, value in attributes.items()}


def tags(sqs, url):
    return sqs.list_queue_tags(QueueUrl=url).get("Tags", {})


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_reads_show_what_was_written(sqs, name, fifo):
    suffix, own = (".fifo", {"FifoQueue": "true"}) if fifo else ("", {})
    defaults = {**DEFAULTS, **FIFO_DEFAULTS} if fifo else DEFAULTS
    dlq = sqs.create_queue(QueueName=f"{name}-dlq{suffix}", Attributes=own)["QueueUrl"]

    for i in range(ROUNDS):
        queue_name = f"{name}-{i}{suffix}"
        wanted = {
            **own,
            "DelaySeconds": str(i),
            "MaximumMessageSize": str(1024 + i),
            "MessageRetentionPeriod": str(60 + i),
            "ReceiveMessageWaitTimeSeconds": str(i % 21),
            "VisibilityTimeout": str(43200 - i),
            "SqsManagedSseEnabled": "false",
            "RedrivePolicy": json.dumps({"maxReceiveCount": 1 + i, "deadLetterTargetArn": arn(sqs, dlq)}),
            "RedriveAllowPolicy": json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [arn(sqs, dlq)]}),
        }
        if fifo:
            wanted |= {
                "ContentBasedDeduplication": "true",
                "DeduplicationScope": "messageGroup",
                "FifoThroughputLimit": "perMessageGroupId",
            }
        url = sqs.create_queue(QueueName=queue_name, Attributes=wanted, tags={"round": str(i), "empty": ""})["QueueUrl"]
        assert read(sqs, url) == {**defaults, **plan(wanted)}
        assert tags(sqs, url) == {"round": str(i), "empty": ""}
        assert sqs.get_queue_url(QueueName=queue_name)["QueueUrl"] == url
        # A second apply of the same configuration is no conflict.
        assert sqs.create_queue(QueueName=queue_name, Attributes=wanted)["QueueUrl"] == url

        changed = {"Policy": POLICY % arn(sqs, url), "VisibilityTimeout": str(i), "RedriveAllowPolicy": ""}
        sqs.set_queue_attributes(QueueUrl=url, Attributes=changed)
        wanted = {**wanted, **changed}
        del wanted["RedriveAllowPolicy"]
        assert read(sqs, url) == {**defaults, **plan(wanted)}
        assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"] == {
            "Policy": wanted["Policy"]
        }

        sqs.untag_queue(QueueUrl=url, TagKeys=["empty"])
        sqs.tag_queue(QueueUrl=url, Tags={"round": "", "Round": "x"})
        assert tags(sqs, url) == {"round": "", "Round": "x"}

        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": "", "RedrivePolicy": ""})
        assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy", "RedrivePolicy"])
        assert not set(read(sqs, url)) & set(DOCUMENTS)

        sqs.delete_queue(QueueUrl=url)
        for call in (sqs.get_queue_attributes, sqs.list_queue_tags, sqs.delete_queue):
            with pytest.raises(sqs.exceptions.QueueDoesNotExist) as raised:
                call(QueueUrl=url)
            assert raised.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"


def test_a_queue_without_settings_shows_the_defaults(sqs, name):
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    assert read(sqs, url) == DEFAULTS
    assert tags(sqs, url) == {}
