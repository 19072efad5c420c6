import json
import re
import time

import pytest
from botocore.exceptions import ClientError

import tidegate

FRESH_STANDARD_ATTRIBUTES = {
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
    "VisibilityTimeout": "30",
}


def attributes(sqs, url, *names):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names)).get("Attributes", {})


def test_create_is_idempotent(sqs, endpoint, name):
    url = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
    assert url == f"{endpoint}/{tidegate.ACCOUNT}/{name}"
    assert sqs.create_queue(QueueName=name)["QueueUrl"] == url
    assert sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"] == url
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url


def test_create_compares_with_the_current_values(sqs, name):
    url = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "2"})
    assert sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "2"})["QueueUrl"] == url
    with pytest.raises(sqs.exceptions.QueueNameExists) as raised:
        sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "1"})
    assert raised.value.response["Error"]["Code"] == "QueueAlreadyExists"
    assert raised.value.response["Error"]["Message"] == (
        "A queue already exists with the same name and a different value for attribute VisibilityTimeout"
    )


def test_list_by_prefix(sqs, name):
    urls = [sqs.create_queue(QueueName=f"{name}-{i}")["QueueUrl"] for i in range(5)]
    assert sqs.list_queues(QueueNamePrefix=f"{name}-")["QueueUrls"] == urls
    assert "NextToken" not in sqs.list_queues(QueueNamePrefix=f"{name}-")
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=f"{name}-none")
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=name.upper())


def test_list_by_pages(sqs, name):
    urls = [sqs.create_queue(QueueName=f"{name}-{i}")["QueueUrl"] for i in range(5)]

    first = sqs.list_queues(QueueNamePrefix=name, MaxResults=2)
    assert first["QueueUrls"] == urls[:2]
    second = sqs.list_queues(QueueNamePrefix=name, MaxResults=2, NextToken=first["NextToken"])
    assert second["QueueUrls"] == urls[2:4]
    third = sqs.list_queues(QueueNamePrefix=name, MaxResults=2, NextToken=second["NextToken"])
    assert third["QueueUrls"] == urls[4:]
    assert "NextToken" not in third

    pages = sqs.get_paginator("list_queues").paginate(QueueNamePrefix=name, PaginationConfig={"PageSize": 3})
    assert [page["QueueUrls"] for page in pages] == [urls[:3], urls[3:]]


def test_fresh_queue_has_exactly_the_documented_attributes(sqs, name, queue_url):
    found = attributes(sqs, queue_url, "All")
    created = int(found.pop("CreatedTimestamp"))
    assert abs(created - time.time()) < 60, "CreatedTimestamp is in seconds"
    assert int(found.pop("LastModifiedTimestamp")) >= created
    assert found.pop("QueueArn") == f"arn:aws:sqs:{tidegate.REGION}:{tidegate.ACCOUNT}:{name}"
    assert found == FRESH_STANDARD_ATTRIBUTES


def test_set_attributes_is_visible_at_once(sqs, queue_url):
    wanted = {
        "DelaySeconds": "3",
        "MaximumMessageSize": "2048",
        "MessageRetentionPeriod": "86400",
        "ReceiveMessageWaitTimeSeconds": "4",
        "VisibilityTimeout": "55",
    }
    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes=wanted)
    assert attributes(sqs, queue_url, *wanted) == wanted

    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"VisibilityTimeout": "56"})
    assert attributes(sqs, queue_url, *wanted) == {**wanted, "VisibilityTimeout": "56"}


def test_only_the_named_attributes_come_back(sqs, queue_url):
    assert attributes(sqs, queue_url, "DelaySeconds") == {"DelaySeconds": "0"}
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=queue_url)
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["Policy"])


def test_policy_is_kept_and_an_empty_one_removes_it(sqs, queue_url):
    arn = attributes(sqs, queue_url, "QueueArn")["QueueArn"]
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "é", "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn},
        ],
    }
    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"Policy": json.dumps(policy, indent=2)})
    assert json.loads(attributes(sqs, queue_url, "Policy")["Policy"]) == policy
    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"Policy": ""})
    assert attributes(sqs, queue_url, "Policy") == {}


def test_tags(sqs, name):
    url = sqs.create_queue(QueueName=name, tags={"team": "sea", "empty": ""})["QueueUrl"]

    def tags():
        return sqs.list_queue_tags(QueueUrl=url).get("Tags", {})

    assert tags() == {"team": "sea", "empty": ""}
    sqs.tag_queue(QueueUrl=url, Tags={"team": "land", "Team": "größer", "also-empty": ""})
    assert tags() == {"team": "land", "Team": "größer", "empty": "", "also-empty": ""}
    sqs.untag_queue(QueueUrl=url, TagKeys=["empty", "never-there"])
    assert tags() == {"team": "land", "Team": "größer", "also-empty": ""}
    sqs.untag_queue(QueueUrl=url, TagKeys=["team", "Team", "also-empty"])
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=url)


def test_delete_queue(sqs, name, queue_url):
    sqs.send_message(QueueUrl=queue_url, MessageBody="goes down with the queue")
    sqs.delete_queue(QueueUrl=queue_url)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.get_queue_url(QueueName=name)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.delete_queue(QueueUrl=queue_url)
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=name)


def test_deleted_name_has_to_rest(sqs, name, queue_url):
    sqs.delete_queue(QueueUrl=queue_url)
    with pytest.raises(sqs.exceptions.QueueDeletedRecently) as raised:
        sqs.create_queue(QueueName=name)
    assert raised.value.response["Error"]["Code"] == "AWS.SimpleQueueService.QueueDeletedRecently"


def test_deleted_name_is_free_at_once_without_the_guard(connect, name):
    with tidegate.endpoint(env={"TIDEGATE_STRICT_COOLDOWNS": "false"}) as url:
        sqs = connect(url)
        for _ in range(2):
            queue_url = sqs.create_queue(QueueName=name)["QueueUrl"]
            sqs.purge_queue(QueueUrl=queue_url)
            sqs.purge_queue(QueueUrl=queue_url)
            sqs.delete_queue(QueueUrl=queue_url)


def test_missing_queue_is_reported_by_every_action(sqs, endpoint, name, protocol):
    missing = f"{endpoint}/{tidegate.ACCOUNT}/{name}"
    calls = [
        lambda: sqs.get_queue_url(QueueName=name),
        lambda: sqs.send_message(QueueUrl=missing, MessageBody="x"),
        lambda: sqs.receive_message(QueueUrl=missing),
        lambda: sqs.delete_message(QueueUrl=missing, ReceiptHandle="x"),
        lambda: sqs.get_queue_attributes(QueueUrl=missing, AttributeNames=["All"]),
        lambda: sqs.set_queue_attributes(QueueUrl=missing, Attributes={"DelaySeconds": "1"}),
        lambda: sqs.list_queue_tags(QueueUrl=missing),
        lambda: sqs.purge_queue(QueueUrl=missing),
        lambda: sqs.delete_queue(QueueUrl=missing),
    ]
    for call in calls:
        with pytest.raises(sqs.exceptions.QueueDoesNotExist) as raised:
            call()
        response = raised.value.response
        assert response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
        assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
        assert response["Error"]["Message"] == {
            "json": "The specified queue does not exist.",
            "query": "The specified queue does not exist for this wsdl version.",
        }[protocol]


@pytest.mark.parametrize(
    "bad_name, code",
    [("with.dot", "InvalidParameterValue"), ("a/b", "InvalidParameterValue"), ("x" * 81, "InvalidParameterValue")],
)
def test_bad_queue_name(sqs, bad_name, code):
    with pytest.raises(ClientError) as raised:
        sqs.create_queue(QueueName=bad_name)
    assert raised.value.response["Error"]["Code"] == code


def test_attribute_errors(sqs, name, queue_url):
    with pytest.raises(sqs.exceptions.InvalidAttributeName) as raised:
        sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"Foobar": "1"})
    assert raised.value.response["Error"]["Message"] == "Unknown Attribute Foobar."
    with pytest.raises(sqs.exceptions.InvalidAttributeName):
        sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["Foobar"])
    with pytest.raises(sqs.exceptions.InvalidAttributeName):
        sqs.create_queue(QueueName=f"{name}-2", Attributes={"FifoQueue": "false"})
    for value in ("43201", "-1", " 6", "1.5", "x"):
        with pytest.raises(ClientError) as raised:
            sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"VisibilityTimeout": value})
        assert raised.value.response["Error"]["Code"] == "InvalidAttributeValue"
    assert attributes(sqs, queue_url, "VisibilityTimeout") == {"VisibilityTimeout": "30"}


def test_each_answer_has_a_request_id(sqs, queue_url):
    answer = sqs.list_queues(QueueNamePrefix="none")
    assert re.fullmatch(r"[0-9a-f-]{36}", answer["ResponseMetadata"]["RequestId"])
