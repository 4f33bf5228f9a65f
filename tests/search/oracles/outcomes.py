"""C10 and L8's second half: callers hear what became of each partition of a commit.

C10: a partition of a commit is reported accepted only when the coordinator stored its offset, a
    later one, or the one that its member asked for after it, since it was asked; the leader epoch
    that was stored is the one that is read (KIP-320).
L8: an asked commit has an outcome before its member stops: an answer is never dropped silently.
A history without the coordinator's entries is judged by L8 only.

Decides: whether what a member was told is what the coordinator stored.
Never: judges whether the commit was right.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    CommitStored,
    Entry,
    Event,
    MemberStopped,
    OffsetRead,
    RoundStored,
    Source,
)
from kgroup.types import TopicPartition
from tests.search.oracles import excuses


@dataclass(slots=True)
class _Partition:
    """What the coordinator stored for one partition since the oldest open question.

    Args:
        dropped: how many stored offsets are forgotten already.
        stored: those after them.
        waiting: open questions about the partition.
        latest: the latest entry of all.
    """

    dropped: int = 0
    stored: list[int | None] = field(default_factory=list)
    waiting: int = 0
    latest: Entry | None = None


class TrueOutcomes:
    """C10 and L8: outcomes of commits."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStep, CommitStored, RoundStored, MemberStopped, OffsetRead}
    )

    __slots__ = ("_asked", "_partitions", "_truth")

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._truth = False
        self._asked: dict[Source, dict[tuple[int, TopicPartition], tuple[int, Entry]]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, CommitStep):
            if event.stage is CommitStage.REQUESTED:
                self._request(entry, event)
                return ()
            return self._outcome(entry, event)
        if isinstance(event, CommitStored):
            self._stored(entry, event)
        elif isinstance(event, RoundStored):
            self._truth = True
        elif isinstance(event, OffsetRead):
            return self._read(entry, event)
        elif isinstance(event, MemberStopped):
            return self._stopped(entry)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing: a commit without an outcome may belong to a killed process."""
        return ()

    def _of(self, tp: TopicPartition) -> _Partition:
        known = self._partitions.get(tp)
        if known is None:
            known = self._partitions[tp] = _Partition()
        return known

    def _request(self, entry: Entry, step: CommitStep) -> None:
        about = self._of(step.claim.tp)
        about.waiting += 1
        mark = about.dropped + len(about.stored)
        asked = self._asked.setdefault(entry.source, {})
        asked[step.commit_id, step.claim.tp] = (mark, entry)

    def _stored(self, entry: Entry, stored: CommitStored) -> None:
        about = self._of(stored.tp)
        self._truth = True
        about.latest = entry
        if about.waiting:
            about.stored.append(stored.offset)
        else:
            about.dropped += 1

    def _outcome(self, entry: Entry, step: CommitStep) -> tuple[Violation, ...]:
        tp = step.claim.tp
        asked = self._asked.get(entry.source, {}).pop((step.commit_id, tp), None)
        if asked is None:
            return ()  # C6's business
        mark, question = asked
        about = self._of(tp)
        since = about.stored[mark - about.dropped :]
        self._answered(about)
        reached = any(offset is not None and offset >= step.offset for offset in since)
        if step.stage is not CommitStage.OK or not self._truth or reached:
            return ()
        if excuses.reported_with_a_later_commit(self._newer(entry.source, step), since):
            return ()
        text = (
            f"{tp}: {entry.source} was told that commit {step.commit_id} of {step.offset} was "
            "accepted, but the coordinator stored nothing like it since it was asked"
        )
        return (Violation("C10", text, (question, entry), tp),)

    def _newer(self, source: Source, step: CommitStep) -> frozenset[int]:
        """Return the offsets that a member asked for after a commit, and has no outcome of."""
        return frozenset(
            question.event.offset
            for (commit_id, tp), (_, question) in self._asked.get(source, {}).items()
            if tp == step.claim.tp and commit_id > step.commit_id
            if isinstance(question.event, CommitStep)
        )

    @staticmethod
    def _answered(about: _Partition) -> None:
        about.waiting -= 1
        if about.waiting == 0:
            about.dropped += len(about.stored)
            about.stored.clear()

    def _read(self, entry: Entry, read: OffsetRead) -> tuple[Violation, ...]:
        about = self._partitions.get(read.claim.tp)
        if about is None or about.latest is None:
            return ()
        stored = about.latest.event
        assert isinstance(stored, CommitStored)
        if stored.offset != read.offset or stored.leader_epoch in (None, read.leader_epoch):
            return ()
        text = (
            f"{read.claim}: {entry.source} read {read.offset} with leader epoch "
            f"{read.leader_epoch}, but it was stored with {stored.leader_epoch}"
        )
        return (Violation("C10", text, (about.latest, entry), read.claim.tp),)

    def _stopped(self, entry: Entry) -> tuple[Violation, ...]:
        found: list[Violation] = []
        for (commit_id, tp), (_, question) in self._asked.pop(entry.source, {}).items():
            self._answered(self._of(tp))
            text = f"{tp}: commit {commit_id} of {entry.source} has no outcome, but it stopped"
            found.append(Violation("L8", text, (question, entry), tp))
        return tuple(found)
