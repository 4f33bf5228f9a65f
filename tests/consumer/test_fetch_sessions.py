"""A consumer tells each broker what it wants once, and then what has changed (KIP-227)."""

import random
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.journal import AnswerReceived, MemorySink
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.messages import FetchRequest, FetchResponse
from kgroup.wire.schema import replace
from tests.consumer.entered import A, B, C, config_for
from tests.consumer.ground import fill

pytestmark = pytest.mark.anyio

Offsets = dict[int, int]


@dataclass
class Scene:
    """A consumer without a group, its cluster and its events."""

    broker: InProcessBroker
    consumer: Consumer[bytes | None, bytes | None]
    sink: MemorySink

    @property
    def fetches(self) -> list[FetchRequest]:
        return self.broker.requests_of(FetchRequest)

    async def read(self, count: int) -> list[tuple[TopicPartition, int]]:
        """Read some records; return where they stood."""
        records = [await self.consumer.getone(timeout=10.0) for _ in range(count)]
        return [(record.tp, record.offset) for record in records]

    def errors(self) -> list[int | None]:
        """Return the errors of answers as a whole."""
        events = [each for each in self.sink.events if isinstance(each, AnswerReceived)]
        return [each.error for each in events if each.api.name == "FETCH" and each.error]


@asynccontextmanager
async def reading(
    *tps: TopicPartition, broker: InProcessBroker | None = None, **options: Any
) -> AsyncIterator[Scene]:
    """Enter a consumer that has assigned partitions of `t`, all of them empty."""
    cluster = broker or InProcessBroker(topics={"t": 3})
    sink = MemorySink()
    config = config_for(cluster, group_id=None, journal=sink, **options)
    async with Consumer(config=config) as consumer:
        consumer.assign(tps)
        yield Scene(cluster, consumer, sink)


def listed(request: FetchRequest) -> Offsets:
    """Return partition -> offset, as one Fetch of topic `t` names them."""
    return {row.partition: row.fetch_offset for topic in request.topics for row in topic.partitions}


def left(request: FetchRequest) -> list[int]:
    """Return the partitions of `t` that leave the session."""
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]


def epochs(scene: Scene) -> list[int]:
    return [request.session_epoch for request in scene.fetches]


# -- what a Fetch lists ----------------------------------------------------------------------------


async def test_only_the_first_fetch_names_everything() -> None:
    async with reading(A, B, C) as scene:
        await anyio.sleep(3.0)
        first, *others = scene.fetches
        assert (first.session_id, first.session_epoch, listed(first)) == (0, 0, {0: 0, 1: 0, 2: 0})
        assert [each.session_epoch for each in others] == list(range(1, len(others) + 1))
        assert len({each.session_id for each in others}) == 1
        assert not any(listed(each) or left(each) for each in others)


async def test_a_partition_that_gave_records_is_named_with_its_next_offset() -> None:
    async with reading(A, B, C) as scene:
        await anyio.sleep(1.0)
        fill(scene.broker, B, 5)
        assert await scene.read(5) == [(B, offset) for offset in range(5)]
        await anyio.sleep(1.0)
        assert {1: 5} in [listed(each) for each in scene.fetches]
        assert all(set(listed(each)) <= {1} for each in scene.fetches[1:])


async def test_a_position_that_is_sought_is_named() -> None:
    broker = InProcessBroker(topics={"t": 3})
    fill(broker, A, 10)
    async with reading(A, B, broker=broker) as scene:
        await scene.read(10)
        await anyio.sleep(1.0)
        seen = len(scene.fetches)
        scene.consumer.seek(A, 4)
        assert await scene.read(1) == [(A, 4)]
        assert epochs(scene).count(0) == 1
        assert listed(next(each for each in scene.fetches[seen:] if listed(each))) == {0: 4}


async def test_what_is_paused_leaves_the_session_and_comes_back() -> None:
    async with reading(A, B) as scene:
        await anyio.sleep(1.0)
        scene.consumer.pause(A)
        await anyio.sleep(1.0)
        assert [left(each) for each in scene.fetches if left(each)] == [[0]]
        scene.consumer.resume(A)
        fill(scene.broker, A, 1)
        assert await scene.read(1) == [(A, 0)]
        assert epochs(scene).count(0) == 1


async def test_what_is_assigned_no_more_leaves_the_session_and_what_is_new_enters_it() -> None:
    async with reading(A, B) as scene:
        await anyio.sleep(1.0)
        scene.consumer.assign([B, C])
        fill(scene.broker, C, 1)
        assert await scene.read(1) == [(C, 0)]
        assert epochs(scene).count(0) == 1
        assert [left(each) for each in scene.fetches if left(each)] == [[0]]


async def test_silence_of_a_session_says_that_a_log_ends_where_it_did() -> None:
    async with reading(A, B) as scene:
        await anyio.sleep(1.0)
        before = scene.consumer.last_fetch_at(A)
        await anyio.sleep(10.0)
        after = scene.consumer.last_fetch_at(A)
        assert before is not None
        assert after is not None
        assert after - before == pytest.approx(10.0, abs=1.0)
        assert scene.consumer.highwater(A) == 0
        scene.consumer.pause(A)
        await anyio.sleep(10.0)
        assert scene.consumer.last_fetch_at(A) == pytest.approx(after, abs=1.0)


async def test_a_partition_assigned_anew_hears_where_its_log_ends() -> None:
    broker = InProcessBroker(topics={"t": 3})
    fill(broker, A, 3)
    async with reading(A, B, broker=broker) as scene:
        await scene.read(3)
        await anyio.sleep(1.0)
        scene.consumer.assign([B])
        scene.consumer.assign([A, B])
        scene.consumer.seek(A, 3)
        await anyio.sleep(1.0)
        assert scene.consumer.highwater(A) == 3


# -- brokers of several kinds ----------------------------------------------------------------------


async def test_a_broker_without_a_free_slot_gets_everything_each_time() -> None:
    settings = BrokerSettings(fetch_session_slots=0)
    broker = InProcessBroker(topics={"t": 3}, settings=settings)
    async with reading(A, B, broker=broker) as scene:
        await anyio.sleep(2.0)
        fill(scene.broker, B, 1)
        assert await scene.read(1) == [(B, 0)]
        assert {(each.session_id, each.session_epoch) for each in scene.fetches} == {(0, 0)}
        assert all(set(listed(each)) == {0, 1} for each in scene.fetches)


async def test_a_session_may_go_by_names() -> None:
    broker = InProcessBroker(topics={"t": 3}, release="2.8.2")
    async with reading(A, B, broker=broker) as scene:
        await anyio.sleep(1.0)
        fill(scene.broker, B, 1)
        assert await scene.read(1) == [(B, 0)]
        await anyio.sleep(1.0)
        assert epochs(scene).count(0) == 1
        assert scene.errors() == []


async def test_each_broker_has_a_session_of_its_own() -> None:
    broker = InProcessBroker(nodes=2, topics={"t": 3})
    async with reading(A, B, C, broker=broker) as scene:
        await anyio.sleep(3.0)
        assert epochs(scene).count(0) == 2
        assert len({each.session_id for each in scene.fetches} - {0}) == 2


# -- ends ------------------------------------------------------------------------------------------


def lose_sessions(broker: InProcessBroker) -> None:
    """Do what a broker does that needs the slots for others."""
    with broker.changing() as core:
        for cache in core.fetches.sessions.values():
            cache.sessions.clear()


def skip_an_epoch(broker: InProcessBroker) -> None:
    with broker.changing() as core:
        for session in core.fetches.sessions[1].sessions.values():
            session.epoch += 1


def change_names(broker: InProcessBroker) -> None:
    """Have the broker take sessions by ids for sessions by names."""
    with broker.changing() as core:
        for session in core.fetches.sessions[1].sessions.values():
            session.by_id = False


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (lose_sessions, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (skip_an_epoch, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (change_names, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
async def test_a_session_that_is_refused_is_begun_anew_at_once(
    trouble: Any, code: ErrorCode
) -> None:
    async with reading(A, B, retry_backoff=5.0, retry_backoff_max=5.0) as scene:
        await anyio.sleep(20.0)
        trouble(scene.broker)
        await anyio.sleep(1.0)
        assert code in scene.errors()
        fill(scene.broker, A, 1)
        began = anyio.current_time()
        assert await scene.read(1) == [(A, 0)]
        assert anyio.current_time() - began < 1.0
        assert epochs(scene).count(0) == 2


async def test_a_broker_that_refuses_even_full_fetches_is_left_alone_for_a_while() -> None:
    async with reading(A, retry_backoff=1.0, retry_backoff_max=1.0) as scene:
        await anyio.sleep(1.0)
        code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
        rule = scene.broker.answers.error(FetchRequest, code, times=None)
        before = len(scene.fetches)
        await anyio.sleep(10.0)
        assert 5 <= len(scene.fetches) - before <= 20
        rule.cancel()
        fill(scene.broker, A, 1)
        assert await scene.read(1) == [(A, 0)]


async def test_a_lost_connection_ends_the_session() -> None:
    async with reading(A, B) as scene:
        await anyio.sleep(1.0)
        before = scene.fetches[-1]
        scene.broker.node(1).disconnect()
        fill(scene.broker, B, 1)
        assert await scene.read(1) == [(B, 0)]
        anew = [each for each in scene.fetches[1:] if each.session_epoch == 0]
        assert [(each.session_id, set(listed(each))) for each in anew] == [
            (before.session_id, {0, 1})
        ]


async def test_a_broker_that_comes_back_has_no_sessions() -> None:
    async with reading(A, B) as scene:
        await anyio.sleep(1.0)
        scene.broker.node(1).kill()
        await anyio.sleep(1.0)
        scene.broker.node(1).start()
        fill(scene.broker, B, 1)
        assert await scene.read(1) == [(B, 0)]


async def test_an_answer_about_a_partition_that_is_not_in_the_session_ends_it() -> None:
    async with reading(A, B) as scene:
        await anyio.sleep(1.0)

        def strange(_request: FetchRequest, answer: FetchResponse) -> FetchResponse:
            rows = [
                replace(
                    topic, partitions=tuple(replace(p, partition_index=2) for p in topic.partitions)
                )
                for topic in answer.responses
            ]
            return replace(answer, responses=tuple(rows))

        scene.broker.answers.rewrite(FetchRequest, strange, where=lambda asked: not listed(asked))
        fill(scene.broker, A, 1)
        assert await scene.read(1) == [(A, 0)]
        assert epochs(scene).count(0) == 2


async def test_a_topic_that_is_made_anew_begins_a_new_session() -> None:
    broker = InProcessBroker(topics={"t": 3}, settings=BrokerSettings(auto_create_topics=False))
    fill(broker, A, 3)
    async with reading(A, broker=broker, metadata_max_age=1.0) as scene:
        await scene.read(3)
        scene.broker.delete_topic("t")
        await anyio.sleep(5.0)
        scene.broker.create_topic("t", 3)
        fill(scene.broker, A, 2)
        assert await scene.read(2) == [(A, 0), (A, 1)]


# -- all together ----------------------------------------------------------------------------------


class Play:
    """Random troubles, and what was read meanwhile."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self.scene = scene
        self.dice = random.Random(seed)
        self.read: dict[TopicPartition, list[int]] = defaultdict(list)
        self.assigned = {A, B, C}

    async def step(self) -> None:
        troubles = [
            lambda: lose_sessions(self.scene.broker),
            lambda: skip_an_epoch(self.scene.broker),
            lambda: change_names(self.scene.broker),
            lambda: self.scene.broker.node(self.dice.randint(1, 2)).disconnect(),
            lambda: self.scene.broker.answers.lose(FetchRequest),
            self.reassign,
            self.hold_back,
            self.write,
            self.write,
        ]
        self.dice.choice(troubles)()
        await anyio.sleep(self.dice.choice([0.0, 0.01, 0.2, 1.0]))
        await self.take()

    async def take(self) -> None:
        for tp, batch in (await self.scene.consumer.getmany(timeout=0.05)).items():
            self.read[tp] += [record.offset for record in batch]

    def reassign(self) -> None:
        """Assign another set; each goes on after its last record."""
        self.assigned = set(self.dice.sample([A, B, C], self.dice.randint(1, 3)))
        self.scene.consumer.assign(self.assigned)
        for tp in self.assigned:
            self.scene.consumer.seek(tp, len(self.read[tp]))

    def hold_back(self) -> None:
        tp = self.dice.choice(sorted(self.assigned))
        consumer = self.scene.consumer
        (consumer.pause if self.dice.random() < 0.5 else consumer.resume)(tp)

    def write(self) -> None:
        fill(self.scene.broker, self.dice.choice([A, B, C]), self.dice.randint(1, 25))

    async def calm(self) -> None:
        consumer = self.scene.consumer
        consumer.assign([A, B, C])
        consumer.resume(A, B, C)
        for tp in {A, B, C} - self.assigned:
            consumer.seek(tp, len(self.read[tp]))
        for _ in range(20):
            await anyio.sleep(1.0)
            await self.take()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_after_troubles_of_sessions_every_partition_has_delivered_every_record_once(
    seed: int,
) -> None:
    broker = InProcessBroker(nodes=2, topics={"t": 3})
    options = {"request_timeout": 2.0, "retry_backoff": 0.05, "retry_backoff_max": 0.2}
    async with reading(A, B, C, broker=broker, max_poll_records=None, **options) as scene:
        play = Play(scene, seed)
        for _ in range(40):
            await play.step()
        await play.calm()
        ends = {tp: broker.partition(*tp).end for tp in (A, B, C)}
        assert {tp: play.read[tp] for tp in ends} == {tp: [*range(end)] for tp, end in ends.items()}
        assert epochs(scene).count(0) > 3
        assert max(epochs(scene)) > 3
