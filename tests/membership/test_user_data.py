"""What members carry for their assignor, and subscriptions that must not be sent."""

from typing import Any

import pytest

from kgroup.assignors import USER_DATA_LIMIT, LastAssignment
from kgroup.codes import ErrorCode
from kgroup.errors import AssignorError, LocalProtocolError
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    CommitRejected,
    EnforceRebalance,
    Polled,
    Raise,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.membership.settings import MembershipSettings
from kgroup.types import ChangeKind, MemberState
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_subscription,
    encode_assignment,
)
from kgroup.wire.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
)
from tests.membership.driver import REBALANCE, Driven, Plain, Writing, partitions, settings


def using(*assignors: Any) -> MembershipSettings:
    return settings(assignors=assignors)


def joined_with(member: Driven, name: str = "plain") -> MemberSubscription:
    """Return what the latest JoinGroup says for an assignor."""
    protocols = member.sent(JoinGroupRequest)[-1].protocols
    return decode_subscription(next(each.metadata for each in protocols if each.name == name))


def given(member: Driven, user_data: bytes | None, *names: str) -> None:
    """Finish the round that is JOINING or SYNCING with an assignment and its user data."""
    tps = tuple(sorted(partitions(*names)))
    member.synced(data=encode_assignment(MemberAssignment(tps, user_data)))
    member.settle()
    member.beat()


def joined(chosen: MembershipSettings, user_data: bytes | None = b"memory") -> Driven:
    """A member of generation 1 that owns t-0."""
    member = Driven(chosen)
    member.subscribe()
    member.found()
    member.joined(0, code=ErrorCode.MEMBER_ID_REQUIRED)
    member.joined(1)
    given(member, user_data, "t-0")
    return member


def lose(member: Driven, reaction: Reaction) -> None:
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(reaction, generation, 0))
    member.settle()


# -- sent back as it came -----------------------------------------------------------------------


def test_nothing_is_sent_back_before_the_first_assignment() -> None:
    member = Driven(using(Plain()))
    member.subscribe()
    member.found()
    assert joined_with(member).user_data is None


@pytest.mark.parametrize("data", [b"memory", b"", bytes(range(256)), None])
def test_user_data_goes_back_byte_for_byte(data: bytes | None) -> None:
    member = joined(using(Plain()), data)
    member.on(EnforceRebalance("x"))
    assert joined_with(member).user_data == data


def test_joining_again_with_the_same_memory_gives_the_same_bytes() -> None:
    """A coordinator takes other bytes for a change, and begins a round."""
    member = joined(using(Plain()))
    member.on(EnforceRebalance("x"))
    first = member.sent(JoinGroupRequest)[-1].protocols
    member.joined(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    member.on(Tick(), after=2.0)
    assert member.sent(JoinGroupRequest)[-1].protocols == first


@pytest.mark.parametrize("later", [b"newer", None])
def test_the_next_assignment_replaces_it_also_by_nothing(later: bytes | None) -> None:
    member = joined(using(Plain()))
    member.on(EnforceRebalance("x"))
    member.joined(2)
    given(member, later, "t-0")
    member.on(EnforceRebalance("x"))
    assert joined_with(member).user_data == later


def test_only_the_assignor_it_came_from_gets_it_back() -> None:
    member = joined(using(Plain("one"), Plain("two")))
    member.on(EnforceRebalance("x"))
    assert joined_with(member, "one").user_data == b"memory"
    assert joined_with(member, "two").user_data is None


def test_a_round_under_another_assignor_ends_the_memory_of_the_one_before() -> None:
    member = joined(using(Plain("one"), Plain("two")))
    member.on(EnforceRebalance("x"))
    under(member, "two", generation=2)
    given(member, b"of two", "t-0")
    member.on(EnforceRebalance("x"))
    assert joined_with(member, "one").user_data is None
    assert joined_with(member, "two").user_data == b"of two"


def under(member: Driven, name: str, generation: int) -> None:
    answer = JoinGroupResponse(
        generation_id=generation,
        protocol_type="consumer",
        protocol_name=name,
        leader="other",
        member_id="m-1",
        members=(),
    )
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))


def test_an_assignment_that_cannot_be_read_changes_no_memory() -> None:
    member = joined(using(Plain()))
    member.on(EnforceRebalance("x"))
    member.joined(2)
    member.synced(data=b"\x00")
    member.settle()
    member.on(Tick(), after=2.0)
    assert joined_with(member).user_data == b"memory"


def test_more_than_a_member_may_send_is_not_sent_back() -> None:
    member = joined(using(Plain()), bytes(USER_DATA_LIMIT + 1))
    member.on(EnforceRebalance("x"))
    assert joined_with(member).user_data is None


# -- how long it is kept ------------------------------------------------------------------------


@pytest.mark.parametrize("reaction", [Reaction.LOSE_GENERATION, Reaction.LOSE_MEMBER])
def test_a_member_that_is_lost_keeps_the_memory_and_claims_nothing(reaction: Reaction) -> None:
    member = joined(using(Plain()))
    lose(member, reaction)
    said = joined_with(member)
    assert said.user_data == b"memory"
    assert list(said.owned) == []
    assert said.generation_id is None


def test_a_session_that_ran_out_leaves_the_memory() -> None:
    member = joined(using(Plain()))
    member.on(Tick(), after=50.0)
    assert [kind for kind, _ in member.calls()] == [ChangeKind.LOST]
    member.settle()
    assert joined_with(member).user_data == b"memory"


def test_an_application_that_polls_again_brings_the_memory_back() -> None:
    member = joined(using(Plain()))
    for _ in range(int(REBALANCE)):
        member.on(Tick(), after=1.0)
        if member.member.heartbeat is not None:
            member.beat()
    member.expect(MemberState.DORMANT)
    member.settle()
    member.on(Polled())
    assert joined_with(member).user_data == b"memory"


def test_unsubscribing_ends_the_memory() -> None:
    member = joined(using(Plain()))
    member.on(Unsubscribed())
    member.settle()
    member.left()
    member.on(Subscribed(frozenset({"t"})))
    assert joined_with(member).user_data is None


# -- made by the assignor -----------------------------------------------------------------------


def test_an_assignor_that_makes_user_data_is_shown_what_came_last() -> None:
    writing = Writing(made=b"mine")
    member = joined(using(writing))
    member.on(EnforceRebalance("x"))
    owned, generation_id = writing.asked[-1]
    assert isinstance(owned, LastAssignment)
    assert owned == tuple(partitions("t-0"))
    assert owned.user_data == b"memory"
    assert generation_id == 1
    assert joined_with(member).user_data == b"mine"


def test_before_the_first_assignment_it_is_shown_nothing() -> None:
    writing = Writing()
    member = Driven(using(writing))
    member.subscribe()
    member.found()
    assert writing.asked == [((), None)]
    assert writing.asked[0][0].user_data is None


def test_an_eager_member_shows_what_it_has_handed_back() -> None:
    writing = Writing()
    member = joined(settings(assignors=(writing, "range")))
    member.on(EnforceRebalance("x"))
    member.settle()
    assert member.owned() == frozenset()
    assert writing.asked[-1] == (tuple(partitions("t-0")), 1)
    assert list(joined_with(member).owned) == []


def test_a_cooperative_member_shows_what_it_still_has() -> None:
    writing = Writing()
    member = joined(using(writing))
    member.subscribe("u")
    member.settle()
    assert writing.asked[-1] == ((), 1)


def test_the_generation_is_the_one_it_was_given_that_in_not_one_that_came_to_nothing() -> None:
    writing = Writing()
    member = joined(settings(assignors=(writing, "range")))
    member.on(EnforceRebalance("x"))
    member.settle()
    member.joined(2)
    member.synced(code=ErrorCode.REBALANCE_IN_PROGRESS)
    assert writing.asked[-1] == (tuple(partitions("t-0")), 1)
    assert joined_with(member).generation_id == 2


def test_after_a_loss_it_is_shown_the_memory_only() -> None:
    writing = Writing()
    member = joined(using(writing))
    lose(member, Reaction.LOSE_MEMBER)
    owned, generation_id = writing.asked[-1]
    assert (owned, generation_id) == ((), None)
    assert owned.user_data == b"memory"


# -- what must not be sent (a coordinator that cannot read one member completes no round) --------

UNSENDABLE: dict[str, object] = {
    "raised ValueError('no') when it was asked": ValueError("no"),
    "made user data of type str": "text",
    "made user data of type bytearray": bytearray(b"x"),
    f"made {USER_DATA_LIMIT + 1} bytes of user data": bytes(USER_DATA_LIMIT + 1),
}


@pytest.mark.parametrize("words", UNSENDABLE)
def test_user_data_that_cannot_be_sent_ends_the_membership_before_anything_is(words: str) -> None:
    made = UNSENDABLE[words]
    member = Driven(using(Plain("fine"), Writing(made=made)))
    member.subscribe()
    member.found()
    member.expect(MemberState.FAILED)
    assert member.sent(JoinGroupRequest) == []
    assert member.sent(LeaveGroupRequest) == []
    (ended,) = member.did(Raise)
    assert isinstance(ended.error, AssignorError)
    assert str(ended.error).startswith(f"assignor 'plain' {words}")
    assert ended.error.__cause__ is (made if isinstance(made, Exception) else None)


def test_as_much_as_a_member_may_send_is_sent() -> None:
    member = Driven(using(Writing(made=bytes(USER_DATA_LIMIT))))
    member.subscribe()
    member.found()
    assert joined_with(member).user_data == bytes(USER_DATA_LIMIT)


def test_a_member_of_the_group_leaves_it_when_its_subscription_cannot_be_written() -> None:
    writing = Writing()
    member = joined(using(writing))
    writing.made = 7
    member.on(EnforceRebalance("x"))
    member.expect(MemberState.FAILED)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert [each.members[0].member_id for each in member.sent(LeaveGroupRequest)] == ["m-1"]


@pytest.mark.parametrize("topic", ["\ud800", "t" * 40_000])
def test_a_topic_that_cannot_be_written_ends_the_membership_before_anything_is(topic: str) -> None:
    member = Driven()
    member.subscribe(topic)
    member.found()
    member.expect(MemberState.FAILED)
    assert member.sent(JoinGroupRequest) == []
    (ended,) = member.did(Raise)
    assert isinstance(ended.error, LocalProtocolError)
