"""Where a claimed partition is begun, and positions committed beside the log of claims."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.marshal.offset_commits import OffsetCommits
from kgroup.backends.marshal.start_positions import Recall, StartPositions
from kgroup.codes import ErrorCode
from kgroup.errors import CommitFailedError, GroupError, NoOffsetError, OffsetOutOfRangeError
from kgroup.marshal.events import (
    CommitOffsets,
    FindPosition,
    OffsetsCommitted,
    PositionFailed,
    PositionFound,
)
from kgroup.offsets.reset import ResetPolicy, ResetRule, Since
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.wire.messages import ListOffsetsRequest, OffsetCommitRequest, OffsetFetchRequest
from kgroup.wire.records import NewRecord, encode_batch
from tests.consumer.marshal.stage import KEY, committed, coordinated, running

pytestmark = pytest.mark.anyio

EARLIEST, LATEST, NONE = ResetPolicy.EARLIEST, ResetPolicy.LATEST, ResetPolicy.NONE
OTHER = TopicPartition("t", 1)


def filled(begin: int = 10, end: int = 30) -> InProcessBroker:
    """Return a cluster whose partition holds these offsets, one a minute."""
    return fill_key(coordinated(t=2), begin, end)


def fill_key(broker: InProcessBroker, begin: int, end: int) -> InProcessBroker:
    log = broker.partition(*KEY)
    for number in range(end):
        log.append(b"x", timestamp=int(WALL_AT_START - 60 * (end - number)) * 1000)
    log.delete_before(begin)
    return broker


async def found(
    broker: InProcessBroker,
    known: int | None,
    reset: ResetRule = EARLIEST,
    *,
    furthest: bool = False,
    committed: int | None = None,
    recall: Recall | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> int | Exception:
    async with running(broker) as cluster, anyio.create_task_group() as tasks:
        search = CoordinatorSearch(cluster, "g", timeout=5.0, pause=0.1)
        if committed is not None:
            commits = OffsetCommits(cluster, "g", search, lambda _: None)
            tasks.start_soon(commits.run)
            commits.commit(CommitOffsets(1, {KEY: committed}, 30.0))
            await anyio.sleep(1.0)
        positions = StartPositions(cluster, "g", search, reset, isolation=isolation, recall=recall)
        asked = FindPosition(5, KEY, known, furthest)
        (answer,) = await positions.find([asked], timeout=20.0)
        tasks.cancel_scope.cancel()
    assert answer.ticket == 5
    return answer.offset if isinstance(answer, PositionFound) else answer.error


async def test_the_position_in_the_log_counts_before_the_commit() -> None:
    broker = filled()
    assert await found(broker, 20, committed=25) == 20
    assert broker.requests_of(OffsetFetchRequest) == []


async def test_at_most_once_the_further_of_both_counts() -> None:
    assert await found(filled(), 20, furthest=True, committed=25) == 25
    assert await found(filled(), 25, furthest=True, committed=20) == 25
    assert await found(filled(), 25, furthest=True) == 25


async def test_without_a_word_in_the_log_what_is_committed_counts() -> None:
    assert await found(filled(), None, committed=25) == 25


async def test_offset_0_is_a_position() -> None:
    broker = filled(begin=0)
    assert await found(broker, 0, LATEST, committed=25) == 0


@pytest.mark.parametrize(
    ("reset", "offset"), [(EARLIEST, 10), (LATEST, 30), (Since(300.5), 25), (Since(0.5), 30)]
)
async def test_without_any_position_the_policy_names_one(reset: ResetRule, offset: int) -> None:
    assert await found(filled(), None, reset) == offset


async def test_without_any_position_the_policy_none_is_an_error() -> None:
    assert isinstance(await found(filled(), None, NONE), NoOffsetError)


@pytest.mark.parametrize("reset", [EARLIEST, LATEST, Since(60.0)])
async def test_a_position_below_the_beginning_is_raised_to_it(reset: ResetRule) -> None:
    assert await found(filled(), 3, reset) == 10
    assert await found(filled(), None, reset, committed=3) == 10


@pytest.mark.parametrize(("reset", "offset"), [(EARLIEST, 10), (LATEST, 30)])
async def test_a_position_beyond_the_end_is_replaced_by_the_policys(
    reset: ResetRule, offset: int
) -> None:
    assert await found(filled(), 31, reset) == offset
    assert await found(filled(), 2**63 - 1, reset) == offset


@pytest.mark.parametrize("known", [3, 31])
async def test_a_position_outside_the_log_is_an_error_under_the_policy_none(known: int) -> None:
    assert isinstance(await found(filled(), known, NONE), OffsetOutOfRangeError)


@pytest.mark.parametrize("reset", [EARLIEST, LATEST, Since(300.0)])
async def test_at_most_once_a_position_beyond_the_end_is_lowered_to_it(reset: ResetRule) -> None:
    assert await found(filled(), 31, reset, furthest=True) == 30
    assert await found(filled(), 20, reset, furthest=True, committed=99) == 30
    assert await found(filled(), 3, reset, furthest=True) == 10
    assert isinstance(await found(filled(), 31, NONE, furthest=True), OffsetOutOfRangeError)


async def test_at_most_once_a_topic_that_was_seen_made_anew_is_begun_by_the_policy() -> None:
    broker = filled()
    async with running(broker) as cluster:
        cluster.watch(frozenset({"t"}))
        await cluster.refresh(10.0)
        search = CoordinatorSearch(cluster, "g", timeout=5.0, pause=0.1)
        positions = StartPositions(cluster, "g", search, EARLIEST)
        asked = [FindPosition(5, KEY, 30, furthest=True)]
        assert await positions.find(asked, timeout=20.0) == (PositionFound(5, 30),)
        broker.delete_topic("t")
        broker.create_topic("t", 2)
        fill_key(broker, 2, 8)
        await cluster.refresh(10.0)
        assert await positions.find(asked, timeout=20.0) == (PositionFound(5, 2),)
        assert await positions.find(asked, timeout=20.0) == (PositionFound(5, 8),)


@pytest.mark.parametrize("furthest", [False, True])
@pytest.mark.parametrize("reset", [EARLIEST, LATEST, NONE])
async def test_a_position_in_an_open_transaction_is_a_position(
    reset: ResetRule, furthest: bool
) -> None:
    broker = filled()
    with_open_transaction(broker)
    committed = IsolationLevel.READ_COMMITTED
    assert await found(broker, 32, reset, furthest=furthest, isolation=committed) == 32
    assert await found(broker, 31, reset, furthest=furthest, isolation=committed) == 31


@pytest.mark.parametrize("reset", [LATEST, Since(0.5)])
async def test_the_policy_begins_read_committed_before_an_open_transaction(
    reset: ResetRule,
) -> None:
    broker = filled()
    with_open_transaction(broker)
    assert await found(broker, None, reset, isolation=IsolationLevel.READ_COMMITTED) == 30
    assert await found(broker, None, reset) == 32


def with_open_transaction(broker: InProcessBroker) -> None:
    """Write two records at the end of the log whose transaction never ends."""
    stamp = int(WALL_AT_START - 3600) * 1000
    records = [NewRecord(None, b"x", (), stamp)] * 2
    with broker.changing() as core:
        partition = core.cluster.partition(KEY)
        assert partition is not None
        batch = encode_batch(
            records, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
        )
        partition.log.append(batch, epoch=partition.epoch, now_ms=stamp)


async def test_a_commit_read_after_the_end_was_asked_for_is_no_position_outside_the_log() -> None:
    broker = filled(end=30)
    broker.answers.error(OffsetFetchRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=1)

    async def read_on() -> None:
        await broker.until(lambda: broker.requests_of(ListOffsetsRequest))
        for _ in range(10):
            broker.partition(*KEY).append(b"x")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_on)
        assert await found(broker, None, committed=35) == 35
    assert len(broker.requests_of(OffsetFetchRequest)) == 2


async def test_the_end_itself_is_a_position() -> None:
    assert await found(filled(), 30, NONE) == 30


async def test_an_unanswered_question_fails_in_time() -> None:
    broker = filled()
    broker.answers.ignore(ListOffsetsRequest, times=None)
    assert isinstance(await found(broker, 20), TimeoutError)


async def test_an_error_is_not_nothing_committed() -> None:
    broker = filled()
    broker.answers.error(OffsetFetchRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=None)
    assert isinstance(await found(broker, None), TimeoutError)


async def test_at_most_once_the_log_before_the_window_counts_beside_the_commit() -> None:
    asked: list[TopicPartition] = []

    async def recall(tp: TopicPartition, timeout: float) -> int | None:
        asked.append(tp)
        return 22

    assert await found(filled(), None, furthest=True, recall=recall) == 22
    assert await found(filled(), None, furthest=True, committed=20, recall=recall) == 22
    assert await found(filled(), None, furthest=True, committed=25, recall=recall) == 25
    assert len(asked) == 3
    assert await found(filled(), 15, furthest=True, recall=recall) == 15
    assert len(asked) == 3


@pytest.mark.parametrize("reset", [EARLIEST, LATEST, NONE])
async def test_at_least_once_the_log_before_the_window_counts_where_nothing_is_committed(
    reset: ResetRule,
) -> None:
    asked: list[TopicPartition] = []

    async def recall(tp: TopicPartition, timeout: float) -> int | None:
        asked.append(tp)
        return 22

    assert await found(filled(), None, reset, recall=recall) == 22
    assert len(asked) == 1
    assert await found(filled(), None, reset, committed=20, recall=recall) == 20
    assert await found(filled(), 15, reset, recall=recall) == 15
    assert len(asked) == 1


@pytest.mark.parametrize("furthest", [False, True])
async def test_a_log_that_cannot_be_recalled_in_time_is_no_log_that_says_nothing(
    furthest: bool,
) -> None:
    async def recall(tp: TopicPartition, timeout: float) -> int | None:
        raise TimeoutError("not in time")

    assert isinstance(await found(filled(), None, furthest=furthest, recall=recall), TimeoutError)


# -- commits -----------------------------------------------------------------------------------


@asynccontextmanager
async def committing(
    broker: InProcessBroker,
) -> AsyncIterator[tuple[OffsetCommits, list[OffsetsCommitted]]]:
    async with running(broker) as cluster, anyio.create_task_group() as tasks:
        answers: list[OffsetsCommitted] = []
        search = CoordinatorSearch(cluster, "g", timeout=5.0, pause=0.1)
        commits = OffsetCommits(cluster, "g", search, answers.append)
        await tasks.start(commits.run)
        yield commits, answers
        tasks.cancel_scope.cancel()


async def test_positions_are_committed_without_a_member_id() -> None:
    broker = coordinated(t=2)
    async with committing(broker) as (commits, answers):
        commits.commit(CommitOffsets(1, {KEY: 7, OTHER: 8}, 30.0))
        await anyio.sleep(1.0)
    assert answers == [OffsetsCommitted(1)]
    assert (committed(broker), committed(broker, OTHER)) == (7, 8)
    (request,) = broker.requests_of(OffsetCommitRequest)
    assert (request.generation_id_or_member_epoch, request.member_id) == (-1, "")


async def test_the_newest_waiting_position_is_sent_and_answers_all() -> None:
    broker = coordinated(t=2)
    broker.node(1).slow(1.0)
    async with committing(broker) as (commits, answers):
        for number in range(1, 20):
            commits.commit(CommitOffsets(number, {KEY: number * 10}, 60.0))
            await anyio.sleep(0.2)
        await anyio.sleep(30.0)
    assert sorted(each.ticket for each in answers) == [*range(1, 20)]
    assert all(each.error is None for each in answers)
    sent = [
        row.committed_offset
        for request in broker.requests_of(OffsetCommitRequest)
        for topic in request.topics
        for row in topic.partitions
    ]
    assert sent == sorted(sent)
    assert len(sent) < 10
    assert committed(broker) == 190


async def test_a_lost_answer_is_asked_for_again_and_never_moves_a_position_back() -> None:
    broker = coordinated(t=2)
    broker.answers.lose(OffsetCommitRequest, times=1)
    async with committing(broker) as (commits, answers):
        commits.commit(CommitOffsets(1, {KEY: 10}, 100.0))
        await anyio.sleep(1.0)
        commits.commit(CommitOffsets(2, {KEY: 20}, 100.0))
        await anyio.sleep(90.0)
    assert [(each.ticket, each.error) for each in answers] == [(1, None), (2, None)]
    assert committed(broker) == 20


async def test_a_native_group_under_the_same_id_is_named() -> None:
    broker = coordinated(t=2)
    broker.answers.error(OffsetCommitRequest, ErrorCode.UNKNOWN_MEMBER_ID, times=None)
    async with committing(broker) as (commits, answers):
        commits.commit(CommitOffsets(1, {KEY: 10}, 10.0))
        await anyio.sleep(1.0)
    (answer,) = answers
    assert isinstance(answer.error, GroupError)
    assert answer.error.code == ErrorCode.UNKNOWN_MEMBER_ID
    assert "a native group is active under this id" in str(answer.error)


async def test_a_commit_that_is_always_refused_fails_at_its_deadline() -> None:
    broker = coordinated(t=2)
    rule = broker.answers.error(
        OffsetCommitRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=None
    )
    async with committing(broker) as (commits, answers):
        commits.commit(CommitOffsets(1, {KEY: 10}, 10.0))
        await anyio.sleep(9.0)
        assert answers == []
        await anyio.sleep(5.0)
        (answer,) = answers
        assert isinstance(answer.error, CommitFailedError)
        rule.cancel()
        commits.commit(CommitOffsets(2, {KEY: 20}, 10.0))
        await anyio.sleep(5.0)
    assert answers[1:] == [OffsetsCommitted(2)]


async def test_a_commit_of_nothing_is_done() -> None:
    async with committing(coordinated()) as (commits, answers):
        commits.commit(CommitOffsets(1, {}, 10.0))
        assert answers == [OffsetsCommitted(1)]


async def test_positions_of_many_partitions_are_asked_for_at_once() -> None:
    broker = filled()
    async with running(broker) as cluster:
        search = CoordinatorSearch(cluster, "g", timeout=5.0, pause=0.1)
        positions = StartPositions(cluster, "g", search, EARLIEST)
        asked = [
            FindPosition(5, KEY, None, furthest=False),
            FindPosition(6, OTHER, None, furthest=False),
        ]
        answers = await positions.find(asked, timeout=20.0)
    assert answers == (PositionFound(5, 10), PositionFound(6, 0))
    assert len(broker.requests_of(OffsetFetchRequest)) == 1
    assert len(broker.requests_of(ListOffsetsRequest)) == 2  # where logs begin, and where they end


async def test_a_partition_without_a_position_keeps_no_other_from_its_own() -> None:
    broker = filled()
    async with running(broker) as cluster:
        search = CoordinatorSearch(cluster, "g", timeout=5.0, pause=0.1)
        positions = StartPositions(cluster, "g", search, NONE)
        asked = [
            FindPosition(5, KEY, None, furthest=False),
            FindPosition(6, OTHER, 0, furthest=False),
        ]
        lacking, good = await positions.find(asked, timeout=20.0)
    assert isinstance(lacking, PositionFailed)
    assert isinstance(lacking.error, NoOffsetError)
    assert good == PositionFound(6, 0)
