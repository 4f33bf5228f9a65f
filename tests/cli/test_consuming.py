"""What `kgroup consume` reads, from where, and when it is over."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.cli.connecting import Common
from kgroup.cli.consume import Asked, nothing_between, wanted_by, wanted_of
from kgroup.cli.consuming import Plan
from kgroup.errors import ArgumentError, BrokerError, NoOffsetError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.log_places import FromEnd, Offset, Time
from kgroup.offsets.reset import ResetPolicy
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.messages import ListOffsetsRequest, ListOffsetsResponse
from tests.cli.stage import T0, T1, Kept, read, shelf_with
from tests.consumer.ground import ground
from tests.consumer.shelf import Shelf

NOW = 1_800_000_000.0


def numbers(*ranges: range) -> list[str]:
    """Return the values of records at offsets, in any order."""
    return sorted(str(offset) for each in ranges for offset in each)


# -- what the options mean -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "start", "stop"),
    [
        ({}, OffsetSpec.LATEST, None),
        ({"follow": False}, OffsetSpec.EARLIEST, OffsetSpec.LATEST),
        ({"max_records": 3}, OffsetSpec.EARLIEST, None),
        ({"start": "earliest"}, OffsetSpec.EARLIEST, None),
        ({"start": "-5", "follow": False}, FromEnd(5), OffsetSpec.LATEST),
        ({"until": "7"}, OffsetSpec.EARLIEST, Offset(7)),
        ({"until": "7", "follow": False, "start": "2"}, Offset(2), Offset(7)),
        ({"start": "10s"}, Time(1_799_999_990_000), None),
    ],
)
def test_without_a_start_a_run_begins_where_it_will_print_something(
    options: dict[str, Any], start: object, stop: object
) -> None:
    wanted = wanted_of(Asked(topics=["t"], **options), now=NOW)
    assert (wanted.start, wanted.stop) == (start, stop)


@pytest.mark.parametrize(
    "options", [{"group": "g", "partitions": [1]}, {"until": "latest", "follow": True}]
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"beside it|has no end"):
        wanted_of(Asked(topics=["t"], **options), now=NOW)


@pytest.mark.parametrize(
    ("start", "until"), [("20", "10"), ("1h", "2h"), ("-5", "-6"), ("1h", "2026-08-01T12:00Z")]
)
def test_an_end_before_the_beginning_is_refused_where_the_words_say_it(
    start: str, until: str
) -> None:
    with pytest.raises(ArgumentError, match=f"--until: got '{until}', .* behind --from {start}"):
        wanted_of(Asked(topics=["t"], start=start, until=until), now=NOW)


@pytest.mark.parametrize(
    ("start", "until"), [("10", "10"), ("10", "-5"), ("1h", "3"), ("latest", "earliest")]
)
def test_places_that_the_logs_must_tell_apart_are_taken(start: str, until: str) -> None:
    assert wanted_of(Asked(topics=["t"], start=start, until=until), now=NOW).stop is not None


def test_a_group_may_have_commits_before_both_places() -> None:
    assert wanted_of(Asked(topics=["t"], group="g", start="20", until="10"), now=NOW).stop


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": "latest", "until": "5"}, "between --from latest and --until 5"),
        ({"until": "2h"}, "between --from earliest and --until 2h"),
        ({"start": "5m", "follow": False}, "between --from 5m and --until latest"),
        ({"follow": False}, None),
        ({"start": "latest", "until": "5", "group": "g"}, None),
    ],
)
def test_nothing_between_two_places_is_said(options: dict[str, Any], said: str | None) -> None:
    empty = Plan({T0: 5, T1: 0}, {T0: 5, T1: 0})
    note = nothing_between(Asked(topics=["t"], **options), empty)
    assert note is None if said is None else said in (note or "")
    assert nothing_between(Asked(topics=["t"], **options), Plan({T0: 4}, {T0: 5})) is None
    assert nothing_between(Asked(topics=["t"], **options), Plan({T0: 4}, None)) is None


@pytest.mark.parametrize(
    ("options", "start", "reset"),
    [
        ({"group": "g"}, None, ResetPolicy.NONE),
        ({"group": "g", "start": "earliest"}, OffsetSpec.EARLIEST, ResetPolicy.EARLIEST),
        ({"group": "g", "start": "latest"}, OffsetSpec.LATEST, ResetPolicy.LATEST),
        ({}, OffsetSpec.LATEST, ResetPolicy.NONE),
    ],
)
def test_a_file_says_where_a_group_begins_unless_the_command_line_does(
    options: dict[str, Any], start: object, reset: ResetPolicy, tmp_path: Path
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("auto.offset.reset=none\nbootstrap.servers=b:1\n")
    common = Common(config=path)
    wanted, config = wanted_by(Asked(topics=["t"], **options), common, now=NOW)
    assert (wanted.start, config.fetching().reset_policy) == (start, reset)


# -- alone ---------------------------------------------------------------------------------


async def test_a_run_that_does_not_follow_ends_where_the_logs_ended_when_it_began() -> None:
    shelf, kept = shelf_with(25), Kept()
    assert await read(shelf, kept, stop=OffsetSpec.LATEST) == 50
    assert sorted(kept.lines) == numbers(range(25), range(25))


async def test_what_is_written_meanwhile_is_not_waited_for() -> None:
    shelf, kept = shelf_with(10), Kept()
    plain = shelf.list_offsets

    def growing(request: ListOffsetsRequest) -> ListOffsetsResponse:
        answer = plain(request)
        shelf.fill(T0, 10)
        return answer

    shelf.broker(1).on(ListOffsetsRequest, growing)
    await read(shelf, kept, partitions=frozenset({0}), stop=Offset(5))
    assert kept.lines == [str(n) for n in range(5)]


async def test_a_run_over_empty_logs_ends_at_once() -> None:
    assert await read(shelf_with(0), Kept(), stop=OffsetSpec.LATEST) == 0


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (FromEnd(3), OffsetSpec.LATEST, range(22, 25)),
        (FromEnd(100), Offset(4), range(4)),
        (Offset(10), Offset(12), range(10, 12)),
        (Offset(3), FromEnd(20), range(3, 5)),
        (Offset(20), Offset(10), range(0)),
        (OffsetSpec.LATEST, OffsetSpec.LATEST, range(0)),
    ],
)
async def test_a_run_goes_from_one_place_to_another(
    start: object, stop: object, expected: range
) -> None:
    kept = Kept()
    await read(shelf_with(25), kept, start=start, stop=stop)
    assert sorted(kept.lines) == numbers(expected, expected)


async def test_a_log_that_begins_late_is_read_from_its_beginning() -> None:
    shelf, kept = shelf_with(25, partitions=1), Kept()
    shelf.logs[T0].start = 20
    await read(shelf, kept, start=Offset(3), stop=OffsetSpec.LATEST)
    assert kept.lines == [str(n) for n in range(20, 25)]


async def test_no_more_records_than_asked_for_are_printed() -> None:
    kept = Kept()
    assert await read(shelf_with(25), kept, max_records=7) == 7
    assert len(kept.lines) == 7


async def test_only_the_partitions_named_are_read() -> None:
    shelf, kept = shelf_with(5), Kept()
    await read(shelf, kept, partitions=frozenset({1}), stop=OffsetSpec.LATEST)
    asked = {p.partition for f in shelf.fetches for topic in f.topics for p in topic.partitions}
    assert (len(kept.lines), asked) == (5, {1})


async def test_a_run_that_follows_prints_what_comes() -> None:
    shelf, kept = shelf_with(2), Kept()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: read(shelf, kept))
        await kept.has(4)
        shelf.logs[T1].append(b"later")
        await kept.has(5)
        tasks.cancel_scope.cancel()
    assert kept.lines[-1] == "later"


async def test_a_run_that_follows_reads_new_partitions_from_their_beginning() -> None:
    shelf, kept = shelf_with(1, partitions=1), Kept()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: read(shelf, kept))
        await kept.has(1)
        shelf.fill(T1, 3)
        shelf.add_partitions("t", 1)
        with anyio.fail_after(400):
            while len(kept.lines) < 4:
                await kept.came.wait()
        tasks.cancel_scope.cancel()
    assert kept.lines == ["0", "0", "1", "2"]


async def test_the_error_of_an_unknown_topic_has_the_nearest_name() -> None:
    shelf = Shelf(orders=1)
    with pytest.raises(BaseExceptionGroup) as caught:
        await read(shelf, Kept(), topics=("ordes",))
    (error,) = caught.value.exceptions
    assert isinstance(error, BrokerError)
    assert "there is no topic 'ordes'; did you mean 'orders'?" in str(error)


async def test_the_error_of_an_unknown_partition_lists_those_there_are() -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        await read(shelf_with(1), Kept(), partitions=frozenset({0, 7}))
    assert "t has partitions 0 to 1, not 7" in str(caught.value.exceptions[0])


# -- in a group ----------------------------------------------------------------------------


def committed(broker: InProcessBroker) -> dict[TopicPartition, int]:
    return {tp: each.offset for tp, each in broker.group("g").offsets.items()}


async def test_in_a_group_what_was_printed_is_committed() -> None:
    broker = ground(25, t=2)
    assert await read(broker, Kept(), group="g", stop=OffsetSpec.LATEST) == 50
    assert committed(broker) == {T0: 25, T1: 25}


async def test_in_a_group_a_run_that_ends_early_commits_no_more_than_its_end() -> None:
    broker, kept = ground(25, t=2), Kept()
    await read(broker, kept, group="g", stop=Offset(13))
    assert sorted(kept.lines) == numbers(range(13), range(13))
    assert committed(broker) == {T0: 13, T1: 13}


async def test_in_a_group_so_many_records_are_committed_as_were_printed() -> None:
    broker, kept = ground(25, t=2), Kept()
    await read(broker, kept, group="g", max_records=7)
    assert (len(kept.lines), sum(committed(broker).values())) == (7, 7)


async def test_in_a_group_a_second_run_goes_on_where_the_first_ended() -> None:
    broker, kept = ground(10, t=2), Kept()
    await read(broker, Kept(), group="g", stop=Offset(6))
    await read(broker, kept, group="g", start=Offset(2), stop=OffsetSpec.LATEST)
    assert sorted(kept.lines) == numbers(range(6, 10), range(6, 10))


async def test_in_a_group_the_start_is_for_partitions_without_a_commit() -> None:
    broker, kept = ground(10, t=2), Kept()
    await read(broker, kept, group="g", start=FromEnd(2), stop=OffsetSpec.LATEST)
    assert sorted(kept.lines) == numbers(range(8, 10), range(8, 10))


async def test_in_a_group_the_policy_of_the_file_is_for_partitions_without_a_commit() -> None:
    broker, kept = ground(10, t=2), Kept()
    with pytest.raises(BaseExceptionGroup) as caught:
        await read(broker, Kept(), group="g", reset="none", start=None)
    await read(broker, kept, group="g", start=None, stop=OffsetSpec.LATEST)
    assert committed(broker) == {T0: 10, T1: 10}
    assert caught.group_contains(NoOffsetError)
    assert sorted(kept.lines) == numbers(range(10), range(10))


async def test_a_run_that_is_cancelled_commits_what_it_printed_and_leaves() -> None:
    broker, kept = ground(10, t=2), Kept()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: read(broker, kept, group="g"))
        await kept.has(20)
        tasks.cancel_scope.cancel()
    assert committed(broker) == {T0: 10, T1: 10}
    assert broker.group("g").members == ()


async def test_what_a_broken_pipe_swallowed_is_not_committed() -> None:
    broker, kept = ground(10, t=2), Kept(breaks_after=10)
    with pytest.raises(BaseExceptionGroup) as caught:
        await read(broker, kept, group="g")
    assert caught.group_contains(BrokenPipeError)
    assert (len(kept.lines), sum(committed(broker).values())) == (10, 10)
