"""A server with credentials: what the SDK signs is accepted, everything else refused with the SDK's own errors."""

import os
import urllib.error
import urllib.request

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.exceptions
import pytest

import tidegate

pytestmark = pytest.mark.skipif("TIDEGATE_ENDPOINT" in os.environ, reason="needs a server with credentials")

ACCESS_KEY = "AKIDSHOP"
SECRET_KEY = "shops+secret/with=signs"
CONFIG = f"""
[[credentials]]
access_key = "{ACCESS_KEY}"
secret_key = "{SECRET_KEY}"
account = "111122223333"
user = "shop"
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    config = tmp_path_factory.mktemp("config") / "tidegate.toml"
    config.write_text(CONFIG)
    with tidegate.endpoint({"TIDEGATE_CONFIG": str(config)}) as url:
        yield url


def client(url, access_key=ACCESS_KEY, secret_key=SECRET_KEY, token=None, region="us-east-1", **config):
    return boto3.client(
        "sqs",
        endpoint_url=url,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        aws_session_token=token,
        config=botocore.config.Config(retries={"total_max_attempts": 1}, **config),
    )


def test_signed_calls_work(guarded, name):
    for region in ("us-east-1", "eu-central-1"):
        sqs = client(guarded, region=region)
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        assert url.endswith(f"/111122223333/{name}")
        body = "grüße & more\n" * 100
        sqs.send_message(QueueUrl=url, MessageBody=body)
        [message] = sqs.receive_message(QueueUrl=url, AttributeNames=["All"])["Messages"]
        assert message["Body"] == body
        assert message["Attributes"]["SenderId"] == "shop"


@pytest.mark.parametrize(
    "credential, code",
    [
        ({"secret_key": "wrong"}, "SignatureDoesNotMatch"),
        ({"access_key": "AKIDNOBODY"}, "InvalidClientTokenId"),
        ({"token": "a session's"}, "InvalidClientTokenId"),
        ({"signature_version": botocore.UNSIGNED}, "AccessDenied"),
    ],
)
def test_others_are_refused(guarded, credential, code):
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        client(guarded, **credential).list_queues()
    assert refused.value.response["Error"]["Code"] == code
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def presigned(guarded, expires):
    request = botocore.awsrequest.AWSRequest("GET", f"{guarded}/?Action=ListQueues&QueueNamePrefix=a%20b")
    credentials = botocore.credentials.Credentials(ACCESS_KEY, SECRET_KEY)
    botocore.auth.SigV4QueryAuth(credentials, "sqs", "us-east-1", expires=expires).add_auth(request)
    return request.url


def test_presigned_urls_work(guarded):
    with urllib.request.urlopen(presigned(guarded, 60)) as answer:
        assert b"<ListQueuesResult" in answer.read()
    for bad in (presigned(guarded, 60).replace("a%20b", "a"), presigned(guarded, 604_801), f"{guarded}/"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(bad)
        assert refused.value.code in (400, 403)
