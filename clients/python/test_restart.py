"""What FIFO queues must still know after a restart and after a crash."""

import os
import signal

import pytest
from botocore.exceptions import ClientError

import tidegate
from test_fifo import assert_refused, bodies, delete, receive_all, send
from test_messages import counts

pytestmark = pytest.mark.skipif("TIDEGATE_ENDPOINT" in os.environ, reason="restarts a server of its own")


@pytest.fixture(params=[signal.SIGTERM, signal.SIGKILL], ids=["restart", "crash"])
def run(request, tmp_path, connect):
    """Calls `before` and `after` with a client and the queue's URL, on two servers one after the other."""

    def run(before, after, **attributes):
        with tidegate.server(str(tmp_path), end=request.param) as url:
            sqs = connect(url)
            queue = sqs.create_queue(QueueName="q.fifo", Attributes={"FifoQueue": "true", **attributes})["QueueUrl"]
            kept = before(sqs, queue)
        with tidegate.server(str(tmp_path)) as url:
            sqs = connect(url)
            after(sqs, sqs.get_queue_url(QueueName="q.fifo")["QueueUrl"], kept)

    return run


def test_deduplication_ids_and_sequence_numbers_last(run):
    def before(sqs, url):
        sent = [send(sqs, url, f"m{i}", "g") for i in range(3)]
        delete(sqs, url, *receive_all(sqs, url, MaxNumberOfMessages=1))
        return sent

    def after(sqs, url, sent):
        # Of these the first was deleted and the second is still waiting.
        for i in range(2):
            again = send(sqs, url, "other body", "g", dedup=f"m{i}")
            assert (again["MessageId"], again["SequenceNumber"]) == (sent[i]["MessageId"], sent[i]["SequenceNumber"])
        fresh = send(sqs, url, "m3", "g")
        assert int(fresh["SequenceNumber"]) > max(int(message["SequenceNumber"]) for message in sent)
        messages = receive_all(sqs, url, AttributeNames=["SequenceNumber"])
        assert bodies(messages) == ["m1", "m2", "m3"]
        numbers = [message["Attributes"]["SequenceNumber"] for message in messages]
        assert numbers == [message["SequenceNumber"] for message in [*sent[1:], fresh]]

    run(before, after)


def test_a_group_in_flight_stays_locked(run):
    def before(sqs, url):
        for i in range(3):
            send(sqs, url, f"m{i}", "g")
        return receive_all(sqs, url, MaxNumberOfMessages=1, VisibilityTimeout=600)

    def after(sqs, url, held):
        assert counts(sqs, url) == (2, 1, 0)
        assert receive_all(sqs, url, WaitTimeSeconds=0) == []
        delete(sqs, url, *held)
        assert bodies(receive_all(sqs, url)) == ["m1", "m2"]

    run(before, after)


def test_expired_receipt_handle_stays_expired(run):
    def before(sqs, url):
        send(sqs, url, "x", "g")
        late = receive_all(sqs, url, VisibilityTimeout=1)
        again = receive_all(sqs, url, VisibilityTimeout=600, WaitTimeSeconds=10)
        return late, again

    def after(sqs, url, kept):
        late, again = kept
        with pytest.raises(ClientError) as raised:
            delete(sqs, url, *late)
        assert_refused(raised, "The receipt handle has expired.")
        delete(sqs, url, *again)
        assert counts(sqs, url) == (0, 0, 0)

    run(before, after)
