"""Terraform and its AWS provider: apply, a plan without a difference, a change, and destroy.

The provider waits about 25 s after every write of a queue, until it has read the same values six times.
"""

import json
import os
import pathlib
import shutil
import subprocess
import uuid

import boto3
import pytest
from botocore.exceptions import ClientError

import tidegate

NO_CHANGES, CHANGES = 0, 2
STEP_TIMEOUT_S = 300


class Terraform:
    def __init__(self, folder, endpoint):
        self.folder = folder
        self.prefix = f"tf-{uuid.uuid4().hex[:8]}"
        self.variables = {"endpoint": endpoint, "prefix": self.prefix}
        shutil.copy(pathlib.Path(__file__).with_name("main.tf"), folder)
        settings = folder / "terraform.rc"
        settings.write_text(installation(os.environ.get("TERRAFORM_PLUGINS")))
        self.env = {
            **tidegate.client_env(endpoint),
            "TF_CLI_CONFIG_FILE": str(settings),
            "TF_IN_AUTOMATION": "true",
            "CHECKPOINT_DISABLE": "true",
        }

    def __call__(self, command, *options, codes=(0,), **variables):
        given = {**self.variables, **variables}
        options = [*options, "-no-color", "-input=false"]
        if command != "init":
            options += [f"-var={name}={json.dumps(v) if isinstance(v, bool) else v}" for name, v in given.items()]
        done = subprocess.run(
            ["terraform", command, *options],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=STEP_TIMEOUT_S,
        )
        assert done.returncode in codes, f"{done.stdout}\n{done.stderr}"
        return done

    def differs(self, **variables):
        """Whether a plan would change anything."""
        return self("plan", "-detailed-exitcode", codes=(NO_CHANGES, CHANGES), **variables).returncode == CHANGES


def installation(mirror):
    """Where terraform finds its provider: in a folder laid out as a mirror, or in the public registry."""
    source = f"filesystem_mirror {{\n    path = {json.dumps(mirror)}\n  }}" if mirror else "direct {}"
    return f"provider_installation {{\n  {source}\n}}\n"


@pytest.fixture(scope="module")
def endpoint():
    with tidegate.endpoint() as url:
        yield url


@pytest.fixture(scope="module")
def sqs(endpoint):
    return boto3.client(
        "sqs",
        endpoint_url=endpoint,
        region_name=tidegate.REGION,
        aws_access_key_id=tidegate.ACCOUNT,
        aws_secret_access_key="secret",
    )


@pytest.fixture(scope="module")
def terraform(endpoint, tmp_path_factory):
    terraform = Terraform(tmp_path_factory.mktemp("terraform"), endpoint)
    terraform("init")
    return terraform


def url(terraform, endpoint, name):
    return f"{endpoint}/{tidegate.ACCOUNT}/{terraform.prefix}-{name}"


def attributes(sqs, queue):
    return sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]


def test_apply_change_destroy(terraform, endpoint, sqs):
    terraform("apply", "-auto-approve")
    orders = url(terraform, endpoint, "orders")
    found = attributes(sqs, orders)
    assert (found["VisibilityTimeout"], found["DelaySeconds"], found["MaximumMessageSize"]) == ("45", "5", "2048")
    assert found["SqsManagedSseEnabled"] == "false"
    assert json.loads(found["RedrivePolicy"])["maxReceiveCount"] == 4
    assert json.loads(found["Policy"])["Statement"][0]["Sid"] == "feed"
    assert sqs.list_queue_tags(QueueUrl=orders)["Tags"] == {"empty": "", "Team": "größer", "owner": "suite"}
    events = attributes(sqs, url(terraform, endpoint, "events.fifo"))
    assert (events["DeduplicationScope"], events["FifoThroughputLimit"]) == ("messageGroup", "perMessageGroupId")
    assert not terraform.differs()

    changed = {"visibility_timeout": 46, "guarded": False}
    terraform("apply", "-auto-approve", **changed)
    found = attributes(sqs, orders)
    assert found["VisibilityTimeout"] == "46"
    assert "Policy" not in found and "RedrivePolicy" not in found
    assert not terraform.differs(**changed)

    # A change behind its back is seen.
    sqs.set_queue_attributes(QueueUrl=orders, Attributes={"DelaySeconds": "6"})
    assert terraform.differs(**changed)

    terraform("destroy", "-auto-approve", **changed)
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=terraform.prefix)
    with pytest.raises(ClientError) as raised:
        attributes(sqs, orders)
    assert raised.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
