"""A trace of a real broker, played to the core: same frames, same instants, same ids.

Decides: which id the core is lent for each JoinGroup: the one the real broker answered it with, or,
when that was never answered, one that was listed with the same subscription.
Never: judges; `judging` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.wire.messages import (
    DescribeGroupsResponse,
    JoinGroupRequest,
    JoinGroupResponse,
)
from kgroup.wire.schema import Message, decode, encode
from tests.testing.differential.stage import Pending, Stage
from tests.testing.differential.trace import SENT, Exchange, Trace, exchanges


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, on the real broker and on the core.

    Args:
        real: what happened there.
        phase: where the group stood on the core when the request was asked; "" = it never was.
        answer: of the core, None without one, or when it came after the connection was closed.
        answered_at: when it came.
        hung_up: the core closed the connection instead.
    """

    real: Exchange
    phase: str
    answer: Message | None
    answered_at: float | None
    hung_up: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """A trace and its replay.

    Args:
        trace: from the real broker.
        turns: every request, in the order of sending.
    """

    trace: Trace
    turns: tuple[Turn, ...]


def play(trace: Trace) -> Played:
    """Play a trace to a new core."""
    found = exchanges(trace)
    stage = Stage(trace.version, trace.script.setting, trace.group_id)
    lent = _lent(found)
    pending: list[Pending] = []
    for event in trace.events:
        stage.until(event.at)
        if event.kind == SENT:
            number = len(pending)
            each = found[number]
            client = each.header.client_id or ""
            version = each.header.api_version
            pending.append(
                Pending(each.connection, client, each.request, version, lent.get(number))
            )
            stage.send(pending[-1])
        elif event.kind == "x":
            stage.close(event.connection)
    stage.until(trace.script.until)
    return Played(trace, tuple(_turn(*pair) for pair in zip(found, pending, strict=True)))


def _turn(real: Exchange, pending: Pending) -> Turn:
    call = pending.call
    if call is None:
        return Turn(real, pending.phase, None, None)
    at = call.answered_at
    if at is None or (real.closed_at is not None and at > real.closed_at):
        return Turn(real, pending.phase, None, None)
    return Turn(real, pending.phase, _as_read(call.answer, pending), at, call.hung_up)


def _as_read(answer: Message | None, pending: Pending) -> Message | None:
    """Return an answer as a client reads it: fields its version lacks are gone."""
    if answer is None:
        return None
    return decode(type(answer), pending.version, encode(answer, pending.version))


# -- ids -----------------------------------------------------------------------------------------


def _lent(found: Sequence[Exchange]) -> dict[int, str]:
    """Say which id the real broker made up for each JoinGroup that named none."""
    joins = {
        number: each.request
        for number, each in enumerate(found)
        if isinstance(each.request, JoinGroupRequest) and not each.request.member_id
    }
    lent = {}
    for number in joins:
        answer = found[number].answer
        # An error carries the id too, when it is the answer of a join that was parked (B24, S3).
        if isinstance(answer, JoinGroupResponse) and answer.member_id:
            lent[number] = answer.member_id
    for member_id, first in _shown(found).items():
        if member_id in lent.values():
            continue
        # The observer looks after each step, so it is the latest that can have made it; one that
        # waits behind another on its connection is made only when that is answered.
        waiting = {number for number in joins if _waits(found, number, first.at)}
        for number in sorted(joins, key=lambda each: (each in waiting, -each)):
            join, client_id = joins[number], found[number].header.client_id
            prefix = f"{join.group_instance_id or client_id}-"
            marks = {bytes(each.metadata) for each in join.protocols}
            fits = member_id.startswith(prefix) and found[number].sent_at <= first.at
            if fits and number not in lent and first.marks <= marks:
                lent[number] = member_id
                break
    return lent


def _waits(found: Sequence[Exchange], number: int, instant: float) -> bool:
    """Tell whether a request is not known to have been looked at by an instant (rule G1)."""
    return any(
        each.connection == found[number].connection
        and (each.answered_at is None or each.answered_at > instant)
        for each in found[:number]
    )


@dataclass(frozen=True, slots=True)
class _First:
    """When a member was shown first, and with which subscription; none while a round runs."""

    at: float
    marks: frozenset[bytes]


def _shown(found: Sequence[Exchange]) -> dict[str, _First]:
    """Return all ids that were shown, in order of time."""
    shown: dict[str, _First] = {}
    answered = (each for each in found if each.answered_at is not None)
    for each in sorted(answered, key=lambda each: each.answered_at or 0.0):
        match each.answer:
            case JoinGroupResponse(members=members):
                pairs = [(row.member_id, row.metadata) for row in members]
            case DescribeGroupsResponse(groups=groups):
                rows = (row for group in groups for row in group.members)
                pairs = [(row.member_id, row.member_metadata) for row in rows]
            case _:
                continue
        for member_id, metadata in pairs:
            marks = frozenset({bytes(metadata)} - {b""})
            shown.setdefault(member_id, _First(each.answered_at or 0.0, marks))
    return shown
