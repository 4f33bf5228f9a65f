"""A live group becomes the beginning of a simulation; nothing but questions is sent."""

from collections.abc import Sequence
from typing import Any

import pytest

from docs.examples.assignors.weighted import WeightedAssignor
from kgroup.assignors import BUILT_IN, LastAssignment
from kgroup.assignors.simulator import Scenario, SimulatedMember, SimulatedTopic
from kgroup.cli.assignors import Simulation, run_all
from kgroup.cli.assignors_live import describe_live
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, IllegalStateError, UnauthorizedError
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
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
)
from kgroup.wire.user_data import encode_sticky_user_data
from tests.cli.stage import T0, T1, on, shelf_with
from tests.consumer.shelf import Shelf


def described(
    name: str,
    owned: Sequence[TopicPartition] = (),
    *,
    topics: tuple[str, ...] = ("t",),
    rack: str | None = None,
    **more: Any,
) -> DescribedGroupMember:
    """Return a member as a coordinator describes it."""
    subscription = MemberSubscription(topics=topics, rack=rack)
    return DescribedGroupMember(
        **{
            "member_id": name,
            "client_id": "c",
            "client_host": "/h",
            "member_metadata": encode_subscription(subscription),
            "member_assignment": encode_assignment(MemberAssignment(tuple(owned), b"echo")),
            **more,
        }
    )


def answer(*members: DescribedGroupMember, **more: Any) -> DescribeGroupsResponse:
    usual = {"group_state": "Stable", "protocol_type": "consumer", "protocol_data": "range"}
    row = DescribeGroupsDescribedGroup(**{"group_id": "g", **usual, "members": members, **more})
    return DescribeGroupsResponse(groups=(row,))


def shelf_of(*members: DescribedGroupMember, **more: Any) -> Shelf:
    shelf = shelf_with(0)
    shelf.broker(1).on(DescribeGroupsRequest, answer(*members, **more))
    return shelf


async def look(shelf: Shelf) -> Scenario:
    async with on(shelf) as cluster:
        return await describe_live(cluster, "g", timeout=10)


async def refuses(shelf: Shelf, kind: type[Exception], why: str) -> None:
    """Look at a group, which must fail."""
    async with on(shelf) as cluster:
        with pytest.raises(kind, match=why):
            await describe_live(cluster, "g", timeout=10)


async def test_members_topics_and_what_is_owned_are_taken_over() -> None:
    shelf = shelf_of(
        described("a", (T0, T1), rack="r1", group_instance_id="till-1"),
        described("b", topics=("t", "u")),
    )
    shelf.add_topic("u", 3)
    found = await look(shelf)
    assert found.members == (
        SimulatedMember(
            member_id="a",
            topics=frozenset({"t"}),
            group_instance_id="till-1",
            rack="r1",
            owned=(T0, T1),
            assigned_user_data=b"echo",
        ),
        SimulatedMember(member_id="b", topics=frozenset({"t", "u"}), assigned_user_data=b"echo"),
    )
    assert found.topics == {"t": SimulatedTopic(2), "u": SimulatedTopic(3)}
    assert found.now > 0


async def test_racks_of_replicas_are_taken_over_the_leaders_first() -> None:
    shelf = Shelf(brokers=3, t=2)
    for node_id in (1, 2, 3):
        shelf.broker(node_id).rack = f"r{node_id}"
    first, second = shelf.topics["t"].partitions
    first.leader, first.replicas = 2, (1, 2)
    second.leader, second.replicas = -1, (3, 1)
    shelf.broker(1).on(DescribeGroupsRequest, answer(described("a")))
    found = await look(shelf)
    assert found.topics["t"].racks == (("r2", "r1"), ("r3", "r1"))


async def test_a_topic_that_is_gone_has_no_partitions_and_nobody_owns_it() -> None:
    gone = TopicPartition("gone", 0)
    found = await look(shelf_of(described("a", (T0, gone), topics=("t", "gone"))))
    assert found.topics == {"t": SimulatedTopic(2), "gone": SimulatedTopic(0)}
    assert found.members[0].owned == (T0,)


async def test_what_is_assigned_beyond_a_topic_made_anew_is_not_owned() -> None:
    found = await look(shelf_of(described("a", (T1, TopicPartition("t", 7)))))
    assert found.members[0].owned == (T1,)


async def test_a_group_in_a_rebalance_is_waited_for() -> None:
    shelf = shelf_with(0)
    shelf.broker(1).once(DescribeGroupsRequest, answer(group_state="PreparingRebalance"))
    shelf.broker(1).once(DescribeGroupsRequest, answer(group_state="CompletingRebalance"))
    shelf.broker(1).on(DescribeGroupsRequest, answer(described("a", (T0,))))
    assert (await look(shelf)).members[0].owned == (T0,)


async def test_the_error_of_a_rebalance_without_end_names_the_way_out() -> None:
    shelf = shelf_of(group_state="PreparingRebalance")
    await refuses(shelf, IllegalStateError, r"'g' has been PreparingRebalance for 10 s.*--time")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"group_state": "Empty"}, r"'g' is Empty and has no members.*--group FILE"),
        ({"protocol_type": "connect"}, r"protocol type 'connect', not 'consumer'"),
    ],
)
async def test_a_group_that_cannot_be_simulated_says_why(row: dict[str, str], why: str) -> None:
    await refuses(shelf_of(**row), IllegalStateError, why)


async def test_a_member_that_cannot_be_read_is_named() -> None:
    shelf = shelf_of(described("a"), described("b", member_metadata=b"\x00"))
    await refuses(shelf, IllegalStateError, r"member 'b' of group 'g'.*--group FILE")


def newer(shelf: Shelf, **more: Any) -> Shelf:
    """Have the coordinator know the group in the words of KIP-848 only."""
    usual = {"group_epoch": 0, "assignment_epoch": 0, "assignor_name": "", "members": ()}
    row = ConsumerGroupDescribeDescribedGroup(**{"group_id": "g", **usual, **more})
    answered = ConsumerGroupDescribeResponse(groups=(row,))
    shelf.broker(1).on(ConsumerGroupDescribeRequest, answered)
    shelf.broker(1).on(ListGroupsRequest, ListGroupsResponse(groups=()))
    return shelf


async def test_a_group_of_the_newer_protocol_has_no_assignor_to_compare() -> None:
    shelf = newer(shelf_of(group_state="Dead"), group_state="Stable")
    await refuses(shelf, IllegalStateError, "KIP-848")


async def test_a_group_that_is_not_there_is_reported() -> None:
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    shelf = newer(shelf_of(group_state="Dead"), group_state="", error_code=missing)
    await refuses(shelf, BrokerError, "there is no group 'g'")


async def test_a_group_and_a_topic_that_are_refused_are_named() -> None:
    refused = shelf_of(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    await refuses(refused, UnauthorizedError, "g")
    shelf = shelf_of(described("a"))
    shelf.topics["t"].error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await refuses(shelf, UnauthorizedError, "t")


# -- user data -----------------------------------------------------------------------------------


def weighted(name: str, capacity: int) -> DescribedGroupMember:
    """Return a member of the weighted assignor that owns nothing yet."""
    data = WeightedAssignor(capacity).encode_user_data(LastAssignment(), None)
    metadata = encode_subscription(MemberSubscription(topics=("t",), user_data=data))
    return described(name, member_metadata=metadata)


async def test_members_of_an_assignor_of_ones_own_are_divided_by_what_they_sent() -> None:
    shelf = Shelf(t=12)
    members = (weighted("a", 2), weighted("b", 4), weighted("c", 6))
    shelf.broker(1).on(DescribeGroupsRequest, answer(*members, protocol_data="weighted"))
    found = await look(shelf)
    (run, _) = run_all(found, {"weighted": WeightedAssignor()}, Simulation(), lambda _: None)
    sizes = [len(owned) for owned in run.outcomes[0].owned.values()]
    assert (sizes, run.assumed) == ([2, 4, 6], None)


async def test_what_members_of_another_assignor_would_send_is_said_to_be_unknown() -> None:
    found = await look(shelf_of(described("a", (T0,)), described("b", (T1,))))
    (run, _) = run_all(found, {"w": WeightedAssignor()}, Simulation(), lambda _: None)
    assert run.assumed is not None
    assert run.assumed.startswith("what members would send to weighted is not known")


async def test_claims_of_a_built_in_assignor_are_not_taken_from_the_last_round_but_one() -> None:
    data = encode_sticky_user_data((T0, T1), 1)
    metadata = encode_subscription(MemberSubscription(topics=("t",), user_data=data))
    members = (described("a", (T0,), member_metadata=metadata), described("b", (T1,)))
    found = await look(shelf_of(*members, protocol_data="sticky"))
    (run, _) = run_all(found, {"sticky": BUILT_IN["sticky"]}, Simulation(), lambda _: None)
    assert run.outcomes[0].moves == 0


async def test_a_member_that_sent_no_user_data_sends_none() -> None:
    found = await look(shelf_of(described("a"), protocol_data="weighted"))
    assert (found.members[0].user_data, found.assignor) == (b"", "weighted")
