"""What one entry of the journal says in a diagram, in a few words.

Decides: the words, whether a request goes out or an answer comes in, and what is routine: it
happens all the time and says something only when it fails.
Never: lays anything out.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from kgroup.codes import ApiKey, error_name
from kgroup.journal import (
    AnswerReceived,
    CallbackStage,
    CallbackStep,
    ClaimMessage,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    CloseAsked,
    CommitStage,
    CommitStep,
    CommitStored,
    ConnectionClosed,
    ConnectionOpened,
    Delivered,
    Done,
    Event,
    FaultStep,
    FetchAnswered,
    FetchIssued,
    GenerationEntered,
    JoinIssued,
    KeyChanged,
    MemberStarted,
    MemberStopped,
    MessageRejected,
    OffsetRead,
    OwnershipStep,
    PauseCause,
    Paused,
    Phase,
    Polled,
    PositionMoved,
    RequestSent,
    Resumed,
    RoundFailed,
    RoundStored,
    StateChanged,
    UnknownEvent,
)
from kgroup.types import ChangeKind, Claim, TopicPartition

__all__ = ["Way", "Words", "plural", "words"]


class Way(Enum):
    """Whether something crosses the network."""

    NONE = "stays"
    OUT = "to the coordinator"
    IN = "from the coordinator"


@dataclass(frozen=True, slots=True)
class Words:
    """What an entry says.

    Args:
        text: in words.
        way: whether it is an arrow.
        routine: what it is counted as when it is left out; "" for what is always shown.
        joins: entries of one member and instant with equal `joins` make one line, that of the
            first with the `parts` of all; "" for a line of its own.
        parts: partitions, with what is said of each.
        tps: partitions it is about.
    """

    text: str
    way: Way = Way.NONE
    routine: str = ""
    joins: str = ""
    parts: tuple[str, ...] = ()
    tps: frozenset[TopicPartition] = frozenset()


_ROUTINE_APIS: Final = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.FETCH,
        ApiKey.HEARTBEAT,
        ApiKey.LIST_OFFSETS,
        ApiKey.METADATA,
    }
)
_MOST_PARTITIONS: Final = 6
_PLURALS: Final = MappingProxyType({"delivery": "deliveries", "fetch": "fetches"})
_UUID: Final = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")


def words(event: Event) -> Words:
    """Return what an event says."""
    return _WORDS[type(event)](event)


def plural(count: int, name: str) -> str:
    """Return how many of what."""
    return f"{count} {name if count == 1 else _PLURALS.get(name, f'{name}s')}"


def _short(member_id: str) -> str:
    """Return a member id without the UUID that makes it unlike any other."""
    return _UUID.sub("", member_id)


def _named(tps: Iterable[TopicPartition]) -> str:
    names = [str(tp) for tp in sorted(tps)]
    more = len(names) - _MOST_PARTITIONS
    return " ".join(names if more <= 0 else [*names[:_MOST_PARTITIONS], f"and {more} more"])


def _tps(claims: Iterable[Claim]) -> frozenset[TopicPartition]:
    return frozenset(claim.tp for claim in claims)


# -- life --------------------------------------------------------------------------------------


def _started(event: MemberStarted) -> Words:
    static = f" as {event.group_instance_id}" if event.group_instance_id else ""
    return Words(f"starts{static}")


def _closing(event: CloseAsked) -> Words:
    return Words(f"is to close within {event.timeout:g} s")


def _stopped(event: MemberStopped) -> Words:
    return Words(f"stops: {event.reason}{', has left the group' if event.left else ''}")


def _state(event: StateChanged) -> Words:
    return Words(f"{event.before.name} -> {event.after.name}: {event.cause}")


def _generation(event: GenerationEntered) -> Words:
    leads = ", leads" if event.leader else ""
    given = _named(event.assignment) or "nothing"
    return Words(f"is in generation {event.generation_id}{leads}, is given {given}")


def _join(event: JoinIssued) -> Words:
    owned = f", owns {_named(event.owned)}" if event.owned else ""
    since = "" if event.generation_id is None else f" of generation {event.generation_id}"
    return Words(f"joins{owned}{since if owned else ''}: {event.cause}")


def _round_failed(event: RoundFailed) -> Words:
    return Words(f"cannot assign generation {event.generation_id}: {event.reason}")


# -- claims through a log ----------------------------------------------------------------------


def _key(event: KeyChanged) -> Words:
    text = f"key {event.before} -> {event.after} ({event.cause}):"
    return Words(text, joins=text, parts=(str(event.tp),), tps=frozenset({event.tp}))


def _claim(event: ClaimStep) -> Words:
    whose = "" if event.sender is None else f" of {event.sender}"
    became = event.stage.value if event.verdict is None else event.verdict.value
    why = f" ({event.error})" if event.error else ""
    text = f"{event.message.value}{whose} {became}{why}"
    routine = ""
    if event.message is ClaimMessage.HEARTBEAT and event.stage is ClaimStage.WRITTEN:
        routine = "heartbeat"
    elif event.verdict is ClaimVerdict.RENEWED:
        routine = "answer"  # what was read back is the same heartbeat
    part = _at(event.tp, event.position)
    return Words(text, Way.NONE, routine, text, (part,), frozenset({event.tp}))


def _rejected(event: MessageRejected) -> Words:
    return Words(f"{event.count} rejected, {event.reason}: {event.tp}@{event.offset}")


def _at(tp: TopicPartition, position: int | None) -> str:
    return str(tp) if position is None else f"{tp}@{position}"


# -- the network -------------------------------------------------------------------------------


def _opened(event: ConnectionOpened) -> Words:
    return Words(f"connected to {event.address}", routine="connection")


def _closed(event: ConnectionClosed) -> Words:
    return Words(f"connection {event.connection} has ended: {event.reason}", routine="connection")


def _sent(event: RequestSent) -> Words:
    routine = _api(event.api) if event.api in _ROUTINE_APIS else ""
    generation = "" if event.generation_id is None else f", generation {event.generation_id}"
    return Words(f"{_api(event.api)}{generation}", Way.OUT, routine)


def _answered(event: AnswerReceived) -> Words:
    said = "answered" if not event.error else error_name(event.error)
    generation = "" if event.generation_id is None else f", generation {event.generation_id}"
    # A heartbeat and its answer are one heartbeat.
    routine = "answer" if event.api in _ROUTINE_APIS and not event.error else ""
    return Words(f"{_api(event.api)} {said}{generation}", Way.IN, routine)


def _api(api: ApiKey) -> str:
    return "".join(part.capitalize() for part in api.name.split("_"))


# -- ownership ---------------------------------------------------------------------------------

_CHANGES: Final[Mapping[tuple[ChangeKind, Phase], str]] = MappingProxyType(
    {
        (ChangeKind.ASSIGNED, Phase.BEGIN): "is about to own",
        (ChangeKind.ASSIGNED, Phase.END): "owns",
        (ChangeKind.REVOKED, Phase.BEGIN): "is giving up",
        (ChangeKind.REVOKED, Phase.END): "has given up",
        (ChangeKind.LOST, Phase.BEGIN): "loses",
        (ChangeKind.LOST, Phase.END): "has been told of the loss of",
    }
)


def _ownership(event: OwnershipStep) -> Words:
    tps = _tps(event.claims)
    routine = "" if tps else "change of nothing"
    named = _named(tps) or "nothing"
    return Words(f"{_CHANGES[event.kind, event.phase]} {named}", Way.NONE, routine, tps=tps)


def _callback(event: CallbackStep) -> Words:
    if event.stage is CallbackStage.RAISE:
        return Words(f"on_{event.kind.value} raises: {event.error}")
    if event.stage is CallbackStage.OVERDUE:
        return Words(f"on_{event.kind.value} goes on although its time is over")
    return Words(f"on_{event.kind.value} {event.stage.value}", routine="callback")


# -- records -----------------------------------------------------------------------------------


def _offset_read(event: OffsetRead) -> Words:
    at = "anywhere: nothing is committed" if event.offset is None else f"@{event.offset}"
    part = f"{event.claim.tp} {at}" if event.offset is None else f"{event.claim.tp}{at}"
    return Words("begins", joins="read", parts=(part,), tps=_tps((event.claim,)))


def _position(event: PositionMoved) -> Words:
    part = f"{event.claim.tp}@{event.offset}"
    name = f"moves ({event.move.value})"
    return Words(name, joins=name, parts=(part,), tps=_tps((event.claim,)))


def _fetch(event: FetchIssued | FetchAnswered) -> Words:
    asks = "asks for" if isinstance(event, FetchIssued) else "gets"
    routine = "fetch" if isinstance(event, FetchIssued) else "answer"
    part = f"{event.claim.tp}@{event.offset}"
    return Words(asks, Way.NONE, routine, f"fetch {asks}", (part,), _tps((event.claim,)))


def _delivered(event: Delivered) -> Words:
    last = f"..{event.last}" if event.last > event.first else ""
    part = f"{event.claim.tp}@{event.first}{last}"
    return Words("delivers", Way.NONE, "delivery", "deliver", (part,), _tps((event.claim,)))


def _done(event: Done) -> Words:
    part = f"{event.claim.tp} below {event.next_offset}"
    return Words("is done with", Way.NONE, "batch done", "done", (part,), _tps((event.claim,)))


def _pause(event: Paused | Resumed) -> Words:
    tps = _tps(event.claims)
    verb = "pauses" if isinstance(event, Paused) else "resumes"
    why = "" if event.cause is PauseCause.APPLICATION else f" ({event.cause.value})"
    return Words(f"{verb} {_named(tps) or 'nothing'}{why}", tps=tps)


_COMMITS: Final[Mapping[CommitStage, str]] = MappingProxyType(
    {
        CommitStage.REQUESTED: "asks to commit",
        CommitStage.OK: "has committed",
        CommitStage.ERROR: "could not commit",
        CommitStage.UNKNOWN: "does not know whether it has committed",
    }
)


def _commit(event: CommitStep) -> Words:
    code = f" ({error_name(event.code)})" if event.code else ""
    text = f"{_COMMITS[event.stage]} (no. {event.commit_id}){code}"
    well = event.stage in (CommitStage.REQUESTED, CommitStage.OK)
    part = f"{event.claim.tp}@{event.offset}"
    routine = "commit" if well else ""
    return Words(text, Way.NONE, routine, text, (part,), _tps((event.claim,)))


# -- the coordinator ---------------------------------------------------------------------------


def _commit_stored(event: CommitStored) -> Words:
    since = "" if event.generation_id is None else f" of generation {event.generation_id}"
    text = f"stores a commit of {_short(event.member_id or 'somebody outside')}{since}:"
    part = f"{event.tp}@{event.offset}"
    return Words(text, Way.NONE, "stored commit", text, (part,), frozenset({event.tp}))


def _round_stored(event: RoundStored) -> Words:
    given = "; ".join(
        f"{_short(each.member_id)} {_named(each.partitions) or 'nothing'}" for each in event.members
    )
    return Words(f"stores generation {event.generation_id}: {given or 'nobody'}")


# -- the rest ----------------------------------------------------------------------------------


def _polled(_: Polled) -> Words:
    return Words("polls", routine="poll")


def _fault(event: FaultStep) -> Words:
    over = " is over" if event.phase is Phase.END else ""
    about = f"{event.target} " if event.target else ""
    return Words(f"FAULT: {about}{event.fault}{over}")


def _unknown(event: UnknownEvent) -> Words:
    return Words(event.kind, routine="unknown")


_WORDS: Final[Mapping[type[Event], Callable[[Any], Words]]] = MappingProxyType(
    {
        MemberStarted: _started,
        CloseAsked: _closing,
        MemberStopped: _stopped,
        StateChanged: _state,
        GenerationEntered: _generation,
        JoinIssued: _join,
        RoundFailed: _round_failed,
        KeyChanged: _key,
        ClaimStep: _claim,
        MessageRejected: _rejected,
        ConnectionOpened: _opened,
        ConnectionClosed: _closed,
        RequestSent: _sent,
        AnswerReceived: _answered,
        OwnershipStep: _ownership,
        CallbackStep: _callback,
        OffsetRead: _offset_read,
        PositionMoved: _position,
        FetchIssued: _fetch,
        FetchAnswered: _fetch,
        Delivered: _delivered,
        Done: _done,
        Paused: _pause,
        Resumed: _pause,
        Polled: _polled,
        CommitStep: _commit,
        CommitStored: _commit_stored,
        RoundStored: _round_stored,
        FaultStep: _fault,
        UnknownEvent: _unknown,
    }
)
