import uuid

import boto3
import botocore
import botocore.config
import pytest

import tidegate


def pytest_report_header():
    return f"boto3 {boto3.__version__}, botocore {botocore.__version__}"


@pytest.fixture(scope="session")
def endpoint():
    with tidegate.endpoint() as url:
        yield url


@pytest.fixture(scope="session")
def sqs(endpoint):
    return make_client(endpoint)


def make_client(url):
    return boto3.client(
        "sqs",
        endpoint_url=url,
        region_name=tidegate.REGION,
        aws_access_key_id=tidegate.ACCOUNT,
        aws_secret_access_key="secret",
        # A retry would hide a server fault.
        config=botocore.config.Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture(scope="session")
def connect():
    return make_client


@pytest.fixture
def name():
    """A queue name that no other test, and no earlier run against the same server, has used."""
    return f"py-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def queue_url(sqs, name):
    return sqs.create_queue(QueueName=name)["QueueUrl"]


@pytest.fixture
def create_fifo(sqs, name):
    """Creates a FIFO queue with more attributes; `suffix` tells several queues of one test apart."""

    def create(suffix="", **attributes):
        attributes = {"FifoQueue": "true", **attributes}
        return sqs.create_queue(QueueName=f"{name}{suffix}.fifo", Attributes=attributes)["QueueUrl"]

    return create


@pytest.fixture
def fifo_url(create_fifo):
    return create_fifo()


@pytest.fixture(scope="session")
def protocol(sqs):
    return sqs.meta.service_model.metadata["protocol"]
