"""How far a group is behind, as `kgroup lag` tells it."""

from typing import Any

import anyio
import pytest
from rich.console import Console

from kgroup.admin.groups import GroupLag, PartitionLag, group_lag
from kgroup.cli.lag import Asked, Look, lag_json, lag_table, watch
from kgroup.cli.marshal_hint import ClaimsOf
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.group_description import GroupDescription, GroupMember, GroupType
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.wire.consumer_protocol import MemberAssignment, encode_assignment
from kgroup.wire.messages import (
    ConsumerGroupDescribeDescribedGroup,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.cli.stage import T0, T1, on, shelf_with
from tests.consumer.shelf import Shelf

WATCHED = Asked(group="g", watch=True, interval=2.0)


def claims() -> ClaimsOf:
    """Return what knows which groups claim in a log; there is none."""
    return ClaimsOf("__marshal", 10)


def shelf_of_group(owned: tuple[TopicPartition, ...] = (T0, T1)) -> Shelf:
    """Return brokers with 10 records a partition and a group whose one member owns some."""
    shelf = shelf_with(10)
    found_on(shelf, owned)
    return shelf


def found_on(shelf: Shelf, owned: tuple[TopicPartition, ...] = (T0, T1)) -> None:
    """Have the coordinator know the group."""
    member = DescribedGroupMember(
        member_id="m",
        group_instance_id="till-7",
        client_id="c",
        client_host="/h",
        member_metadata=b"",
        member_assignment=encode_assignment(MemberAssignment(owned)),
    )
    row = DescribeGroupsDescribedGroup(
        group_id="g",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=(member,),
    )
    shelf.broker(1).on(DescribeGroupsRequest, DescribeGroupsResponse(groups=(row,)))
    committed(shelf, t={0: (4, 0)})


def committed(shelf: Shelf, **topics: dict[int, tuple[int, int]]) -> None:
    """Have the coordinator answer for topics: partition -> offset and error code."""
    rows = tuple(
        OffsetFetchResponseTopics(
            name=name,
            partitions=tuple(
                OffsetFetchResponsePartitions(
                    partition_index=number, committed_offset=offset, metadata="", error_code=code
                )
                for number, (offset, code) in found.items()
            ),
        )
        for name, found in topics.items()
    )
    group = OffsetFetchResponseGroup(group_id="g", topics=rows)
    shelf.broker(1).on(OffsetFetchRequest, OffsetFetchResponse(groups=(group,)))


async def test_commits_ends_and_owners_stand_side_by_side() -> None:
    async with on(shelf_of_group()) as cluster:
        found = await group_lag(cluster, "g", timeout=10)
    behind, untouched = found.partitions
    assert (behind.tp, behind.committed, behind.end, behind.lag) == (
        T0,
        OffsetAndMetadata(4),
        10,
        6,
    )
    assert behind.owner is not None
    assert behind.owner.group_instance_id == "till-7"
    assert (untouched.tp, untouched.committed, untouched.lag) == (T1, None, None)
    assert (found.total, found.unknown) == (6, 1)


async def test_a_commit_is_shown_though_nobody_owns_its_partition() -> None:
    async with on(shelf_of_group(owned=())) as cluster:
        (row,) = (await group_lag(cluster, "g", timeout=10)).partitions
    assert (row.tp, row.owner, row.lag) == (T0, None, 6)


async def test_a_topic_that_is_gone_says_so_at_once_and_hides_no_other() -> None:
    shelf = shelf_of_group()
    committed(shelf, t={0: (4, 0)}, gone={0: (1, 0)})
    async with on(shelf) as cluster:
        began = cluster.ports.clock()
        found = await group_lag(cluster, "g", timeout=10)
        assert cluster.ports.clock() - began < 1
    gone, *others = found.partitions
    assert isinstance(gone.error, BrokerError)
    assert gone.error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [row.error for row in others] == [None, None]


async def test_a_partition_without_a_leader_says_so_at_once_and_hides_no_other() -> None:
    shelf = shelf_of_group()
    shelf.topics["t"].partitions[0].leader = -1
    async with on(shelf) as cluster:
        first, second = (await group_lag(cluster, "g", timeout=10)).partitions
    assert isinstance(first.error, BrokerError)
    assert (first.error.code, first.lag) == (ErrorCode.LEADER_NOT_AVAILABLE, None)
    assert (second.error, second.end) == (None, 10)


async def test_a_commit_that_may_not_be_seen_hides_no_other() -> None:
    shelf = shelf_of_group()
    committed(shelf, t={0: (4, 0), 1: (-1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)})
    async with on(shelf) as cluster:
        first, second = (await group_lag(cluster, "g", timeout=10)).partitions
    assert (first.lag, first.error) == (6, None)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(second.error)


async def test_a_topic_that_is_named_is_shown_whole_and_alone() -> None:
    shelf = shelf_of_group(owned=())
    shelf.add_topic("other", 1)
    committed(shelf, t={0: (4, 0)}, other={0: (0, 0)})
    async with on(shelf) as cluster:
        found = await group_lag(cluster, "g", topics=["t"], timeout=10)
        assert [row.tp for row in found.partitions] == [T0, T1]
        with pytest.raises(BrokerError, match="did you mean 'other'"):
            await group_lag(cluster, "g", topics=["othe"], timeout=10)


async def test_a_look_without_watching_is_one_look() -> None:
    looks: list[Look] = []
    async with on(shelf_of_group()) as cluster:
        await watch(cluster, Asked(group="g"), looks.append, claims(), timeout=10)
    assert [look.found.total for look in looks] == [6]


class Enough(Exception):
    """The watcher has seen enough."""


async def test_watching_tells_how_fast_things_change() -> None:
    shelf, looks = shelf_of_group(), []

    def show(look: Look) -> None:
        looks.append(look)
        if len(looks) == 3:
            raise Enough
        shelf.fill(T0, 10)
        committed(shelf, t={0: (4 + 4 * len(looks), 0)})

    with pytest.raises(BaseExceptionGroup) as caught:
        async with on(shelf) as cluster:
            await watch(cluster, WATCHED, show, claims(), timeout=10)
    assert caught.group_contains(Enough)
    assert looks[0].rates(T0) is None
    assert [look.rates(T0) for look in looks[1:]] == [pytest.approx((5.0, 2.0))] * 2
    assert looks[2].rates(T1) is None


def take_away(shelf: Shelf) -> None:
    """Have the coordinator know no group."""
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    dead = DescribeGroupsDescribedGroup(
        error_code=missing,
        group_id="g",
        group_state="Dead",
        protocol_type="",
        protocol_data="",
        members=(),
    )
    row = ConsumerGroupDescribeDescribedGroup(
        error_code=missing,
        group_id="g",
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=(),
    )
    broker = shelf.broker(1)
    broker.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=(dead,)))
    broker.on(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse(groups=(row,)))
    broker.on(ListGroupsRequest, ListGroupsResponse(groups=()))


async def test_watching_waits_for_a_group_that_is_not_there_and_says_so_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shelf = shelf_with(10)
    looks: list[Look] = []
    take_away(shelf)

    def show(look: Look) -> None:
        looks.append(look)
        if len(looks) == 2:
            raise Enough
        take_away(shelf)

    async def come_twice() -> None:
        for _ in range(2):
            await anyio.sleep(7)
            found_on(shelf)

    async with on(shelf) as cluster, anyio.create_task_group() as tasks:
        tasks.start_soon(come_twice)
        with pytest.raises(Enough):
            await watch(cluster, WATCHED, show, claims(), timeout=10)
    assert [look.before for look in looks] == [None, None]
    printed = capsys.readouterr().err.splitlines()
    assert printed == ["there is no group 'g'; waiting for it"] * 2


async def test_a_look_without_watching_waits_for_no_group() -> None:
    shelf = shelf_with(10)
    take_away(shelf)
    looks: list[Look] = []
    async with on(shelf) as cluster:
        with pytest.raises(BrokerError, match="there is no group 'g'"):
            await watch(cluster, Asked(group="g"), looks.append, claims(), timeout=10)
    assert looks == []


# -- what is shown -------------------------------------------------------------------------


def look_at(*rows: PartitionLag, before: Look | None = None, at: float = 0.0) -> Look:
    group = GroupDescription("[red]g", GroupType.CLASSIC, "Stable", "consumer", "range", (), 1)
    return Look(GroupLag(group, rows), at, before)


def row(committed: int, end: int, **more: Any) -> PartitionLag:
    return PartitionLag(T0, OffsetAndMetadata(committed, "[b]note"), end, None, **more)


def shown(look: Look) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(lag_table(look))
    return capture.get()


def test_a_table_shows_names_as_they_are_and_totals() -> None:
    owner = GroupMember("m", "till-7", "c", "/h")
    text = shown(look_at(PartitionLag(T0, OffsetAndMetadata(4, "[b]note"), 10, owner)))
    assert "[red]g: Stable" in text
    assert "[b]note" in text
    assert "c (till-7)" in text
    assert "total lag 6 in 1 partitions" in text


def test_a_table_says_why_a_partition_cannot_be_shown() -> None:
    text = shown(look_at(row(4, 10), PartitionLag(T1, None, None, None, ValueError("no leader"))))
    assert "no leader" in text
    assert "total lag 6 in 2 partitions, 1 not known" in text


def test_a_group_with_nothing_says_so() -> None:
    assert "committed nothing and owns nothing" in shown(look_at())


def test_programs_get_the_same() -> None:
    found = lag_json(look_at(row(8, 20), before=look_at(row(4, 10)), at=2.0))
    assert (found["lag"], found["unknown"]) == (12, 0)
    (one,) = found["partitions"]
    assert (one["topic"], one["committed"], one["end"], one["lag"]) == ("t", 8, 20, 12)
    assert (one["written_per_second"], one["read_per_second"]) == (5.0, 2.0)
    assert one["error"] is None
