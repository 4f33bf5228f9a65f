"""The event log of a claiming consumer has as much as that of any other."""

from functools import partial
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError, UnsupportedError
from kgroup.journal import (
    ClaimStep,
    CommitStage,
    CommitStep,
    Event,
    GenerationEntered,
    JoinIssued,
    KeyChanged,
    MemorySink,
)
from kgroup.marshal.messages import Kind
from kgroup.types import OffsetAndMetadata
from kgroup.wire.messages import ProduceRequest
from tests.consumer.entered import config_for
from tests.consumer.listening import Heard
from tests.consumer.marshal.claiming import A, claiming, foreign, gives, kafka, says
from tests.contracts.application import until

pytestmark = pytest.mark.anyio


def commits(sink: MemorySink) -> list[tuple[int, CommitStage, int]]:
    steps = (event for event in sink.events if isinstance(event, CommitStep))
    return [(each.commit_id, each.stage, each.offset) for each in steps]


def asked_for(sink: MemorySink, count: int) -> bool:
    return len(commits(sink)) == count


async def kinds_of_a_life(**options: Any) -> set[type[Event]]:
    """Return the kinds of events that a consumer writes that reads, seeks, commits and ends."""
    broker, sink = kafka(), MemorySink()
    config = config_for(broker, journal=sink, enable_auto_commit=False, **options)
    async with Consumer("t", config=config, listener=Heard()) as consumer:
        await gives(consumer, 3)
        consumer.pause(A)
        consumer.resume(A)
        await consumer.seek_to_beginning(A)
        await gives(consumer, 2)
        await consumer.commit()
    return {type(event) for event in sink.events}


async def test_claims_stand_in_it_instead_of_rounds_and_all_else_is_the_same() -> None:
    rounds = await kinds_of_a_life(group_id="rounds")
    claims = await kinds_of_a_life(group_id="claims", backend="marshal")
    assert rounds - claims == {GenerationEntered, JoinIssued}
    assert claims - rounds == {ClaimStep, KeyChanged}


async def test_a_commit_is_journalled_when_asked_for_and_when_read_back() -> None:
    sink = MemorySink()
    async with claiming(kafka(), journal=sink, enable_auto_commit=False) as consumer:
        for offset in (2, 4):
            await gives(consumer, 2)
            assert (await consumer.commit()).ok
            asked, answered = commits(sink)[-2:]
            assert asked[1:] == (CommitStage.REQUESTED, offset)
            assert answered == (asked[0], CommitStage.OK, offset)
    assert [number for number, _, _ in commits(sink)] == [1, 1, 2, 2]


async def test_commits_of_one_heartbeat_are_journalled_in_order() -> None:
    """1. The heartbeat of the first is held up; 2. five more are asked for; 3. one carries them."""
    broker, sink = kafka(), MemorySink()
    async with claiming(broker, journal=sink, enable_auto_commit=False) as consumer:
        await gives(consumer, 6)
        held = broker.answers.hold_request(ProduceRequest, where=says(Kind.HEARTBEAT, 1))
        async with anyio.create_task_group() as tasks:
            for count in range(1, 7):
                tasks.start_soon(consumer.commit, {A: OffsetAndMetadata(count)})
                await until(partial(asked_for, sink, count), 5.0, "it is asked for")
            held.release()
        answered = [offset for _, stage, offset in commits(sink) if stage is CommitStage.OK]
        assert answered == [1, 2, 3, 4, 5, 6]


async def test_a_commit_of_unknown_outcome_is_journalled_as_unknown() -> None:
    """1. Its heartbeat is held up; 2. somebody else takes the partition."""
    broker, sink = kafka(), MemorySink()
    async with claiming(broker, journal=sink, enable_auto_commit=False) as consumer:
        await gives(consumer, 4)
        held = broker.answers.hold_request(ProduceRequest, where=says(Kind.HEARTBEAT, 4))

        async def taken() -> None:
            await until(lambda: held.count, 5.0, "its heartbeat is on its way")
            foreign(broker).take(9)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(taken)
            with pytest.raises(CommitFailedError):
                await consumer.commit()
        held.release()
        assert [stage for _, stage, _ in commits(sink)] == [
            CommitStage.REQUESTED,
            CommitStage.UNKNOWN,
        ]


async def test_at_most_once_a_commit_that_is_refused_on_the_spot_was_not_asked_for() -> None:
    sink = MemorySink()
    more: dict[str, Any] = {"guarantee": "at_most_once", "at_most_once_records": 4}
    async with claiming(kafka(), journal=sink, **more) as consumer:
        await gives(consumer, 4)
        with pytest.raises(UnsupportedError):
            await consumer.commit({A: OffsetAndMetadata(2)})
    assert CommitStage.REQUESTED not in [stage for _, stage, _ in commits(sink)]
