"""Commits of a consumer that claims: into the log first, to the group coordinator beside it."""

from functools import partial

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import CommitFailedError, GroupError, NotOwnedError
from kgroup.marshal.messages import Kind
from kgroup.types import CommitOutcome
from kgroup.wire.messages import OffsetCommitRequest, ProduceRequest
from tests.consumer.ground import fill
from tests.consumer.marshal.claiming import LEASE, A, claiming, foreign, gives, kafka, said
from tests.contracts.application import until

pytestmark = pytest.mark.anyio

HEARTBEAT, RELEASE, CLAIM = Kind.HEARTBEAT, Kind.RELEASING_PARTITION, Kind.CLAIMING_PARTITION


async def test_a_commit_is_a_heartbeat_that_was_read_back() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 3)
        assert (await consumer.commit()).ok
        assert said(broker, A)[-1].words == (HEARTBEAT, 3)
        beside = lambda: broker.group("g").offsets[A].offset == 3  # noqa: E731
        await until(beside, 5.0, "it is committed beside")


async def test_a_commit_is_not_answered_before_it_was_read_back() -> None:
    """1. The heartbeat is written; 2. its answer and all reads are held; 3. nothing is answered."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 3)
        held = broker.answers.hold_request(ProduceRequest)
        async with anyio.create_task_group() as tasks:
            answers: list[CommitOutcome] = []

            async def commit() -> None:
                answers.append(await consumer.commit())

            tasks.start_soon(commit)
            await anyio.sleep(1.0)
            assert answers == []
            held.release()
            await until(lambda: answers, 5.0, "the commit is answered")
        assert answers[0].ok


async def test_records_after_a_lower_commit_have_a_higher_token() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        async for batch in consumer.batches():
            before = batch.token
            break
        await consumer.commit()
        await consumer.commit({A: 0})
        fill(broker, A, 1)
        async for batch in consumer.batches():
            assert before is not None
            assert batch.token is not None
            assert before.generation_id < batch.token.generation_id
            break


async def test_a_commit_of_records_that_were_taken_away_sends_nothing() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        record = await consumer.getone(timeout=30)
        foreign(broker).take(4)
        await until(lambda: not consumer.owns(A), 5.0, "it is lost")
        with pytest.raises(NotOwnedError):
            await consumer.commit(record)
        assert said(broker, A)[-1].words == (HEARTBEAT, 4)


async def test_a_commit_overtaken_by_a_takeover_fails() -> None:
    """1. The heartbeat of the commit is on its way; 2. somebody else has come to own the key."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 3)
        held = broker.answers.hold_request(ProduceRequest)
        foreign(broker).take(0)
        async with anyio.create_task_group() as tasks:

            async def commit() -> None:
                with pytest.raises(CommitFailedError) as caught:
                    await consumer.commit()
                assert set(caught.value.outcome.failed()) == {A}

            tasks.start_soon(commit)
            await anyio.sleep(1.0)
            held.release()


async def test_callbacks_of_commits_come_in_the_order_of_calls() -> None:
    broker = kafka()
    answers: list[tuple[int, bool]] = []
    async with claiming(broker) as consumer:
        await gives(consumer, 5)

        def answered(offset: int, outcome: CommitOutcome) -> None:
            answers.append((offset, outcome.ok))

        for offset in (1, 2, 5):
            consumer.commit_soon({A: offset}, partial(answered, offset))
        await until(lambda: len(answers) == 3, 10.0, "all are answered")
    assert answers == [(1, True), (2, True), (5, True)]


async def test_done_records_are_auto_committed() -> None:
    broker = kafka()
    async with claiming(broker, auto_commit_interval=1.0) as consumer:
        await gives(consumer, 3)
        await gives(consumer, 1)
        await until(lambda: said(broker, A)[-1].words == (HEARTBEAT, 3), 5.0, "it is in the log")


@pytest.mark.slow
async def test_undone_records_are_not_auto_committed() -> None:
    broker = kafka()
    async with claiming(broker, auto_commit_interval=1.0) as consumer:
        async for batch in consumer.batches():
            batch.done(4)
            await anyio.sleep(2 * LEASE)
            break
        assert max(each.message.tail for each in said(broker, A)) == 4


@pytest.mark.slow
async def test_a_native_group_of_the_same_id_is_raised_by_reads_and_costs_no_claim() -> None:
    """1. It claims; 2. a native group begins under its id: commits are refused with code 25;
    3. reads raise that while it lasts; 4. the claim, its heartbeats and its commits go on."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 2)
        refusal = broker.answers.error(OffsetCommitRequest, ErrorCode.UNKNOWN_MEMBER_ID, times=None)
        assert (await consumer.commit()).ok, "the log has it"
        await until(lambda: refusal.count, 5.0, "the coordinator refuses it")
        await anyio.sleep(0.1)
        with pytest.raises(GroupError, match="native group is active"):
            await consumer.getone(timeout=5)
        with pytest.raises(GroupError, match="native group is active"):
            await consumer.getmany(timeout=5)
        await anyio.sleep(3 * LEASE)
        assert consumer.owns(A)
        refusal.cancel()
        assert (await consumer.commit({A: 2})).ok
        await consumer.commit({A: 3})
        await anyio.sleep(LEASE)
        assert (await consumer.getone(timeout=5)).offset == 2
