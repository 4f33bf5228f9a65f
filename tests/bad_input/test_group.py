"""What members and leaders make others read (N23, N24, N26), and rounds that cannot be (N25).

A broker of today lets nobody in whose subscription it cannot read, so the bytes change on their
way to the leader, as the answers of rounds do.
"""

import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import pytest

from kgroup.errors import AssignmentError, GroupError
from kgroup.testing import InProcessBroker
from kgroup.types import MemberState, TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import replace
from tests.bad_input.stage import TOPIC, A, B, Play, check_pace, cluster, outlive, playing

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

GARBAGE: Final[dict[str, bytes]] = {
    "nothing at all": b"",
    "cut in the version": b"\xff",
    "a negative version": struct.pack(">hi", -1, 0),
    "a negative count of topics": struct.pack(">hi", 3, -5),
    "more topics than bytes": struct.pack(">hi", 3, 2**31 - 1),
    "cut in a topic": struct.pack(">hih", 3, 1, 9) + b"half",
    "user data longer than the rest": struct.pack(">hii", 3, 0, 2**30),
    "a web page": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}

ALL: Final = {A, B}


# -- N23: subscriptions --------------------------------------------------------------------------


def told(broker: InProcessBroker, change: Callable[[bytes], bytes]) -> None:
    """Change what a leader is told of everybody but itself."""

    def rewrite(_: JoinGroupRequest, answer: JoinGroupResponse) -> JoinGroupResponse:
        rows = tuple(
            each
            if each.member_id == answer.leader
            else replace(each, metadata=change(bytes(each.metadata)))
            for each in answer.members
        )
        return replace(answer, members=rows)

    broker.answers.rewrite(JoinGroupRequest, rewrite, times=None)


def claiming(**fields: Any) -> Callable[[bytes], bytes]:
    """Say something else in a subscription that can be read."""

    def change(data: bytes) -> bytes:
        said = decode_subscription(data)
        kept: dict[str, Any] = {
            "topics": said.topics,
            "owned": said.owned,
            "generation_id": said.generation_id,
        }
        return encode_subscription(MemberSubscription(**{**kept, **fields}))

    return change


@asynccontextmanager
async def two(broker: InProcessBroker, **options: Any) -> AsyncIterator[tuple[Play, Play]]:
    """Enter two members of a group; the first leads."""
    async with playing(broker, client_id="first", **options) as first:
        await first.read_for(2.0)
        async with playing(broker, client_id="second", **options) as second:
            yield first, second


async def both(first: Play, second: Play, seconds: float) -> None:
    """Let both read."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.read_for, seconds)
        tasks.start_soon(second.read_for, seconds)


def held(play: Play) -> set[TopicPartition]:
    return set(play.consumer.assignment())


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
async def test_n23_eager_a_member_nobody_can_read_gets_nothing_and_is_reported(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    broker = cluster()
    told(broker, lambda _: data)
    async with two(broker, assignors=("range",)) as (first, second):
        await both(first, second, 5.0)
        assert (held(first), held(second)) == (ALL, set())
        assert first.errors == second.errors == []
        (warned,) = [each for each in caplog.messages if "gives nothing to member=" in each]
        assert "second" in warned
        check_pace(first, 0.0, most=40.0)
        broker.answers.clear()
        broker.group("g").rebalance()
        await both(first, second, 5.0)
        assert len(held(first)) == len(held(second)) == 1


@pytest.mark.parametrize("data", [b"", b"\xff", GARBAGE["user data longer than the rest"]])
async def test_n23_cooperative_what_a_member_nobody_can_read_was_given_is_withheld(
    data: bytes,
) -> None:
    broker = cluster()
    async with two(broker) as (first, second):
        await both(first, second, 5.0)
        before = held(first), held(second)
        assert all(len(each) == 1 for each in before)
        told(broker, lambda _: data)
        for _ in range(3):
            broker.group("g").rebalance()
            await both(first, second, 3.0)
            assert held(first) == before[0]
            assert not held(second) & held(first)
        broker.answers.clear()
        broker.group("g").rebalance()
        await both(first, second, 5.0)
        assert held(first) | held(second) == ALL
        first.write()
        await both(first, second, 2.0)
        assert {max(first.read[tp] + second.read[tp]) for tp in ALL} == {9}


async def test_n23_cooperative_a_new_leader_fails_the_round_by_name_until_it_can_read() -> None:
    """It cannot know what the other one holds; nothing is sent, and both keep what they have."""
    broker = cluster()
    async with two(broker) as (first, second):
        await both(first, second, 5.0)
        told(broker, lambda _: b"\xff")
        async with playing(broker, client_id="third") as third:
            await first.consumer.close()
            await both(second, third, 20.0)
            leader = second if any(second.errors) else third
            errors = [each for each in leader.errors if isinstance(each, AssignmentError)]
            assert errors
            assert "stop that member" in str(errors[-1])
            broker.answers.clear()
            await both(second, third, 15.0)
            assert held(second) | held(third) == ALL
            assert not held(second) & held(third)


async def test_n23_a_version_of_the_future_is_read_as_far_as_it_is_known() -> None:
    broker = cluster()
    told(broker, lambda data: struct.pack(">h", 9) + data[2:] + b"fields of the future")
    async with two(broker) as (first, second):
        await both(first, second, 5.0)
        assert len(held(first)) == len(held(second)) == 1


async def test_n23_topics_that_do_not_exist_hold_nobody_up() -> None:
    broker = cluster()
    told(broker, claiming(topics=(TOPIC, "missing", "missing too")))
    async with two(broker) as (first, second):
        await both(first, second, 8.0)
        assert len(held(first)) == len(held(second)) == 1


CLAIMS: Final[dict[str, dict[str, Any]]] = {
    "of others, before any generation": {"owned": (A, B), "generation_id": None},
    "of others, of an older generation": {"owned": (A, B), "generation_id": 0},
    "of others, of the future": {"owned": (A, B), "generation_id": 2**31 - 1},
    "that are not there": {
        "owned": (TopicPartition(TOPIC, 99), TopicPartition("missing", 0)),
        "generation_id": 1,
    },
}


@pytest.mark.parametrize("fields", CLAIMS.values(), ids=CLAIMS)
async def test_n23_claims_that_cannot_be_true_give_no_partition_to_two(
    fields: dict[str, Any],
) -> None:
    broker = cluster()
    told(broker, claiming(**fields))
    async with two(broker) as (first, second):
        for _ in range(40):
            await both(first, second, 0.25)
            assert not held(first) & held(second)
        broker.answers.clear()
        broker.group("g").rebalance()
        await both(first, second, 6.0)
        assert held(first) | held(second) == ALL
        assert not held(first) & held(second)


# -- N24: assignments ----------------------------------------------------------------------------


def given(data: bytes) -> Callable[[InProcessBroker], object]:
    """Give members these bytes as their assignment."""

    def rewrite(_: SyncGroupRequest, answer: SyncGroupResponse) -> SyncGroupResponse:
        return replace(answer, assignment=data) if not answer.error_code else answer

    return lambda broker: broker.answers.rewrite(SyncGroupRequest, rewrite, times=None)


def assigning(*tps: TopicPartition) -> bytes:
    return encode_assignment(MemberAssignment(tps))


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


async def test_n24_an_assignment_that_cannot_be_meant_is_owned_by_nobody_and_told(
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
async def test_n25_a_round_that_cannot_be_is_told_and_joined_again_with_growing_pauses(
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
    """Only a leader is told the members, so nobody else can know that the leader is none of them;
    a coordinator that is told nothing by its leader gives everybody nothing."""
    broker = cluster()
    joined(leader="stranger", members=())(broker)
    async with playing(broker) as play:
        await play.read_for(20.0)
        check_pace(play, 0.0, most=5.0)
        assert not play.read
        broker.answers.clear()
        broker.group("g").rebalance()
        await play.read_all()


async def test_n25_a_generation_that_goes_back_is_refused_by_who_gave_another_one() -> None:
    await outlive(joined(generation_id=0))


async def test_n25_somebody_elses_member_id_is_no_way_into_the_group() -> None:
    await outlive(joined(member_id="stranger", leader="stranger"))


# -- N26: user data ------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\xff", GARBAGE["more topics than bytes"]])
@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
async def test_n26_user_data_nobody_can_read_is_ignored(data: bytes, assignor: str) -> None:
    broker = cluster()
    told(broker, claiming(user_data=data))
    async with two(broker, assignors=(assignor,)) as (first, second):
        await both(first, second, 6.0)
        broker.group("g").rebalance()
        await both(first, second, 6.0)
        assert len(held(first)) == len(held(second)) == 1
        assert not held(first) & held(second)
        assert first.errors == second.errors == []


async def test_n26_user_data_of_a_leader_of_another_kind_is_sent_back_and_read_by_nobody() -> None:
    """It is given with an assignment, and echoed with the next subscription."""
    broker = cluster()
    given(encode_assignment(MemberAssignment((A, B), user_data=b"\xff" * 1000)))(broker)
    async with playing(broker, assignors=("sticky",)) as play:
        await play.read_all()
        broker.group("g").rebalance()
        await play.read_for(5.0)
        assert set(play.consumer.assignment()) == ALL
        assert not any(isinstance(each, GroupError) for each in play.errors)
