"""Small worlds are searched whole, and a fault planted in the machine is found in them."""

from dataclasses import replace
from typing import Any

import pytest

from kgroup.codes import ErrorCode
from kgroup.membership.events import Answered, CallListener, Event, Moment, Send
from kgroup.membership.step import Step, step
from kgroup.membership.value import GroupMember
from kgroup.types import ChangeKind, MemberState
from kgroup.wire.consumer_protocol import MemberAssignment, encode_assignment
from kgroup.wire.messages import FindCoordinatorRequest, HeartbeatResponse, SyncGroupResponse
from kgroup.wire.schema import replace as with_fields
from tests.membership.machine import Machine
from tests.search.exhaustive.__main__ import as_json, as_text
from tests.search.exhaustive.scope import Fault, Mode, Scope
from tests.search.exhaustive.search import Found, Search
from tests.search.exhaustive.world import World


def search(world: World, limit: int = 100_000) -> Found:
    return Search(world, limit).run()


# -- worlds without a planted fault ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", Mode)
def test_a_world_without_faults_is_searched_whole_and_keeps_every_promise(mode: Mode) -> None:
    found = search(World(Scope(mode, faults=0)))
    assert found.broken is None
    assert found.complete
    assert found.progress.states > 1_000
    assert found.rest_ticks is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Fault.KILL, Fault.MUTE, Fault.STALL])
def test_a_world_with_one_fault_keeps_every_promise(kind: Fault) -> None:
    scope = Scope(Mode.COOPERATIVE, faults=1, kinds=frozenset({kind}), patience=0)
    found = search(World(scope))
    assert found.broken is None
    assert found.complete


@pytest.mark.slow
def test_members_that_close_leave_the_others_everything() -> None:
    found = search(World(Scope(Mode.COOPERATIVE, partitions=1, faults=0, closes=1)))
    assert found.broken is None
    assert found.complete


@pytest.mark.slow
def test_leaving_orders_out_meets_fewer_states_and_fires_the_same_rows() -> None:
    kinds = frozenset({Fault.KILL, Fault.CUT})
    scope = Scope(Mode.EAGER, partitions=1, kinds=kinds, patience=0)
    every, fewer = (search(World(scope, reduced=reduced)) for reduced in (False, True))
    assert fewer.progress.states < every.progress.states
    assert fewer.rows == every.rows
    assert fewer.rest_ticks == every.rest_ticks
    assert fewer.complete
    assert every.complete


def test_one_member_comes_to_own_everything() -> None:
    found = search(World(Scope(Mode.EAGER, members=1, faults=0)))
    assert found.complete
    assert found.broken is None
    assert found.rest_ticks == 0


def test_a_search_that_is_stopped_says_so() -> None:
    found = search(World(Scope(Mode.EAGER, faults=0)), limit=100)
    assert not found.complete
    assert found.broken is None
    assert as_json(found)["complete"] is False


@pytest.mark.parametrize("wrong", [{"members": 0}, {"members": 4}, {"faults": -1}, {"session": 1}])
def test_a_scope_out_of_bounds_is_refused(wrong: dict[str, int]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        Scope(Mode.EAGER, **wrong)  # type: ignore[arg-type]


# -- planted faults --------------------------------------------------------------------------------


def keeps_what_is_lost(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Partitions are kept after on_lost, and so is the lease."""
    result = step(member, event, moment)
    lost = any(
        isinstance(effect, CallListener) and effect.change.kind is ChangeKind.LOST
        for effect in result.effects
    )
    if not lost:
        return result
    kept = replace(result.member, holdings=member.holdings, lease=member.lease)
    return replace(result, member=kept)


def trusts_its_session_alone(member: GroupMember, event: Event, moment: Moment) -> Step:
    """The lease counts the session timeout only."""
    lease = replace(member.lease, rebalance_timeout=1e6)
    return step(replace(member, lease=lease), event, moment)


def renews_its_lease_by_itself(member: GroupMember, event: Event, moment: Moment) -> Step:
    """The lease counts from now, not from sending."""
    result = step(member, event, moment)
    lease = result.member.lease
    if lease.confirmed_at is None or lease == member.lease:
        return result
    return replace(result, member=replace(result.member, lease=lease.signalled(moment.now)))


def searches_in_silence(member: GroupMember, event: Event, moment: Moment) -> Step:
    """The second search for the coordinator is never sent."""
    result = step(member, event, moment)
    if member.coordinator.ticket is not None or member.round.introduced is False:
        return result
    sent = tuple(
        effect
        for effect in result.effects
        if not (isinstance(effect, Send) and isinstance(effect.request, FindCoordinatorRequest))
    )
    return replace(result, effects=sent)


def adopts_nothing(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Whatever the leader gives, nothing is taken."""
    if isinstance(event, Answered) and isinstance(event.response, SyncGroupResponse):
        nothing = encode_assignment(MemberAssignment())
        answer = with_fields(event.response, assignment=nothing)
        event = Answered(event.ticket, answer)
    return step(member, event, moment)


def tells_nobody(member: GroupMember, event: Event, moment: Moment) -> Step:
    """What is assigned may be read although no listener was called."""
    result = step(member, event, moment)
    changes = tuple(each for each in result.member.changes if each.kind is not ChangeKind.ASSIGNED)
    effects = tuple(
        effect
        for effect in result.effects
        if not (isinstance(effect, CallListener) and effect.change.kind is ChangeKind.ASSIGNED)
    )
    silent = replace(result.member, changes=changes)
    return replace(result, member=silent, effects=effects)


def counts_from_below_zero(member: GroupMember, event: Event, moment: Moment) -> Step:
    """A generation has a number that coordinators take from members in no group."""
    return _identified(step(member, event, moment), generation_id=-1)


def forgets_its_name(member: GroupMember, event: Event, moment: Moment) -> Step:
    """A generation is kept without a member id."""
    return _identified(step(member, event, moment), member_id="")


def _identified(result: Step, **wrong: Any) -> Step:
    identity = result.member.identity
    if identity.generation is None or result.member.state is not MemberState.STABLE:
        return result
    generation = replace(identity.generation, **wrong)
    return replace(
        result, member=replace(result.member, identity=replace(identity, generation=generation))
    )


def takes_its_heartbeat_for_a_fence(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Any answer to a heartbeat says FENCED_INSTANCE_ID."""
    return step(member, _answered(event, ErrorCode.FENCED_INSTANCE_ID), moment)


def takes_its_heartbeat_for_a_refusal(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Any answer to a heartbeat says INVALID_GROUP_ID."""
    return step(member, _answered(event, ErrorCode.INVALID_GROUP_ID), moment)


def _answered(event: Event, code: ErrorCode) -> Event:
    if isinstance(event, Answered) and isinstance(event.response, HeartbeatResponse):
        return Answered(event.ticket, with_fields(event.response, error_code=code))
    return event


def believes_what_comes_late(member: GroupMember, event: Event, moment: Moment) -> Step:
    """An answer that is not awaited moves the next heartbeat."""
    result = step(member, event, moment)
    awaited = (member.heartbeat, member.round.ticket, member.coordinator.ticket)
    if not isinstance(event, Answered) or event.ticket in (*awaited, member.round.watch):
        return result
    return replace(result, member=replace(result.member, heartbeat_at=moment.now + 0.5))


_SMALL = Scope(Mode.EAGER, partitions=1, faults=0)
_ONE = Scope(Mode.EAGER, members=1, faults=0)

PLANTED = [
    (
        keeps_what_is_lost,
        Scope(Mode.COOPERATIVE, partitions=1, kinds=frozenset({Fault.MUTE})),
        "L2",
    ),
    (trusts_its_session_alone, _SMALL, "S2"),
    (
        renews_its_lease_by_itself,
        Scope(Mode.EAGER, partitions=1, kinds=frozenset({Fault.LATE})),
        "S3",
    ),
    (
        searches_in_silence,
        Scope(Mode.EAGER, partitions=1, kinds=frozenset({Fault.MOVE})),
        "L2",
    ),
    (tells_nobody, _ONE, "S6"),
    (counts_from_below_zero, _ONE, "C2"),
    (forgets_its_name, _ONE, "C2: a commit would carry no member id"),
    (takes_its_heartbeat_for_a_fence, Scope(Mode.STATIC, members=1, faults=0), "T2"),
    (takes_its_heartbeat_for_a_refusal, _ONE, "a member ended for good"),
    (
        believes_what_comes_late,
        Scope(Mode.EAGER, partitions=1, kinds=frozenset({Fault.RESIGN}), patience=0),
        "S8",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "scope", "rule"), PLANTED, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_planted_fault_breaks_its_promise_and_is_printed_step_by_step(
    planted: Machine, scope: Scope, rule: str
) -> None:
    world = World(scope, planted)
    found = search(world)
    assert found.broken is not None
    assert found.broken.startswith(rule)
    story = as_text(found, world)
    assert found.broken in story
    assert f"{len(found.path):3}. " in story


@pytest.mark.slow
def test_a_world_that_never_comes_to_rest_is_found() -> None:
    found = search(World(Scope(Mode.COOPERATIVE, faults=0), adopts_nothing))
    assert found.broken is not None
    assert found.broken.startswith("L1")
