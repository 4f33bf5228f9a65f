"""What members make their leader read: subscriptions (N23) and user data (N26)."""

import struct
from typing import Any, Final

import pytest

from kgroup.errors import AssignmentError, GroupError
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    encode_assignment,
)
from tests.bad_input.members import ALL, GARBAGE, both, claiming, given, held, leader_gets, two
from tests.bad_input.stage import TOPIC, A, B, check_pace, cluster, playing

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

# -- N23: subscriptions --------------------------------------------------------------------------


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
async def test_n23_eager_a_member_nobody_can_read_gets_nothing_and_is_reported(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    broker = cluster()
    leader_gets(broker, lambda _: data)
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
        leader_gets(broker, lambda _: data)
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
        leader_gets(broker, lambda _: b"\xff")
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
    leader_gets(broker, lambda data: struct.pack(">h", 9) + data[2:] + b"fields of the future")
    async with two(broker) as (first, second):
        await both(first, second, 5.0)
        assert len(held(first)) == len(held(second)) == 1


async def test_n23_topics_that_do_not_exist_hold_nobody_up() -> None:
    broker = cluster()
    leader_gets(broker, claiming(topics=(TOPIC, "missing", "missing too")))
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
    leader_gets(broker, claiming(**fields))
    async with two(broker) as (first, second):
        for _ in range(40):
            await both(first, second, 0.25)
            assert not held(first) & held(second)
        broker.answers.clear()
        broker.group("g").rebalance()
        await both(first, second, 6.0)
        assert held(first) | held(second) == ALL
        assert not held(first) & held(second)


# -- N26: user data ------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\xff", GARBAGE["more topics than bytes"]])
@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
async def test_n26_user_data_nobody_can_read_is_ignored(data: bytes, assignor: str) -> None:
    broker = cluster()
    leader_gets(broker, claiming(user_data=data))
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
