"""Many consumers on one FIFO queue: a group belongs to one receive at a time, and nothing is lost, doubled or overtaken."""

import collections
import concurrent.futures
import random
import threading
import time

THREADS = 20
GROUPS = [f"g{i}" for i in range(10)]
FIRST_MESSAGES = 200
MORE_MESSAGES = 50
DEADLINE_S = 60


class Ledger:
    """Who holds which group, and what was processed in which order."""

    def __init__(self):
        self.lock = threading.Lock()
        self.held = {}
        self.processed = collections.defaultdict(list)
        self.count = 0

    def take(self, messages):
        """Records one receive; none of its groups may be in flight already. Returns the messages by group."""
        groups = collections.defaultdict(list)
        for message in messages:
            groups[message["Attributes"]["MessageGroupId"]].append(message)
        with self.lock:
            for group, members in groups.items():
                assert group not in self.held, f"group {group} is in flight twice"
                self.held[group] = len(members)
        return groups

    def settle(self, group, body):
        """Has to come before the delete: the delete of the last message unlocks the group for others."""
        with self.lock:
            self.processed[group].append(body)
            self.count += 1
            self.held[group] -= 1
            if self.held[group] == 0:
                del self.held[group]


def send(sqs, url, numbers):
    """Sends the messages round robin over the groups, in batches that are in order."""
    numbers = list(numbers)
    for start in range(0, len(numbers), 10):
        entries = [
            {
                "Id": str(number),
                "MessageBody": str(number),
                "MessageGroupId": GROUPS[number % len(GROUPS)],
                "MessageDeduplicationId": str(number),
            }
            for number in numbers[start : start + 10]
        ]
        assert "Failed" not in sqs.send_message_batch(QueueUrl=url, Entries=entries)


def receive(sqs, url, wait=0):
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=3, WaitTimeSeconds=wait, AttributeNames=["MessageGroupId"]
    )
    return answer.get("Messages", [])


def test_twenty_consumers_share_ten_groups(sqs, create_fifo):
    url = create_fifo(VisibilityTimeout="120")
    total = FIRST_MESSAGES + MORE_MESSAGES
    ledger = Ledger()
    deadline = time.monotonic() + DEADLINE_S

    def consume(seed, messages):
        pause = random.Random(seed)
        while True:
            for group, members in ledger.take(messages).items():
                for message in members:
                    time.sleep(pause.uniform(0, 0.05))
                    ledger.settle(group, int(message["Body"]))
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            if ledger.count == total or time.monotonic() > deadline:
                return
            messages = receive(sqs, url, wait=1)

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:

        def receive_at_once():
            return [answer.result() for answer in [pool.submit(receive, sqs, url) for _ in range(THREADS)]]

        send(sqs, url, range(FIRST_MESSAGES))
        held = receive_at_once()
        owners = [group for messages in held for group in {m["Attributes"]["MessageGroupId"] for m in messages}]
        assert sorted(owners) == GROUPS, "each group belongs to one receive"
        assert sum(map(len, held)) == 3 * len(GROUPS)

        assert not any(receive_at_once()), "every group is in flight"
        send(sqs, url, range(FIRST_MESSAGES, total))
        assert not any(receive_at_once()), "new messages unlock no group"

        for consumer in [pool.submit(consume, seed, messages) for seed, messages in enumerate(held)]:
            consumer.result()

    assert ledger.processed == {group: list(range(i, total, len(GROUPS))) for i, group in enumerate(GROUPS)}
    assert receive(sqs, url) == []
