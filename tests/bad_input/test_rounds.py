"""Assignments of hostile leaders (N24), and rounds that cannot be (N25)."""

import struct
from collections.abc import Callable
from typing import Any, Final

import pytest

from kgroup.testing import InProcessBroker
from kgroup.types import MemberState, TopicPartition
from kgroup.wire.messages import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupRequest,
)
from kgroup.wire.schema import replace
from tests.bad_input.members import ALL, GARBAGE, assigning, given
from tests.bad_input.stage import TOPIC, A, B, check_pace, cluster, outlive, playing

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

# -- N24: assignments ----------------------------------------------------------------------------


def raw_assignment(*numbers: int) -> bytes:
    """Return an assignment of these partitions, whether or not there can be such."""
    name = TOPIC.encode()
    rows = b"".join(struct.pack(">i", number) for number in numbers)
    topic = struct.pack(">h", len(name)) + name + struct.pack(">i", len(numbers)) + rows
    return struct.pack(">hi", 3, 1) + topic + struct.pack(">i", -1)


ASSIGNMENTS: Final[dict[str, bytes]] = {
    **{name: data for name, data in GARBAGE.items() if data},
    "partition -1": raw_assignment(0, -1),
    "partition -2^31": raw_assignment(-(2**31)),
}


@pytest.mark.parametrize("data", ASSIGNMENTS.values(), ids=ASSIGNMENTS)
async def test_n24_an_assignment_that_cannot_be_meant_is_outlived(data: bytes) -> None:
    await outlive(given(data))


async def test_n24_an_assignment_that_cannot_be_meant_is_outlived_by_an_eager_member() -> None:
    await outlive(given(GARBAGE["cut in a topic"]), assignors=("range",))


async def test_n24_an_assignment_that_cannot_be_meant_is_owned_by_nobody_and_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = cluster()
    given(GARBAGE["a web page"])(broker)
    async with playing(broker) as play:
        await play.read_for(30.0)
        assert not play.consumer.assignment()
        assert not play.read
        assert not play.asked(0.0, FetchRequest)
        check_pace(play, 0.0, most=5.0)
        assert any("assignment" in each for each in caplog.messages)


async def test_n24_what_was_not_asked_for_is_given_back_in_another_round() -> None:
    broker = cluster()
    broker.create_topic("others", 1)
    given(assigning(A, TopicPartition("others", 0)))(broker)
    async with playing(broker) as play:
        await play.read_for(10.0)
        assert set(play.consumer.assignment()) <= {A}
        check_pace(play, 0.0)
        broker.answers.clear()
        await play.read_all()
        assert set(play.consumer.assignment()) == ALL


async def test_n24_a_partition_nobody_knows_is_held_and_not_fetched_until_it_is_there() -> None:
    broker = cluster()
    new = TopicPartition(TOPIC, 2)
    given(assigning(A, B, new))(broker)
    async with playing(broker, metadata_max_age=5.0) as play:
        await play.read_all()
        assert set(play.consumer.assignment()) == {A, B, new}
        await play.read_for(10.0)
        check_pace(play, 0.0)
        broker.add_partitions(TOPIC, 3)
        broker.partition(*new).append(b"0")
        await play.read_for(15.0)
        assert play.read[new] == [0]
        assert (play.read[A], play.read[B]) == ([*range(5)], [*range(5)])


async def test_n24_a_partition_that_is_assigned_twice_is_owned_and_read_once() -> None:
    broker = cluster()
    given(raw_assignment(0, 1, 1, 0))(broker)
    async with playing(broker) as play:
        await play.read_all()
        assert set(play.consumer.assignment()) == ALL


@pytest.mark.parametrize("data", [b"", assigning()], ids=["no bytes", "no partitions"])
async def test_n24_an_empty_assignment_is_nothing(data: bytes) -> None:
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        await play.consumer.commit()
        given(data)(broker)
        broker.group("g").rebalance()
        await play.read_for(5.0)
        assert not play.consumer.assignment()
        assert play.consumer.membership.state is MemberState.STABLE
        assert play.errors == []
        broker.answers.clear()
        play.write()
        broker.group("g").rebalance()
        await play.read_all()


# -- N25: rounds ---------------------------------------------------------------------------------


def joined(**fields: Any) -> Callable[[InProcessBroker], object]:
    """Answer a round that is complete with other fields."""

    def rewrite(_: JoinGroupRequest, answer: JoinGroupResponse) -> JoinGroupResponse:
        return replace(answer, **fields) if not answer.error_code else answer

    return lambda broker: broker.answers.rewrite(JoinGroupRequest, rewrite, times=None)


STRANGER: Final = JoinGroupResponseMember(member_id="stranger", metadata=b"")

ROUNDS: Final[dict[str, dict[str, Any]]] = {
    "it is not among the members": {"members": (STRANGER,)},
    "nobody is": {"members": ()},
    "an assignor that was not offered": {"protocol_name": "foreign"},
    "no assignor": {"protocol_name": None},
    "generation -1": {"generation_id": -1},
    "generation -2^31": {"generation_id": -(2**31)},
    "no member id": {"member_id": ""},
    "another protocol type": {"protocol_type": "connect"},
}


@pytest.mark.parametrize("fields", ROUNDS.values(), ids=ROUNDS)
async def test_n25_a_round_that_cannot_be_is_outlived(fields: dict[str, Any]) -> None:
    await outlive(joined(**fields))


@pytest.mark.parametrize("fields", ROUNDS.values(), ids=ROUNDS)
async def test_n25_a_round_that_cannot_be_is_warned_of_and_joined_again_with_growing_pauses(
    fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    broker = cluster()
    joined(**fields)(broker)
    async with playing(broker) as play:
        await play.read_for(30.0)
        assert 3 <= play.asked(0.0, JoinGroupRequest) <= 60
        assert not play.asked(0.0, SyncGroupRequest)
        assert not play.asked(0.0, HeartbeatRequest)
        assert not play.consumer.assignment()
        assert caplog.messages
        assert play.errors == []


async def test_n25_the_same_member_twice_among_the_members_is_outlived() -> None:
    def doubled(_: JoinGroupRequest, answer: JoinGroupResponse) -> JoinGroupResponse:
        return replace(answer, members=answer.members * 2)

    await outlive(lambda broker: broker.answers.rewrite(JoinGroupRequest, doubled, times=None))


async def test_n25_a_leader_nobody_knows_is_followed_until_the_next_round() -> None:
    """Only a leader gets the members, so nobody else can know that the leader is none of them;
    a coordinator whose leader sends no assignment gives everybody nothing."""
    broker = cluster()
    joined(leader="stranger", members=())(broker)
    async with playing(broker) as play:
        await play.read_for(20.0)
        check_pace(play, 0.0, most=5.0)
        assert not play.read
        broker.answers.clear()
        broker.group("g").rebalance()
        await play.read_all()


async def test_n25_a_generation_that_goes_back_is_outlived() -> None:
    await outlive(joined(generation_id=0))


async def test_n25_somebody_elses_member_id_is_no_way_into_the_group() -> None:
    await outlive(joined(member_id="stranger", leader="stranger"))
