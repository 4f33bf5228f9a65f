"""The canonical form: of values that have the same future, one.

Decides: what of a process has no bearing on its future (names, counters, reasons, instants that
have passed), and how instants and generations are kept relative.
Never: drops anything a guard, a timer or a message could see.

- Instants are relative to `NOW`; one that has passed for good is the latest such.
- Generations are relative to the coordinator's: the lower one of the stored and the present group
  is `FIRST`; those that are lower by more than 8 are taken for equally old.
- Tickets, claims and changes are numbered anew in their order; reasons and causes are left out.
"""

from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Final

from kgroup.frozen import replace
from kgroup.machine.claims import Holdings
from kgroup.machine.coordinator import Coordinator, CoordinatorState
from kgroup.machine.wishes import Errand, Ticket
from kgroup.membership.events import GroupRequest, RunAssignor
from kgroup.membership.value import GroupMember, Leadership, Round
from kgroup.types import Cause, ChangeKind, Claim, Generation, MemberState, OwnershipChange
from kgroup.wire.consumer_protocol import decode_subscription, encode_subscription
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import Message
from kgroup.wire.schema import replace as with_fields
from kgroup.wire.user_data import decode_cooperative_user_data, encode_cooperative_user_data
from tests.search.exhaustive.process import GONE, Answer, Call, Process
from tests.search.exhaustive.scope import NOW

FIRST: Final = 10
"""The lower one of the generations the coordinator has stored, and has in memory."""

_OLDEST: Final = 2


# -- generations -----------------------------------------------------------------------------------


def newer(process: Process, shift: int) -> Process:
    """Return a process whose generations are counted from another one on."""
    member = process.member
    identity = replace(member.identity, generation=_generation(member.identity.generation, shift))
    around = replace(member.round, assigned_in=_number(member.round.assigned_in, shift))
    account = replace(process.account, synced=_number(process.account.synced, shift))
    calls = tuple(_newer_call(call, shift) for call in process.calls)
    member = replace(member, identity=identity, round=around)
    return replace(process, member=member, calls=calls, account=account)


def _newer_call(call: Call, shift: int) -> Call:
    answer = None if call.answer is None else newer_answer(call.answer, shift)
    if isinstance(call.request, RunAssignor):
        run = call.request
        members = tuple(
            with_fields(each, metadata=newer_metadata(bytes(each.metadata), shift))
            for each in run.members
        )
        number = _shifted(run.generation_id, shift)
        return replace(call, request=replace(run, members=members, generation_id=number))
    return replace(call, request=newer_request(call.request, shift), answer=answer)


def newer_request(request: GroupRequest, shift: int) -> GroupRequest:
    """Return a request whose generations are counted from another one on."""
    match request:
        case HeartbeatRequest() | SyncGroupRequest():
            return with_fields(request, generation_id=_shifted(request.generation_id, shift))
        case JoinGroupRequest():
            return with_fields(
                request,
                protocols=tuple(
                    with_fields(each, metadata=newer_metadata(bytes(each.metadata), shift))
                    for each in request.protocols
                ),
            )
        case _:
            return request


def newer_answer(answer: Answer, shift: int) -> Answer:
    """Return an answer whose generations are counted from another one on."""
    if not isinstance(answer, JoinGroupResponse) or answer.generation_id < 0:
        return answer
    return with_fields(
        answer,
        generation_id=_shifted(answer.generation_id, shift),
        members=tuple(
            with_fields(each, metadata=newer_metadata(bytes(each.metadata), shift))
            for each in answer.members
        ),
    )


@cache
def newer_metadata(metadata: bytes, shift: int) -> bytes:
    """Return a member's subscription with its generation counted from another one on.

    That of cooperative members stands in it twice, see `cooperative_sticky`.
    """
    read = decode_subscription(metadata)
    user_data = read.user_data
    if user_data is not None:
        number = decode_cooperative_user_data(user_data)
        user_data = encode_cooperative_user_data(_number(number, shift))
    generation_id = _number(read.generation_id, shift)
    return encode_subscription(replace(read, generation_id=generation_id, user_data=user_data))


def _shifted(number: int, shift: int) -> int:
    """Count one generation from another one on."""
    return number if number < 0 else max(number + shift, _OLDEST)


def _number(number: int | None, shift: int) -> int | None:
    return None if number is None else _shifted(number, shift)


def _generation(generation: Generation | None, shift: int) -> Generation | None:
    if generation is None:
        return None
    return replace(generation, generation_id=_shifted(generation.generation_id, shift))


# -- time ------------------------------------------------------------------------------------------


def later(process: Process, seconds: float) -> Process:
    """Return a process some seconds later: every instant is that much further back."""
    member = process.member
    around, closing = member.round, member.wishes.closing
    if closing is not None:
        closing = replace(
            closing, release_by=closing.release_by - seconds, leave_by=closing.leave_by - seconds
        )
    member = replace(
        member,
        lease=replace(
            member.lease,
            confirmed_at=_back(member.lease.confirmed_at, seconds),
            synced_at=_back(member.lease.synced_at, seconds),
        ),
        wishes=replace(member.wishes, closing=closing, polled_at=member.wishes.polled_at - seconds),
        coordinator=replace(member.coordinator, search_at=member.coordinator.search_at - seconds),
        round=replace(
            around,
            retry_at=around.retry_at - seconds,
            paced_until=around.paced_until - seconds,
            drain_until=_back(around.drain_until, seconds),
            release_until=_back(around.release_until, seconds),
            hand_over=around.hand_over
            and (_back(around.hand_over[0], seconds), around.hand_over[1] - seconds),
        ),
        heartbeat_at=member.heartbeat_at - seconds,
    )
    calls = tuple(replace(call, deadline=call.deadline - seconds) for call in process.calls)
    account = replace(
        process.account,
        confirmed_at=_back(process.account.confirmed_at, seconds),
        synced_at=_back(process.account.synced_at, seconds),
    )
    moved = replace(process, member=member, calls=calls, account=account)
    return _with_tickets(moved, lambda ticket: replace(ticket, sent_at=ticket.sent_at - seconds))


def _back(instant: float | None, seconds: float) -> float | None:
    return None if instant is None else instant - seconds


# -- names and counters ----------------------------------------------------------------------------


def canonical(process: Process) -> Process:
    """Return the process that stands for all with the same future."""
    return _numbered_claims(_numbered_tickets(_plain(process)))


def _plain(process: Process) -> Process:
    member = process.member
    settings = member.settings
    session, rebalance = settings.session_timeout, settings.rebalance_timeout
    account = process.account
    member = replace(
        member,
        lease=replace(
            member.lease,
            confirmed_at=_since(member.lease.confirmed_at, session),
            synced_at=_since(member.lease.synced_at, rebalance),
        ),
        wishes=replace(
            member.wishes,
            polled_at=max(member.wishes.polled_at, NOW - rebalance) if process.stalled else NOW,
        ),
        coordinator=_plain_coordinator(member.coordinator),
        given_up=process.given_up,
        round=_plain_round(member),
        heartbeat_at=max(member.heartbeat_at, NOW),
        # It is for what members hold that cannot be read, and for topics that change: no such here.
        lead=Leadership(),
        changes=tuple(_plain_change(change, member.holdings) for change in member.changes),
    )
    account = replace(
        account,
        confirmed_at=_since(account.confirmed_at, session),
        synced_at=_since(account.synced_at, rebalance),
    )
    announced = process.announced & member.holdings.states.keys()
    return replace(process, member=member, account=account, announced=announced)


def _since(instant: float | None, term: float) -> float | None:
    return None if instant is None else max(instant, NOW - term)


def _plain_coordinator(coordinator: Coordinator) -> Coordinator:
    waits = coordinator.state is CoordinatorState.WAITING
    # All pauses are one tick, so it does not matter how many there were.
    search_at = coordinator.search_at if waits else NOW
    return replace(coordinator, attempts=0, search_at=search_at)


def _plain_round(member: GroupMember) -> Round:
    around, state = member.round, member.state
    waits = state is MemberState.RELEASING or member.still_revoking()
    around = replace(
        around,
        completed=0,
        cause=None,
        attempts=0,
        retry_at=around.retry_at if state is MemberState.BACKING_OFF else NOW,
        paced_until=NOW - 1000.0,  # never bites here: of storms there is another test
        drain_until=around.drain_until if state in _RELEASING else None,
        release_until=_since(around.release_until, 0.0) if waits else None,
        # The topic never changes: a leader that watches what there is need not watch.
        watched=around.watched if member.recounted() else None,
        leader=around.leader and around.watch is not None,  # else only people see it
        held_back=frozenset(),  # nobody unsubscribes, and comes back as the same process
    )
    if state not in _IN_ROUND:  # the JoinGroup to come says all of it anew
        around = replace(around, believed=frozenset(), joined_topics=frozenset(), returned=False)
    if state is not MemberState.STABLE:  # what is adopted next takes its place
        around = replace(around, assigned=frozenset(), hand_over=None)
    return around


_RELEASING: Final = (MemberState.PREPARING, MemberState.RELEASING)
_IN_ROUND: Final = (
    MemberState.JOINING,
    MemberState.ASSIGNING,
    MemberState.SYNCING,
    MemberState.STABLE,
)


def _plain_change(change: OwnershipChange, holdings: Holdings) -> OwnershipChange:
    """What was lost meanwhile is nothing to the machine, but that on_revoked still runs for it."""
    removed = tuple(claim for claim in change.removed if claim in holdings.states)
    if change.kind is ChangeKind.REVOKED and len(removed) < len(change.removed):
        lost = sorted({claim.tp for claim in change.removed if claim not in holdings.states})
        removed = (*removed, *(Claim(tp, GONE) for tp in lost))
    return replace(
        change,
        added=tuple(claim for claim in change.added if claim in holdings.states),
        removed=removed,
        kept=(),
        cause=Cause.ASSIGNED,
        generation=None,
    )


_PROOFS: Final = (Errand.JOIN_GROUP, Errand.SYNC_GROUP, Errand.HEARTBEAT)


def _numbered_tickets(process: Process) -> Process:
    member = process.member
    known = {call.ticket for call in process.calls}
    held = (member.coordinator.ticket, member.round.ticket, member.round.watch, member.heartbeat)
    known |= {ticket for ticket in held if ticket is not None}
    term = max(member.settings.session_timeout, member.settings.rebalance_timeout)
    numbers = {
        ticket: replace(
            ticket,
            serial=number,
            sent_at=max(ticket.sent_at, NOW - term) if ticket.errand in _PROOFS else NOW,
        )
        for number, ticket in enumerate(sorted(known, key=lambda each: each.serial), 1)
    }
    moved = _with_tickets(process, lambda ticket: numbers[ticket])
    return replace(moved, member=replace(moved.member, next_ticket=len(numbers) + 1))


def _with_tickets(process: Process, change: Any) -> Process:
    def of(ticket: Ticket | None) -> Ticket | None:
        return None if ticket is None else change(ticket)

    member, given_up = process.member, process.member.given_up
    member = replace(
        member,
        coordinator=replace(member.coordinator, ticket=of(member.coordinator.ticket)),
        round=replace(member.round, ticket=of(member.round.ticket), watch=of(member.round.watch)),
        heartbeat=of(member.heartbeat),
        given_up=replace(given_up, heartbeat=of(given_up.heartbeat), round=of(given_up.round)),
    )
    calls = []
    for call in process.calls:
        request = call.request
        if isinstance(request, RunAssignor):
            request = replace(request, ticket=change(call.ticket), sent=None)
        elif isinstance(request, JoinGroupRequest):
            request = with_fields(request, reason=None)
        elif isinstance(request, LeaveGroupRequest):
            silent = tuple(with_fields(each, reason=None) for each in request.members)
            request = with_fields(request, members=silent)
        calls.append(replace(call, ticket=change(call.ticket), request=request))
    return replace(process, member=member, calls=tuple(calls))


def _numbered_claims(process: Process) -> Process:
    member = process.member
    changes = member.changes
    serials = {claim.serial for claim in member.holdings.states}
    serials |= {claim.serial for each in changes for claim in (*each.added, *each.removed)}
    numbers = {serial: number for number, serial in enumerate(sorted(serials), 1)}

    def of(claims: Iterable[Claim]) -> tuple[Claim, ...]:
        return tuple(Claim(claim.tp, numbers[claim.serial]) for claim in claims)

    states = member.holdings.states
    holdings = Holdings(dict(zip(of(states), states.values(), strict=True)), len(numbers) + 1)
    renamed = tuple(
        replace(each, added=of(each.added), removed=of(each.removed), serial=number)
        for number, each in enumerate(changes, 1)
    )
    old = sum(each.serial <= member.round.unawaited for each in changes)
    member = replace(member, round=replace(member.round, unawaited=old))
    member = replace(member, holdings=holdings, changes=renamed, next_change=len(changes) + 1)
    return replace(process, member=member, announced=frozenset(of(process.announced)))


# -- keys ------------------------------------------------------------------------------------------

_CONSTANT: Final = frozenset({"settings"})
_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes})


def key_of(value: Any) -> Hashable:
    """Return something hashable that is equal for equal values, field by field."""
    kind = type(value)
    if kind in _PLAIN:
        return value  # type: ignore[no-any-return]
    names = _names(kind)  # type: ignore[arg-type]  # a type can be hashed
    if names:
        return (kind.__name__, *[key_of(getattr(value, name)) for name in names])
    match value:
        case Enum():
            return value.value  # type: ignore[no-any-return]
        case memoryview():
            return bytes(value)
        case Mapping():
            return tuple(sorted((key_of(k), key_of(v)) for k, v in value.items()))
        case AbstractSet():
            return frozenset(key_of(each) for each in value)
        case tuple() | list():
            return tuple([key_of(each) for each in value])
    return ("empty", kind.__name__) if names is not None else _unknown(value)


def _unknown(value: object) -> Hashable:
    raise TypeError(f"{value!r} has no key")


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """Return the names of a value's fields, None when it has none because it is no record."""
    if issubclass(kind, Message):
        return tuple(kind.FIELDS)
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind) if field.name not in _CONSTANT)
    return None
