"""Answers and assignments that make no sense: nothing is believed of them, and it is said why."""

from itertools import pairwise
from typing import Any

import pytest

from kgroup.machine.commits import read_commit
from kgroup.machine.wishes import Errand
from kgroup.membership.events import Answered, EnforceRebalance, Note, Polled, Tell, Tick
from kgroup.types import ChangeKind, CommitStatus, MemberState, OffsetAndMetadata
from kgroup.wire.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    SyncGroupRequest,
)
from tests.membership.driver import Driven, partitions, sync_answer

SOUND: dict[str, Any] = {
    "generation_id": 3,
    "protocol_name": "cooperative-sticky",
    "leader": "other",
    "member_id": "m-1",
    "members": (),
}

# What is wrong with an answer to JoinGroup -> the word that says so.
ABSURD: dict[str, dict[str, Any]] = {
    "no member id": {"member_id": ""},
    "generation -1": {"generation_id": -1},
    "assignor 'foreign'": {"protocol_name": "foreign"},
    "assignor None": {"protocol_name": None},
    "protocol type 'connect'": {"protocol_type": "connect"},
    "not among the members": {
        "leader": "m-1",
        "members": (JoinGroupResponseMember(member_id="other", metadata=b""),),
    },
}


def joining() -> Driven:
    member = Driven()
    member.subscribe()
    member.found()
    return member


def answer(member: Driven, **fields: Any) -> None:
    said = JoinGroupResponse(**{**SOUND, **fields})
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), said))


@pytest.mark.parametrize("word", ABSURD)
def test_after_an_absurd_answer_the_member_warns_and_joins_again_after_a_pause(word: str) -> None:
    member = joining()
    answer(member, **ABSURD[word])
    member.expect(MemberState.BACKING_OFF)
    assert member.sent(SyncGroupRequest) == []
    assert member.member.identity.generation is None
    (warning,) = member.did(Tell)
    assert warning.note is Note.JOIN_ABSURD
    assert word in warning.detail
    member.on(Tick(), after=2.0)
    member.expect(MemberState.JOINING)


def test_a_group_that_nobody_leads_is_followed() -> None:
    """While a group turns to another protocol (KIP-848), its coordinator assigns."""
    member = joining()
    answer(member, leader="")
    member.expect(MemberState.SYNCING)


def test_a_generation_that_goes_back_is_taken_as_it_is() -> None:
    """A coordinator that dies in the middle of a round gives its number out a second time."""
    member = Driven().join("t-0", generation=3)
    member.on(Tick(), after=3.0)
    member.beat(27)
    answer(member, generation_id=2)
    member.synced("t-0")
    member.expect(MemberState.STABLE)
    generation = member.member.identity.generation
    assert generation is not None
    assert generation.generation_id == 2


def test_absurd_answers_are_further_and_further_apart() -> None:
    member = joining()
    pauses = []
    for _ in range(6):
        answer(member, generation_id=-1)
        pauses.append(member.deadline - member.now)
        member.on(Tick(), after=pauses[-1])
    assert pauses == sorted(pauses)
    assert pauses[-1] > 5 * pauses[0]


# -- a hostile leader's assignment (N24) --------------------------------------------------------


def given(*names: str, data: bytes | None = None) -> Driven:
    """A member that held t-0 in the generation before, and is given something else."""
    member = Driven().join("t-0")
    member.on(Tick(), after=3.0)
    member.beat(27)
    member.joined(2)
    member.on(Answered(member.ticket(Errand.SYNC_GROUP), sync_answer(*names, data=data)))
    return member


NEGATIVE = bytes.fromhex("0003 00000001 0001 74 00000002 00000000 ffffffff ffffffff")
"""t: partitions 0 and -1."""


@pytest.mark.parametrize("data", [b"\x00", b"\xff\xff" + b"\x00" * 8, NEGATIVE])
def test_an_assignment_that_cannot_be_meant_is_owned_by_nobody(data: bytes) -> None:
    member = given(data=data)
    member.expect(MemberState.BACKING_OFF)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.owned() == frozenset()
    (warning,) = member.did(Tell)
    assert warning.note is Note.ASSIGNMENT_ABSURD
    member.on(Tick(), after=2.0)
    member.expect(MemberState.JOINING)


def test_unreadable_assignments_are_further_and_further_apart() -> None:
    member = given(data=b"\x00")
    pauses = []
    for generation in range(3, 8):
        pauses.append(member.member.round.retry_at - member.now)
        member.on(Tick(), after=pauses[-1])
        member.joined(generation)
        member.synced(data=b"\x00")
    assert pauses == sorted(pauses)
    assert pauses[-1] > 5 * pauses[0]


def test_a_partition_that_is_assigned_twice_is_owned_once() -> None:
    twice = bytes.fromhex(
        "0003 00000002 0001 74 00000001 00000000 0001 74 00000001 00000000 ffffffff"
    )
    member = given(data=twice)
    member.expect(MemberState.STABLE)
    assert member.owned() == partitions("t-0")
    assert len(member.member.holdings.claims) == 1


def test_a_partition_nobody_knows_is_owned_until_the_next_round() -> None:
    member = given("t-0", "t-99")
    member.settle()
    member.expect(MemberState.STABLE)
    assert member.owned() == partitions("t-0", "t-99")


def test_topics_not_asked_for_are_given_back_in_a_round_that_is_asked_for() -> None:
    member = given("t-0", "x-0")
    assert member.owned() == partitions("t-0")
    member.expect(MemberState.JOINING)
    assert len(member.sent(JoinGroupRequest)) == 4


def until_joining(member: Driven) -> None:
    """Let time pass, with heartbeats answered and polls, until the member joins anew."""
    while not member.is_in(MemberState.JOINING):
        member.on(Tick(), after=member.deadline - member.now)
        member.on(Polled())
        if member.member.heartbeat is not None:
            member.beat()


def test_a_leader_that_keeps_assigning_topics_nobody_asked_for_is_asked_anew_ever_later() -> None:
    member = given("t-0", "x-0")
    pauses = []
    for generation in range(5, 13):
        begun = member.now
        until_joining(member)
        pauses.append(member.now - begun)
        member.joined(generation)
        member.synced("t-0", "x-0")
        assert member.owned() == partitions("t-0")
    assert all(later > 1.5 * earlier for earlier, later in pairwise(pauses[2:]))
    assert sum(pauses) > 10.0


def test_a_leader_that_has_heard_is_asked_anew_at_once_the_next_time() -> None:
    member = given("t-0", "x-0")
    for names in (("t-0", "x-0"), ("t-0",), ("t-0", "x-0")):
        member.on(EnforceRebalance("test"))
        until_joining(member)
        member.joined(9)
        member.synced(*names)
    member.expect(MemberState.JOINING)


def test_an_empty_assignment_takes_everything() -> None:
    member = given(data=b"")
    member.settle()
    assert member.owned() == frozenset()


# -- answers to commits --------------------------------------------------------------------------


def rows(*codes: int) -> OffsetCommitResponse:
    parts = (OffsetCommitResponsePartition(partition_index=0, error_code=code) for code in codes)
    topic = OffsetCommitResponseTopic(name="t", partitions=tuple(parts))
    return OffsetCommitResponse(topics=(topic,))


@pytest.mark.parametrize("codes", [(), (0, 0), (25, 0), (0, 25)])
def test_a_partition_not_named_exactly_once_is_neither_committed_nor_refused(
    codes: tuple[int, ...],
) -> None:
    (tp,) = partitions("t-0")
    read = read_commit({tp: OffsetAndMetadata(5)}, rows(*codes))
    assert read.outcomes[tp].status is CommitStatus.UNKNOWN
    assert read.signal is None
