"""What is owned outlives the lease, where that is asked for, until the coordinator is heard."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.reactions import Reaction
from kgroup.membership.events import CommitRejected, MetadataChanged, Note, Tell, Tick
from kgroup.membership.group_description import Remembered
from kgroup.types import ChangeKind, MemberState
from kgroup.wire.messages import JoinGroupRequest, SyncGroupRequest
from tests.membership.driver import Driven, partitions, settings


def lapsed(assignor: str = "range") -> Driven:
    """Return a member whose coordinator was away for longer than its session, and is back."""
    member = Driven(settings(assignors=(assignor,), outlives=True)).join("t-0")
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.FIND_COORDINATOR, generation, 0))
    limit = member.member.lease.limit()
    assert limit is not None
    member.now = limit
    member.on(Tick())
    member.effects.clear()
    member.found()
    return member


def hands_out(member: Driven) -> bool:
    (claim,) = member.member.holdings.claims
    return member.member.may_deliver(claim, member.now)


def kinds(member: Driven) -> list[ChangeKind]:
    return [change.kind for change in member.member.changes]


def test_what_is_owned_is_kept_and_nothing_is_handed_out() -> None:
    member = lapsed()
    assert member.member.holdings.partitions == partitions("t-0")
    assert kinds(member) == []
    assert not hands_out(member)


def test_it_is_told_that_the_session_is_not_confirmed() -> None:
    member = Driven(settings(outlives=True)).join("t-0")
    limit = member.member.lease.limit()
    assert limit is not None
    member.now = limit
    member.on(Tick())
    (told,) = member.did(Tell)
    assert (told.note, told.detail) == (Note.SESSION_UNCONFIRMED, "t-0")


def test_the_assignment_is_asked_for_under_the_generation_and_no_round_is_joined() -> None:
    member = lapsed()
    (request,) = member.sent(SyncGroupRequest)
    assert (request.generation_id, request.member_id) == (1, "m-1")
    assert member.sent(JoinGroupRequest) == []


def test_a_generation_that_stands_goes_on_without_a_call_of_the_listener() -> None:
    member = lapsed()
    (claim,) = member.member.holdings.claims
    member.synced("t-0")
    member.expect(MemberState.STABLE)
    assert not hands_out(member)  # a heartbeat is to say so
    member.beat()
    assert hands_out(member)
    assert kinds(member) == []
    assert member.member.holdings.claims == (claim,)
    assert member.member.round.completed == 1


def test_a_heartbeat_that_is_answered_proves_nothing_for_the_group_may_be_loading() -> None:
    member = lapsed()
    member.on(Tick())
    member.beat()
    assert not hands_out(member)


@pytest.mark.parametrize(
    "code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REBALANCE_IN_PROGRESS]
)
def test_a_coordinator_that_loads_is_asked_again(code: ErrorCode) -> None:
    member = lapsed()
    member.synced(code=code)
    member.expect(MemberState.BACKING_OFF)
    member.on(Tick(), after=1.0)
    assert len(member.sent(SyncGroupRequest)) == 2
    assert member.member.holdings.partitions == partitions("t-0")


@pytest.mark.parametrize("code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID])
def test_what_the_coordinator_has_given_away_is_lost(code: ErrorCode) -> None:
    member = lapsed()
    member.synced(code=code)
    assert kinds(member) == [ChangeKind.LOST]
    assert len(member.sent(JoinGroupRequest)) == 1


def test_a_round_that_is_on_is_joined() -> None:
    member = lapsed()
    member.on(Tick())
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.settle()
    assert len(member.sent(JoinGroupRequest)) == 1
    assert not member.member.holdings


def test_a_round_that_is_on_is_joined_with_what_is_owned_where_that_is_kept() -> None:
    member = lapsed("cooperative-sticky")
    member.on(Tick())
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    assert len(member.sent(JoinGroupRequest)) == 1
    assert member.member.holdings.partitions == partitions("t-0")
    assert not hands_out(member)


def test_a_coordinator_that_goes_again_is_looked_for_again() -> None:
    member = lapsed()
    member.on(Tick())
    member.beat(ErrorCode.NOT_COORDINATOR)
    assert member.member.holdings.partitions == partitions("t-0")
    member.on(Tick(), after=2.0)
    member.found()
    assert len(member.sent(SyncGroupRequest)) == 2


def test_without_the_option_everything_is_lost_with_the_lease() -> None:
    member = Driven(settings(assignors=("range",))).join("t-0")
    limit = member.member.lease.limit()
    assert limit is not None
    member.now = limit
    member.on(Tick())
    assert kinds(member) == [ChangeKind.LOST]
    assert len(member.sent(JoinGroupRequest)) == 3  # for an id, with it, and now


def test_a_returned_static_member_owes_no_round_for_topics_that_others_have() -> None:
    chosen = settings(assignors=("range",), instance="one", outlives=True)
    topics = frozenset({"t", "u"})
    before = Remembered(topics, topics, {"t": 4, "u": 4})
    member = Driven(chosen)
    member.on(MetadataChanged({"t": 4, "u": 4}))
    member.subscribe("t", "u")
    member.found(remembered=before)
    member.joined()
    member.synced("t-0")
    limit = member.member.lease.limit()
    assert limit is not None
    member.now = limit
    member.on(Tick())
    member.found()
    member.synced("t-0")
    member.expect(MemberState.STABLE)
    assert member.member.unheard() == frozenset()
    assert member.member.wishes.enforced is None
