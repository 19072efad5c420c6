"""The Celery application under test. Its tasks leave their traces in a file, one JSON line each."""

import json
import os
import pathlib
import time

from celery import Celery

JOURNAL = pathlib.Path(os.environ["SUITE_JOURNAL"])

app = Celery("suite", broker=os.environ["SUITE_BROKER"])
app.conf.update(
    task_default_queue=os.environ["SUITE_QUEUE"],
    task_ignore_result=True,
    # One receive may take ten messages; with fewer the worker polls once a second for each.
    worker_prefetch_multiplier=10,
    broker_transport_options={
        "region": "us-east-1",
        "is_secure": False,
        "visibility_timeout": int(os.environ["SUITE_VISIBILITY_TIMEOUT"]),
        "wait_time_seconds": 5,
    },
)


def record(**entry):
    with JOURNAL.open("a", encoding="utf-8") as journal:
        journal.write(json.dumps(entry) + "\n")


@app.task
def add(a, b):
    record(task="add", result=a + b)


@app.task(bind=True, max_retries=2)
def fail_once(self, text):
    record(task="fail_once", text=text, retries=self.request.retries)
    if self.request.retries == 0:
        raise self.retry(countdown=1)


@app.task(bind=True, acks_late=True)
def hang_at_first(self):
    first = not JOURNAL.exists()
    record(task="hang_at_first", redelivered=not first, id=self.request.id)
    if first:
        time.sleep(120)
