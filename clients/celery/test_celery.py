import json
import os
import signal
import subprocess
import sys
import time
import uuid

import boto3
import kombu
import pytest

import tidegate

WORKER_TIMEOUT_S = 60


@pytest.fixture(scope="session")
def endpoint():
    with tidegate.endpoint() as url:
        yield url


@pytest.fixture(scope="session")
def broker(endpoint):
    return endpoint.replace("http://", f"sqs://{tidegate.ACCOUNT}:secret@")


class Project:
    """One Celery application with a queue, a journal and workers of its own."""

    def __init__(self, endpoint, broker, folder, visibility_timeout_s):
        self.queue = f"celery-{uuid.uuid4().hex[:12]}"
        self.journal = folder / "journal"
        self.env = {
            **tidegate.client_env(endpoint),
            "SUITE_BROKER": broker,
            "SUITE_QUEUE": self.queue,
            "SUITE_JOURNAL": str(self.journal),
            "SUITE_VISIBILITY_TIMEOUT": str(visibility_timeout_s),
        }
        self.sqs = boto3.client(
            "sqs",
            endpoint_url=endpoint,
            region_name=tidegate.REGION,
            aws_access_key_id=tidegate.ACCOUNT,
            aws_secret_access_key="secret",
        )
        self.here = os.path.dirname(__file__)
        self.workers = []

    def start_worker(self):
        command = ["worker", "--concurrency=1", "--loglevel=INFO", "--without-gossip", "--without-mingle"]
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "--app=tasks", *command],
            cwd=self.here,
            env=self.env,
            start_new_session=True,
        )
        self.workers.append(worker)
        return worker

    def run(self, *code):
        """Runs client code in a process of its own, so that each project has its own application object."""
        script = "\n".join(["import tasks", *code])
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=self.here, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def entries(self):
        if not self.journal.exists():
            return []
        return [json.loads(line) for line in self.journal.read_text(encoding="utf-8").splitlines()]

    def wait_for_entries(self, count):
        self.wait(lambda: len(self.entries()) >= count, f"{count} journal entries")
        return self.entries()

    def wait_until_drained(self):
        self.wait(lambda: self.stored() == 0, "an empty queue")

    def stored(self):
        url = self.sqs.get_queue_url(QueueName=self.queue)["QueueUrl"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        return sum(int(value) for name, value in found.items() if name.startswith("ApproximateNumberOfMessages"))

    def wait(self, condition, what):
        deadline = time.monotonic() + WORKER_TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline, f"no {what} within {WORKER_TIMEOUT_S} s; journal: {self.entries()}"
            time.sleep(0.1)

    def stop(self, worker, signal_number):
        os.killpg(worker.pid, signal_number)
        worker.wait(WORKER_TIMEOUT_S)

    def close(self):
        for worker in self.workers:
            if worker.poll() is None:
                self.stop(worker, signal.SIGKILL)


@pytest.fixture
def project(endpoint, broker, tmp_path):
    project = Project(endpoint, broker, tmp_path, visibility_timeout_s=60)
    yield project
    project.close()


@pytest.fixture
def impatient_project(endpoint, broker, tmp_path):
    project = Project(endpoint, broker, tmp_path, visibility_timeout_s=5)
    yield project
    project.close()


def test_worker_executes_tasks(project):
    worker = project.start_worker()
    project.run(
        "for i in range(20): tasks.add.delay(i, 1000)",
        "tasks.add.delay('größer ', '漢字 <&>')",
        "tasks.fail_once.delay('again')",
    )
    entries = project.wait_for_entries(23)
    added = sorted(str(entry["result"]) for entry in entries if entry["task"] == "add")
    assert added == sorted([*(str(1000 + i) for i in range(20)), "größer 漢字 <&>"])
    assert [entry["retries"] for entry in entries if entry["task"] == "fail_once"] == [0, 1]
    project.wait_until_drained()
    worker.terminate()
    assert worker.wait(WORKER_TIMEOUT_S) == 0


def test_task_of_a_killed_worker_is_done_by_another(impatient_project):
    project = impatient_project
    task_id = project.run("print(tasks.hang_at_first.delay().id)")
    worker = project.start_worker()
    project.wait_for_entries(1)
    project.stop(worker, signal.SIGKILL)
    project.start_worker()
    entries = project.wait_for_entries(2)
    assert [entry["redelivered"] for entry in entries] == [False, True]
    assert {entry["id"] for entry in entries} == {task_id}
    project.wait_until_drained()


def test_celery_purges_its_queue(project):
    project.run("for i in range(3): tasks.add.delay(i, i)")
    assert project.stored() == 3
    project.run("tasks.app.control.purge()")
    assert project.stored() == 0


def test_kombu_simple_queue(project, broker):
    options = {"region": tidegate.REGION, "is_secure": False, "wait_time_seconds": 5}
    payload = {"text": "größer 漢字 <&>\r\n", "numbers": [1, 2.5, None]}
    with kombu.Connection(broker, transport_options=options) as connection:
        queue = connection.SimpleQueue(project.queue)
        queue.put(payload)
        message = queue.get(timeout=20)
        assert message.payload == payload
        assert project.stored() == 1
        message.ack()
        project.wait_until_drained()
        queue.close()
