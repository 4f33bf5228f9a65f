"""Random troubles of fetching, and then every record, once.

Symptom: kafka-python issue 2575. No records came any more with fetch sessions, whose state was out
of step with the broker after an error.
Requirement: any fetch error or new assignment is survived. These brokers grant no sessions, so each
Fetch is whole (KIP-227: id 0, epoch 0); `test_fetch_sessions` has the same for brokers that do.
"""

import random
from collections import defaultdict

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.types import TopicPartition
from kgroup.wire.messages import FetchRequest, FetchResponse
from tests.consumer.entered import Stage, by_hand
from tests.consumer.shelf import Shelf
from tests.search.scripted.broker import Answer, Delayed, Lost

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PARTITIONS = 6
TPS = [TopicPartition("t", number) for number in range(PARTITIONS)]
PASSING = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
]


class Play:
    """Random steps of trouble, and the records read meanwhile."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.dice = random.Random(seed)
        self.read: dict[TopicPartition, list[int]] = defaultdict(list)
        self.assigned = set(TPS)
        for broker in stage.shelf.brokers:
            broker.on(FetchRequest, self.fetch)

    def fetch(self, request: FetchRequest) -> Answer:
        """Answer after a while, so that things happen while a Fetch is on its way."""
        answer = self.stage.shelf.fetch(request)
        if not isinstance(answer, FetchResponse):
            return answer
        return Delayed(answer, self.dice.choice([0.0, 0.1, 0.4]))

    async def step(self) -> None:
        trouble = self.dice.choice(
            [
                self.fail_some,
                self.hang_up,
                self.lose_an_answer,
                self.reassign,
                self.pause,
                self.write,
            ]
        )
        trouble()
        await anyio.sleep(self.dice.choice([0.0, 0.01, 0.2, 1.0]))
        await self.take()

    async def take(self) -> None:
        for tp, batch in (await self.stage.consumer.getmany(timeout=0.05)).items():
            self.read[tp] += [record.offset for record in batch]

    def fail_some(self) -> None:
        for tp in self.dice.sample(TPS, 2):
            self.stage.shelf.logs[tp].error = self.dice.choice(PASSING)

    def hang_up(self) -> None:
        self.dice.choice(self.stage.shelf.brokers).hang_up(reset=True)

    def lose_an_answer(self) -> None:
        self.dice.choice(self.stage.shelf.brokers).once(FetchRequest, Lost())

    def reassign(self) -> None:
        """Assign another set; a partition that comes back goes on at its last offset."""
        self.assigned = set(self.dice.sample(TPS, self.dice.randint(1, PARTITIONS)))
        self.stage.consumer.assign(self.assigned)
        for tp in self.assigned:
            self.stage.consumer.seek(tp, len(self.read[tp]))

    def pause(self) -> None:
        tps = self.dice.sample(sorted(self.assigned), 1)
        (self.stage.consumer.pause if self.dice.random() < 0.5 else self.stage.consumer.resume)(
            *tps
        )

    def write(self) -> None:
        self.stage.shelf.fill(self.dice.choice(TPS), self.dice.randint(1, 25))

    async def calm(self) -> None:
        """End all trouble, own everything, and read on."""
        for tp in TPS:
            self.stage.shelf.logs[tp].error = 0
            self.stage.shelf.fill(tp, 3)
        self.stage.consumer.assign(TPS)
        self.stage.consumer.resume(*TPS)
        for tp in set(TPS) - self.assigned:
            self.stage.consumer.seek(tp, len(self.read[tp]))
        for _ in range(20):
            await anyio.sleep(1.0)
            await self.take()


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
async def test_after_random_troubles_every_partition_has_delivered_every_record_once(
    seed: int,
) -> None:
    shelf = Shelf(2, t=PARTITIONS)
    for tp in TPS:
        shelf.fill(tp, 5)
    options = {"request_timeout": 2.0, "retry_backoff": 0.05, "retry_backoff_max": 0.2}
    async with by_hand(shelf, *TPS, max_poll_records=None, **options) as stage:
        play = Play(stage, seed)
        for _ in range(25):
            await play.step()
        await play.calm()
        assert play.read == {tp: list(range(shelf.logs[tp].end)) for tp in TPS}
    sessions = {(fetch.session_id, fetch.session_epoch) for fetch in shelf.fetches}
    assert sessions == {(0, 0)}
