"""C3, C6 and C7: accepted positions go forward and are handed on.

Decides: whether the commits of a partition, over all its owners, form one line.
Never: judges records.

C3: accepted offsets of a partition do not decrease, unless its position was moved on purpose, or
    an administrator changed what was committed.
C6: each commit gets at most one outcome, after it was asked (an error without a code may come
    unasked: nothing was sent); one whose outcome is unknown is asked again only under the same
    claim and never after a later one of the partition was accepted.
C7: the offset a new owner reads is not below the last commit acknowledged to an owner before it
    asked: a commit and an OffsetFetch that are out together may be served in either order.
"""

from bisect import bisect_left
from dataclasses import field, replace
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    AnswerReceived,
    CommitStage,
    CommitStep,
    CommitStored,
    ConnectionClosed,
    Entry,
    Event,
    OffsetRead,
    PositionMoved,
    RequestSent,
    Source,
)
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass

_CommitKey = tuple[Source, int, TopicPartition]


@dataclass(frozen=True, slots=True)
class _Accepted:
    """The latest commit of a partition that the coordinator accepted."""

    offset: int
    commit_id: int
    claim: Claim
    entry: Entry
    moved: bool = False


@dataclass(frozen=True, slots=True)
class _Fetch:
    """An OffsetFetch.

    Args:
        number: of it, in the order in which they are sent; the first is 1.
        answered: partitions that its answer has; what is read later is not among them.
    """

    number: int
    answered: set[TopicPartition] = field(default_factory=set)


class CommitOrder:
    """C3, C6 and C7: the line of commits of each partition."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            AnswerReceived,
            CommitStep,
            CommitStored,
            ConnectionClosed,
            OffsetRead,
            PositionMoved,
            RequestSent,
        }
    )

    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.OFFSET_FETCH})

    ONE_PARTITION: ClassVar[bool] = True
    __slots__ = ("_answered", "_asked", "_fetches", "_lines", "_sent", "_stands", "_unknown")

    def __init__(self) -> None:
        self._answered: dict[Source, _Fetch] = {}
        self._asked: dict[_CommitKey, tuple[Claim, Entry]] = {}
        self._fetches: dict[Source, dict[tuple[int, int], _Fetch]] = {}
        self._lines: dict[TopicPartition, list[tuple[int, _Accepted | None]]] = {}
        """What was accepted, each after so many OffsetFetches; of each number the last."""
        self._sent = 0
        self._stands: dict[TopicPartition, int | None] = {}
        self._unknown: dict[_CommitKey, tuple[Claim, Entry]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        match entry.event:
            case CommitStep(stage=CommitStage.REQUESTED) as step:
                return self._request(entry, step)
            case CommitStep() as step:
                return self._outcome(entry, step)
            case OffsetRead() as read:
                return self._read(entry, read)
            case PositionMoved(claim=claim):
                known = self._accepted(claim.tp)
                if known is not None:
                    self._accept(claim.tp, replace(known, moved=True))
            case CommitStored() as stored:
                self._stored(stored)
            case event:
                self._follow(entry.source, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing: a commit without an outcome may belong to a killed process."""
        return ()

    def _follow(self, source: Source, event: Event) -> None:
        """Take what goes over the wire: what an OffsetFetch is owed is settled when it is sent."""
        fetches = self._fetches.setdefault(source, {})
        match event:
            case RequestSent(api=ApiKey.OFFSET_FETCH):
                key = (event.connection, event.correlation_id)
                self._sent += 1
                fetches[key] = _Fetch(self._sent)
            case AnswerReceived(api=ApiKey.OFFSET_FETCH):
                fetch = fetches.pop((event.connection, event.correlation_id), None)
                self._answered.pop(source, None)
                if fetch is not None:
                    self._answered[source] = fetch
            case ConnectionClosed(connection=connection):
                for key in [key for key in fetches if key[0] == connection]:
                    del fetches[key]
            case _:
                pass

    def _accepted(self, tp: TopicPartition, fetch: int | None = None) -> _Accepted | None:
        """Return the latest commit of a partition, or that of when an OffsetFetch was sent."""
        line = self._lines.get(tp, [])
        upto = len(line) if fetch is None else bisect_left(line, fetch, key=lambda each: each[0])
        return line[upto - 1][1] if upto else None

    def _accept(self, tp: TopicPartition, latest: _Accepted | None) -> None:
        """Take the latest commit of a partition; the earlier one stays if anybody has asked."""
        line = self._lines.setdefault(tp, [])
        if line and line[-1][0] == self._sent:
            line.pop()
        line.append((self._sent, latest))

    def _stored(self, stored: CommitStored) -> None:
        """Forget what members were answered, where it does not stand any more.

        Whether what is stored may go back is judged by itself (C3, `stored`). An administrator's
        offset begins a new line.
        """
        tp, offset = stored.tp, stored.offset
        self._stands[tp] = offset
        known = self._accepted(tp)
        lower = known is not None and (offset is None or offset < known.offset)
        if stored.member_id is None or lower:
            self._accept(tp, None)

    def _stood(self, step: CommitStep) -> bool:
        """Tell whether what a late answer tells of is not overruled already."""
        tp = step.claim.tp
        if tp not in self._stands:
            return True  # nobody tells what is stored
        stands = self._stands[tp]
        return stands is not None and stands >= step.offset

    def _request(self, entry: Entry, step: CommitStep) -> tuple[Violation, ...]:
        key = (entry.source, step.commit_id, step.claim.tp)
        former = self._unknown.pop(key, None)
        self._asked[key] = (step.claim, entry)
        if former is None:
            return ()
        claim, unknown = former
        accepted = self._accepted(step.claim.tp)
        if claim != step.claim:
            why, proof = f"under {step.claim} instead of {claim}", entry
        elif accepted is not None and self._is_later(accepted, key):
            why, proof = f"after {accepted.offset} was accepted", accepted.entry
        else:
            return ()
        text = (
            f"{step.claim.tp}: commit {step.commit_id} of offset {step.offset}, whose outcome is "
            f"unknown, is asked again by {entry.source} {why}"
        )
        return (Violation("C6", text, (unknown, proof, entry), step.claim.tp),)

    @staticmethod
    def _is_later(accepted: _Accepted, key: _CommitKey) -> bool:
        source, commit_id, _ = key
        return accepted.entry.source != source or accepted.commit_id > commit_id

    def _outcome(self, entry: Entry, step: CommitStep) -> tuple[Violation, ...]:
        key = (entry.source, step.commit_id, step.claim.tp)
        asked = self._asked.pop(key, None)
        if asked is None and step.stage is CommitStage.ERROR and step.code is None:
            return ()
        if asked is None:
            text = (
                f"{step.claim.tp}: commit {step.commit_id} of {entry.source} is reported "
                f"{step.stage.value}, but no answer to it is awaited"
            )
            return (Violation("C6", text, (entry,), step.claim.tp),)
        if step.stage is CommitStage.UNKNOWN:
            self._unknown[key] = (step.claim, entry)
        if step.stage is not CommitStage.OK or not self._stood(step):
            return ()
        known = self._accepted(step.claim.tp)
        if known is not None and step.offset < known.offset and step.claim.tp in self._stands:
            return ()  # it is heard late; the order is that of what is stored
        # A commit sent before a move may land after it, so a move allows one later decrease.
        ahead = known is None or step.offset >= known.offset
        moved = known is not None and known.moved
        latest = _Accepted(step.offset, step.commit_id, step.claim, entry, moved=moved and ahead)
        self._accept(step.claim.tp, latest)
        if known is None or moved or ahead:
            return ()
        text = (
            f"{step.claim.tp}: {step.offset} was committed by {entry.source} after "
            f"{known.offset}, {known.offset - step.offset} offsets back"
        )
        return (Violation("C3", text, (known.entry, entry), step.claim.tp),)

    def _owed(self, source: Source, tp: TopicPartition) -> _Accepted | None:
        """Return the commit below which nothing may be read here, None when anything may be."""
        known, fetch = self._accepted(tp), self._answered.get(source)
        if fetch is None or tp in fetch.answered:
            return known
        fetch.answered.add(tp)
        before = self._accepted(tp, fetch.number)
        if known is None or before is None:
            return None
        return min(before, known, key=lambda each: each.offset)

    def _read(self, entry: Entry, read: OffsetRead) -> tuple[Violation, ...]:
        known = self._owed(entry.source, read.claim.tp)
        if known is None or (read.offset is not None and read.offset >= known.offset):
            return ()
        newer = known.entry.event
        assert isinstance(newer, CommitStep)
        if newer.generation_id is not None and (
            read.generation_id is None or read.generation_id < newer.generation_id
        ):
            # 1. it asks; 2. it stands still, and is evicted; 3. another one commits; 4. it wakes up
            # with the answer, and no lease, or out of its generation already.
            return ()
        text = (
            f"{read.claim.tp}: {entry.source} read the committed offset {read.offset} after "
            f"{known.offset} was acknowledged to {known.entry.source}"
        )
        return (Violation("C7", text, (known.entry, entry), read.claim.tp),)
