"""What `kgroup groups` and `kgroup topics` ask for, and what they show."""

import io

import pytest

from kgroup.cli.groups import Evict, delete_empty, evict_from, partitions_in_words
from kgroup.cli.topics import Listing, look
from kgroup.cli.verbs import ask_first
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, IllegalStateError
from kgroup.net.log_places import Bounds
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from tests.cli.stage import T0, T1, on, shelf_with
from tests.cli.test_lag import shelf_of_group


async def test_members_are_evicted_by_instance_and_by_id_with_a_reason() -> None:
    shelf = shelf_of_group()
    rows = (
        MemberResponse(member_id="", group_instance_id="till-7"),
        MemberResponse(
            member_id="m-2", group_instance_id=None, error_code=ErrorCode.UNKNOWN_MEMBER_ID
        ),
    )
    shelf.broker(1).on(LeaveGroupRequest, LeaveGroupResponse(members=rows))
    asked = Evict(group="g", instances=["till-7", "till-7"], members=["m-2"], reason="moved")
    async with on(shelf) as cluster:
        gone, stayed = await evict_from(cluster, asked, timeout=10)
    assert (gone.error, stayed.error is None) == (None, False)
    (request,) = shelf.broker(1).requests(LeaveGroupRequest)
    assert [(each.member_id, each.group_instance_id) for each in request.members] == [
        ("", "till-7"),
        ("m-2", None),
    ]
    assert {each.reason for each in request.members} == {"moved"}


async def test_a_group_with_members_is_not_deleted_and_the_error_names_the_way_out() -> None:
    shelf = shelf_of_group()
    row = DeletableGroupResult(group_id="g", error_code=ErrorCode.NON_EMPTY_GROUP)
    shelf.broker(1).on(DeleteGroupsRequest, DeleteGroupsResponse(results=(row,)))
    async with on(shelf) as cluster:
        with pytest.raises(
            BrokerError, match=r"NON_EMPTY_GROUP.*`kgroup groups evict g`"
        ) as caught:
            await delete_empty(cluster, "g", timeout=10)
    assert caught.value.code == ErrorCode.NON_EMPTY_GROUP


@pytest.mark.parametrize("said", ["", "n\n"])
def test_without_a_terminal_and_a_yes_nothing_is_done_and_the_option_is_named(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    with pytest.raises(IllegalStateError, match="--yes"):
        ask_first("Delete t and all records?")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    ask_first("Delete t and all records?")


def test_partitions_are_shown_in_few_words() -> None:
    found = [TopicPartition("b", n) for n in (7, 0, 1, 2, 3)] + [TopicPartition("a", 5)]
    assert partitions_in_words(found) == "a 5, b 0-3 7"


async def test_topics_of_the_brokers_are_listed_when_asked_for() -> None:
    shelf = shelf_with(1)
    shelf.add_topic("__consumer_offsets", 1).internal = True
    async with on(shelf) as cluster:
        plain = await look(cluster, Listing(), timeout=10)
        whole = await look(cluster, Listing(internal=True), timeout=10)
        named = await look(cluster, Listing(names=["__consumer_offsets"]), timeout=10)
    assert list(plain.topics) == ["t"]
    assert list(whole.topics) == ["__consumer_offsets", "t"]
    assert list(named.topics) == ["__consumer_offsets"]


async def test_offsets_are_asked_only_when_wanted() -> None:
    async with on(shelf_with(4)) as cluster:
        assert (await look(cluster, Listing(), timeout=10)).bounds is None
        found = await look(cluster, Listing(offsets=True), timeout=10)
    assert found.bounds == {T0: Bounds(0, 4), T1: Bounds(0, 4)}


async def test_a_partition_that_cannot_be_asked_says_why() -> None:
    shelf = shelf_with(4)
    shelf.logs[T1].error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    async with on(shelf) as cluster:
        found = await look(cluster, Listing(offsets=True), timeout=10)
    assert found.bounds is not None
    assert found.bounds[T0] == Bounds(0, 4)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(found.bounds[T1].error)


async def test_the_error_of_a_topic_that_is_not_there_has_the_nearest_name() -> None:
    shelf = shelf_with(1)
    shelf.add_topic("payments", 1)
    async with on(shelf) as cluster:
        with pytest.raises(BrokerError, match="no topic 'paymets'; did you mean 'payments'"):
            await look(cluster, Listing(names=["paymets"]), timeout=10)
