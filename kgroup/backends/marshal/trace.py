"""What the journal says about each step of a Marshal member.

Decides: which journal events a step is worth.
Never: decides anything about a key.
"""

import logging
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from kgroup.journal import (
    ClaimMessage,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    KeyChanged,
    MessageRejected,
    Sink,
    StateChanged,
)
from kgroup.machine.wishes import CallListener, claims_ended
from kgroup.marshal.events import Append, AppendFailed, Event, KeyRead, LogRead
from kgroup.marshal.key_rows import KeyPhase
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Kind
from kgroup.marshal.presence import PRESENCE_SUFFIX
from kgroup.marshal.rules import MarshalSettings, Verdict
from kgroup.marshal.step import Step
from kgroup.marshal.view import DAMAGED, LogView
from kgroup.types import ChangeKind, OwnershipChange, TopicPartition
from kgroup.values import dataclass

log = logging.getLogger("kgroup.marshal")

_DIGITS: Final = 18
_NAMED: Final = 5
"""Partitions that one line of the log names."""

_MESSAGES: Final = MappingProxyType(
    {
        Kind.CLAIMING_PARTITION: ClaimMessage.CLAIM,
        Kind.HEARTBEAT: ClaimMessage.HEARTBEAT,
        Kind.RELEASING_PARTITION: ClaimMessage.RELEASE,
        Kind.CLAIMING_MESSAGES: ClaimMessage.PROBE,
    }
)
_VERDICTS: Final = MappingProxyType(
    {
        Verdict.ACCEPTED: ClaimVerdict.ACCEPTED,
        Verdict.ADOPTED: ClaimVerdict.ADOPTED,
        Verdict.RENEWED: ClaimVerdict.RENEWED,
        Verdict.RELEASED: ClaimVerdict.RELEASED,
        Verdict.PROBED: ClaimVerdict.PROBED,
        Verdict.REFUSED: ClaimVerdict.REFUSED,
        Verdict.VOID: ClaimVerdict.VOID,
    }
)
_PROVES: Final = (Verdict.RENEWED, Verdict.ADOPTED)


class ClaimTrace:
    """Turns steps into journal events and log lines.

    Args:
        settings: of the member.
        sink: takes the events.
    """

    def __init__(self, settings: MarshalSettings, sink: Sink) -> None:
        self._group = settings.group_id
        self._who = settings.client_id.encode(), settings.instance_id.encode()
        self._sink = sink

    def stepped(self, before: MarshalMember, event: Event, result: Step) -> None:
        """Report one step: what was read, which phases it came to, what is written."""
        after = result.member
        if isinstance(event, LogRead):
            known = event.partition in before.logs  # else it was lost meanwhile
            for read in event.reads if known else ():
                self._read(before, after, read)
        if isinstance(event, AppendFailed):
            self._failed(before, event)
        for tp, row in result.rows:
            log.debug("group=%s key=%s row=%s to=%s", self._group, tp, row, row.to.name)
            if row.to is not row.at:
                self._sink.emit(
                    KeyChanged(tp=tp, before=row.at.value, after=row.to.value, cause=row.on.value)
                )
        if before.state is not after.state:
            cause = "" if after.cause is None else after.cause.value
            self._sink.emit(StateChanged(before.state, after.state, cause))
        for effect in result.effects:
            if isinstance(effect, Append):
                self._written(effect)
            if isinstance(effect, CallListener):
                self._changed(before, effect.change)

    def _written(self, effect: Append) -> None:
        if effect.topic.endswith(PRESENCE_SUFFIX):
            return
        claims = effect.kind is Kind.CLAIMING_PARTITION
        self._sink.emit(
            ClaimStep(
                stage=ClaimStage.WRITTEN,
                message=_MESSAGES[effect.kind],
                tp=TopicPartition(effect.topic, effect.partition),
                ticket=effect.ticket,
                epoch=effect.extension.epoch,
                position=None if claims else effect.tail,
            )
        )

    def _read(self, before: MarshalMember, after: MarshalMember, read: KeyRead) -> None:
        own = (read.client_id, read.instance_id) == self._who
        known = read.tp in before.lives or read.tp in after.lives
        verdict = _VERDICTS.get(read.verdict)
        if verdict is None or not (own or (known and read.verdict in _CHANGES)):
            return
        life = after.life(read.tp)
        proves = own and read.verdict in _PROVES and life.phase is KeyPhase.OWNED
        sender = b"/".join((read.client_id, read.instance_id)).decode(errors="replace")
        self._sink.emit(
            ClaimStep(
                stage=ClaimStage.READ,
                message=_MESSAGES[read.kind],
                tp=read.tp,
                ticket=_ticket(read.nonce) if own else None,
                epoch=read.standing.epoch,
                position=None if read.kind is Kind.CLAIMING_PARTITION else read.tail,
                offset=read.offset,
                verdict=verdict,
                lease_end=life.expires_at if proves else None,
                sender=None if own else sender,
            )
        )

    def _failed(self, before: MarshalMember, event: AppendFailed) -> None:
        life = _writer(before, event.ticket)
        if life is None or life.write is None:
            return
        self._sink.emit(
            ClaimStep(
                stage=ClaimStage.UNKNOWN if event.maybe else ClaimStage.FAILED,
                message=_MESSAGES[life.write.kind],
                tp=life.tp,
                ticket=event.ticket,
                epoch=life.epoch,
                error=str(event.error),
            )
        )

    def _changed(self, before: MarshalMember, change: OwnershipChange) -> None:
        if change.removed and change.serial >= before.next_change:
            self._sink.emit(claims_ended(change))
        claims = change.added or change.removed
        names = ", ".join(str(claim.tp) for claim in claims[:_NAMED])
        if len(claims) > _NAMED:
            names += f" and {len(claims) - _NAMED} more"
        level = logging.WARNING if change.kind is ChangeKind.LOST else logging.INFO
        kind, cause = change.kind.value, change.cause.value
        log.log(level, "group=%s %s partitions=%s cause=%s", self._group, kind, names, cause)


_CHANGES: Final = frozenset({Verdict.ACCEPTED, Verdict.ADOPTED, Verdict.RELEASED})


def _writer(member: MarshalMember, ticket: int) -> KeyLife | None:
    lives = member.lives.values()
    return next((life for life in lives if life.write and life.write.ticket == ticket), None)


def _ticket(nonce: bytes | None) -> int | None:
    """Read what may be somebody else's bytes under our name."""
    if not nonce or len(nonce) > _DIGITS or not nonce.isdigit():
        return None
    return int(nonce)


# -- rejects ---------------------------------------------------------------------------------------
#
# What a member says of what stands in the log of claims and changes nothing.
#
# That is records that are no messages, or not believed, and batches that cannot be read at all.
#
# Decides: when it is written: at the first of each reason, and once a minute while there are more.
# Never: judges a record; the reducer has counted it, and nothing follows from it.


_SAY_AGAIN: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Said:
    """What was written last of one reason.

    Args:
        count: rejected for it until then.
        at: instant, seconds.
    """

    count: int
    at: float


class Rejects:
    """Counts them by reason, over all partitions that are read.

    Args:
        sink: takes the events.
        clock: seconds.
    """

    def __init__(self, sink: Sink, clock: Callable[[], float]) -> None:
        self._sink = sink
        self._clock = clock
        self._counts: dict[str, dict[TopicPartition, int]] = {}
        self._said: dict[str, _Said] = {}

    def look(self, tp: TopicPartition, view: LogView) -> None:
        """Tell of what there is to tell.

        Args:
            tp: coordination partition.
            view: as it was read; that of a log that is read anew counts anew.
        """
        for why, count in view.world.rejects.items():
            self._count(tp, why.value, count, view.world.rejected_at[why])
        if view.damaged:
            self._count(tp, DAMAGED, view.damaged, view.damaged_at)

    def _count(self, tp: TopicPartition, why: str, count: int, offset: int) -> None:
        counts, said = self._counts.setdefault(why, {}), self._said.get(why)
        counts[tp] = count
        total, now = sum(counts.values()), self._clock()
        if said is not None and (total == said.count or now < said.at + _SAY_AGAIN):
            return
        self._said[why] = _Said(total, now)
        self._sink.emit(MessageRejected(tp=tp, reason=why, count=total, offset=offset))
        text = "%s: what stands at offset %d changes nothing: %s (%d so far)"
        log.warning(text, tp, offset, why, total)
