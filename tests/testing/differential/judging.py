"""What differs between a real broker and the core.

Decides: that everything a client can read counts: every field of every answer, the order of
members included (both sides have the same ids, so hash order is the same too), whether there is an
answer, and when it comes. Left out are throttling, and the order of topics and partitions in
answers about offsets, which no client reads anything from.
What comes after a difference mostly follows from it; `explained` says where judging ends.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kgroup.codes import error_name
from kgroup.wire.messages import (
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
)
from kgroup.wire.schema import Message
from tests.testing.differential.replay import Played, Turn

LATE = 0.15
"""Seconds by which the instants of an answer may differ: the machine has other work."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the two sides part.

    Args:
        played: the whole run.
        number: of the turn.
        what: "content", "silent" (the core does not answer), "answered" (only the core does),
            "late" or "early" (the core's answer, measured by the real one's).
        fields: the names of fields that differ, with both values.
    """

    played: Played
    number: int
    what: str
    fields: tuple[tuple[str, Any, Any], ...] = ()

    @property
    def turn(self) -> Turn:
        """The request in question."""
        return self.played.turns[self.number]

    @property
    def signature(self) -> str:
        """What it has in common with others of its kind."""
        request = type(self.turn.real.request).__name__.removesuffix("Request")
        names = ",".join(sorted({name for name, _, _ in self.fields}))
        real, core = outcome(self.turn.real.answer), outcome(self.turn.answer)
        return f"{request} in {self.turn.phase}: {self.what} {names} ({real}, core {core})"


def differences(played: Played) -> list[Difference]:
    """Return all differences in order of time; most of them follow from the first."""
    found = [each for n in range(len(played.turns)) if (each := _judge(played, n)) is not None]
    return sorted(found, key=_instant)


def _instant(difference: Difference) -> float:
    turn = difference.turn
    answers = (turn.answered_at, turn.real.answered_at)
    return min((at for at in answers if at is not None), default=turn.real.sent_at)


def _judge(played: Played, number: int) -> Difference | None:
    turn = played.turns[number]
    real = turn.real
    if turn.hung_up != real.hung_up:
        return Difference(played, number, "hung up" if turn.hung_up else "not hung up")
    if real.answer is None or turn.answer is None:
        return _silence(played, number)
    fields = tuple(differing("", real.answer, turn.answer))
    if fields:
        return Difference(played, number, "content", fields)
    assert turn.answered_at is not None
    assert real.answered_at is not None
    gap = turn.answered_at - real.answered_at
    if abs(gap) > LATE:
        return Difference(played, number, "late" if gap > 0 else "early")
    return None


def _silence(played: Played, number: int) -> Difference | None:
    turn = played.turns[number]
    if turn.real.answer is not None:
        return Difference(played, number, "silent")
    if turn.answer is None or turn.answered_at is None:
        return None
    closed_at = turn.real.closed_at
    end = played.trace.script.until if closed_at is None else closed_at
    # An answer that came as the connection was closed may have been on its way.
    return Difference(played, number, "answered") if turn.answered_at < end - LATE else None


def differing(name: str, real: Any, core: Any) -> "list[tuple[str, Any, Any]]":
    """List the fields in which two answers differ, by name."""
    if isinstance(real, Message) and type(real) is type(core):
        return [
            found
            for field in real.FIELDS
            if field != "throttle_time_ms"
            for found in differing(field, getattr(real, field), getattr(core, field))
        ]
    if isinstance(real, tuple) and isinstance(core, tuple):
        if len(real) != len(core):
            return [(name, real, core)]
        pairs = zip(_in_order(real), _in_order(core), strict=True)
        return [found for pair in pairs for found in differing(name, *pair)]
    if isinstance(real, memoryview | bytes):
        real, core = bytes(real), bytes(core)
    return [] if real == core else [(name, real, core)]


def _in_order(rows: tuple[Any, ...]) -> list[Any]:
    """Return topics by name and partitions by number; anything else as it is."""
    for key in ("partition_index", "partitions"):
        if all(hasattr(row, key) for row in rows):
            by = attrgetter(key if key == "partition_index" else "name")
            return sorted(rows, key=by)
    return list(rows)


# -- what was reached ----------------------------------------------------------------------------


def outcome(answer: Message | None) -> str:
    """Name the result of a request: its errors, each once, or that there is none."""
    if answer is None:
        return "no answer"
    return "+".join(error_name(code) for code in sorted(_codes(answer)))


def _codes(answer: Message) -> set[int]:
    match answer:
        case LeaveGroupResponse(members=rows) if rows and not answer.error_code:
            return {row.error_code for row in rows}
        case OffsetCommitResponse(topics=topics):
            return {row.error_code for topic in topics for row in topic.partitions} or {0}
        case OffsetDeleteResponse(topics=topics) if not answer.error_code:
            return {row.error_code for topic in topics for row in topic.partitions} or {0}
        case OffsetFetchResponse(groups=groups) if groups:
            return {group.error_code for group in groups}
        case DeleteGroupsResponse(results=results):
            return {row.error_code for row in results}
        case _:
            return {getattr(answer, "error_code", 0)}


def reached(played: Played) -> set[tuple[str, str, str]]:
    """Return (phase, request, outcome) of every request but those of the observer."""
    found = set()
    for turn in played.turns:
        if isinstance(turn.real.request, DescribeGroupsRequest):
            continue
        request = type(turn.real.request).__name__.removesuffix("Request")
        result = outcome(turn.real.answer)
        answered, sent = turn.real.answered_at, turn.real.sent_at
        if answered is not None and answered - sent > LATE:
            result = f"parked, {result}"
        found.add((turn.phase or "not read", request, result))
    return found
