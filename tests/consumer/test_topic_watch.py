"""Topics that are missing or refused: what reads raise, what is logged, what recovers."""

import logging
from collections.abc import Sequence
from itertools import pairwise

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.types import TopicPartition
from tests.consumer.entered import A, B, Stage, by_hand, entered
from tests.consumer.shelf import Shelf

HIDDEN = TopicPartition("hidden", 0)
FORBIDDEN = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def shelf_with(code: int = FORBIDDEN, *, records: int = 6) -> Shelf:
    """Return brokers with records in A and in a topic that is refused."""
    shelf = Shelf(t=2, hidden=1)
    shelf.topics["hidden"].error = code
    shelf.fill(A, records)
    shelf.fill(HIDDEN, records)
    return shelf


async def outcomes(stage: Stage, reads: int) -> list[str]:
    """Return what each read brought: a topic's records, or the name of an error."""
    found = []
    for _ in range(reads):
        try:
            record = await stage.consumer.getone(timeout=1.0)
        except BrokerError as error:
            found.append(type(error).__name__)
        except TimeoutError:
            found.append("nothing")
        else:
            found.append(record.topic)
    return found


# -- refused topics ----------------------------------------------------------------------------


async def test_the_error_of_a_refused_topic_takes_turns_with_records_of_others() -> None:
    async with by_hand(shelf_with(), A, HIDDEN) as stage:
        await anyio.sleep(1.0)  # records of the other topic are there
        found = await outcomes(stage, 8)
        assert sorted(found) == ["UnauthorizedError"] * 4 + ["t"] * 4
        assert all(before != after for before, after in pairwise(found))


async def test_every_read_raises_it_while_nothing_else_is_there() -> None:
    async with by_hand(shelf_with(records=0), A, HIDDEN) as stage:
        await anyio.sleep(0.5)
        before = anyio.current_time()
        assert await outcomes(stage, 4) == ["UnauthorizedError"] * 4
        assert anyio.current_time() - before < 0.1


async def test_a_read_that_waits_hears_of_a_topic_that_becomes_refused() -> None:
    shelf = shelf_with(0, records=0)
    async with by_hand(shelf, A, HIDDEN, metadata_max_age=5.0) as stage:
        await stage.consumer.position(HIDDEN)
        shelf.topics["hidden"].error = FORBIDDEN
        with pytest.raises(UnauthorizedError):
            await stage.consumer.getone(timeout=7.0)
        assert anyio.current_time() < 7.0


async def test_a_read_about_other_partitions_does_not_hear_of_it() -> None:
    async with by_hand(shelf_with(), A, HIDDEN) as stage:
        assert (await stage.consumer.getone(A, timeout=1.0)).topic == "t"
        with pytest.raises(UnauthorizedError, match="hidden"):
            await stage.consumer.getone(HIDDEN, timeout=1.0)


async def test_a_topic_is_read_once_that_is_granted() -> None:
    shelf = shelf_with(records=3)
    async with by_hand(shelf, A, HIDDEN, metadata_max_age=3600.0) as stage:
        assert "UnauthorizedError" in await outcomes(stage, 2)
        shelf.topics["hidden"].error = 0
        await anyio.sleep(6.0)
        found = await outcomes(stage, 6)
        assert "UnauthorizedError" not in found
        assert found.count("hidden") == 3


async def test_a_name_that_cannot_be_a_topic_is_said_to_be_so() -> None:
    async with by_hand(shelf_with(ErrorCode.INVALID_TOPIC_EXCEPTION), HIDDEN) as stage:
        await anyio.sleep(0.5)
        with pytest.raises(BrokerError, match=r"INVALID_TOPIC_EXCEPTION.*hidden"):
            await stage.consumer.getmany(timeout=1.0)


async def test_several_refused_topics_are_all_heard_of() -> None:
    shelf = Shelf(t=1, one=1, two=1)
    for name in ("one", "two"):
        shelf.topics[name].error = FORBIDDEN
    async with by_hand(shelf, A, TopicPartition("one", 0), TopicPartition("two", 0)) as stage:
        await anyio.sleep(0.5)
        said: set[Sequence[str]] = set()
        for _ in range(2):
            with pytest.raises(UnauthorizedError) as caught:
                await stage.consumer.getone(timeout=1.0)
            said.add(caught.value.resources)
        assert said == {("one",), ("two",)}


async def test_a_topic_that_is_not_asked_for_any_more_is_not_heard_of() -> None:
    shelf = shelf_with()
    async with entered(shelf, topics="hidden") as stage:
        stage.group.cluster.watch(frozenset({"t", "hidden"}))
        await anyio.sleep(0.5)
        with pytest.raises(UnauthorizedError):
            await stage.consumer.getmany(timeout=1.0)
        stage.consumer.subscribe("t")
        assert await stage.consumer.getmany(timeout=1.0) == {}


# -- missing topics ----------------------------------------------------------------------------


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    mine = "kgroup.consumer.buffer.topic_watch"
    return [each.getMessage() for each in caplog.records if each.name == mine]


@pytest.mark.slow
async def test_a_missing_topic_is_logged_once_and_again_after_it_existed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    shelf = Shelf(t=1)
    late = TopicPartition("late", 0)
    async with by_hand(shelf, A, late, metadata_max_age=10.0):
        await anyio.sleep(4.0)
        assert warnings(caplog) == []
        await anyio.sleep(100.0)
        once = ["topic 'late' cannot be read: there is no such topic; it is waited for"]
        assert warnings(caplog) == once
        shelf.add_topic("late", 1)
        await anyio.sleep(30.0)
        shelf.delete_topic("late")
        await anyio.sleep(100.0)
        assert warnings(caplog) == once * 2


async def test_a_topic_that_is_made_in_time_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    shelf = Shelf()
    async with by_hand(shelf, A) as stage:
        await anyio.sleep(1.0)
        shelf.add_topic("t", 1)
        await stage.consumer.position(A, timeout=5.0)
        await anyio.sleep(20.0)
    assert warnings(caplog) == []


async def test_a_missing_partition_is_logged_and_read_when_it_exists(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    shelf = Shelf(t=1)
    async with by_hand(shelf, A, B) as stage:
        await anyio.sleep(20.0)
        (line,) = warnings(caplog)
        assert line.startswith("partition t-1 cannot be read: its topic has 1 partition(s)")
        shelf.add_partitions("t", 1)
        shelf.fill(B, 1)
        assert (await stage.consumer.getone(timeout=5.0)).partition == 1


# -- why there is no position ------------------------------------------------------------------


async def test_a_position_of_a_missing_topic_says_why_there_is_none() -> None:
    async with by_hand(Shelf(), A) as stage:
        with pytest.raises(TimeoutError, match=r"t-0: .* within 2 s: there is no such topic"):
            await stage.consumer.position(A, timeout=2.0)


async def test_a_position_of_a_missing_partition_says_how_many_there_are() -> None:
    async with by_hand(Shelf(t=1), B) as stage:
        with pytest.raises(TimeoutError, match=r"its topic has 1 partition\(s\)"):
            await stage.consumer.position(B, timeout=2.0)


async def test_a_position_without_a_leader_says_so() -> None:
    shelf = Shelf(t=1)
    shelf.topics["t"].partitions[0].leader = -1
    async with by_hand(shelf, A) as stage:
        with pytest.raises(TimeoutError, match="no reachable broker leads it"):
            await stage.consumer.position(A, timeout=2.0)


async def test_a_position_without_a_coordinator_says_so() -> None:
    shelf = Shelf(t=1)
    shelf.coordinator_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    async with by_hand(shelf, A) as stage:
        with pytest.raises(TimeoutError, match="coordinator of its group is not known"):
            await stage.consumer.position(A, timeout=2.0)


async def test_a_position_of_a_refused_topic_raises_unauthorized() -> None:
    async with by_hand(shelf_with(), HIDDEN) as stage:
        with pytest.raises(UnauthorizedError, match="hidden"):
            await stage.consumer.position(HIDDEN, timeout=2.0)
