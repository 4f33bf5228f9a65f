"""C8 and C9: commits are settled before a join, and stay behind the newest poll.

C8: the commits of a claim that was revoked have an outcome before a JoinGroup is sent that does
    not list it any more.
C9: with automatic commits, no commit covers a record that the newest poll handed out, unless the
    application said by itself that it was done with it, or moved the position since.

Decides: when commits come, in a rebalance and around a poll.
Never: looks at what the coordinator stored.
"""

from dataclasses import dataclass
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    Delivered,
    Done,
    Entry,
    Event,
    JoinIssued,
    MemberStopped,
    OwnershipStep,
    Phase,
    Polled,
    PositionMoved,
    Source,
)
from kgroup.types import ChangeKind, Claim


class CommitsBeforeJoin:
    """C8: commits of revoked claims are settled before the next round."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStep, JoinIssued, MemberStopped, OwnershipStep}
    )

    __slots__ = ("_open", "_revoked")

    def __init__(self) -> None:
        self._open: dict[Source, dict[tuple[int, Claim], Entry]] = {}
        self._revoked: dict[Source, dict[Claim, None]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, CommitStep):
            open_ = self._open.get(entry.source)
            if open_ is None:
                open_ = self._open[entry.source] = {}
            if event.stage is CommitStage.REQUESTED:
                open_[event.commit_id, event.claim] = entry
            else:
                open_.pop((event.commit_id, event.claim), None)
        elif isinstance(event, JoinIssued):
            return self._joins(entry)
        elif isinstance(event, OwnershipStep):
            if event.kind is ChangeKind.REVOKED and event.phase is Phase.END:
                revoked = self._revoked.setdefault(entry.source, {})
                revoked.update(dict.fromkeys(event.claims))
        else:
            self._open.pop(entry.source, None)
            self._revoked.pop(entry.source, None)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _joins(self, entry: Entry) -> tuple[Violation, ...]:
        revoked = self._revoked.pop(entry.source, {})
        return tuple(
            Violation(
                "C8",
                f"{entry.source} joins although commit {commit_id} of {claim}, which was revoked, "
                "has no outcome yet",
                (asked, entry),
                claim.tp,
            )
            for (commit_id, claim), asked in self._open.get(entry.source, {}).items()
            if claim in revoked
        )


@dataclass(slots=True)
class _Hands:
    """What the newest poll handed out of one claim.

    Args:
        poll: number of the poll.
        first: offset of the first record it handed out.
        done: how far the application said by itself that it was done with them.
        entry: the delivery.
    """

    poll: int
    first: int
    done: int
    entry: Entry


class AutoCommitBehindPoll:
    """C9: an automatic commit stays behind the newest poll.

    Args:
        explicit: whether the application may say that it is done with records before it polls
            again; then these may be committed.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStep, Delivered, Done, Polled, PositionMoved}
    )

    __slots__ = ("_explicit", "_hands", "_polls")

    def __init__(self, *, explicit: bool = False) -> None:
        self._explicit = explicit
        self._polls: dict[Source, int] = {}
        self._hands: dict[tuple[Source, Claim], _Hands] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event, source = entry.event, entry.source
        if isinstance(event, Polled):
            self._polls[source] = self._polls.get(source, 0) + 1
        elif isinstance(event, Delivered):
            poll = self._polls.get(source, 0)
            hands = self._hands.get((source, event.claim))
            if hands is None or hands.poll != poll:
                new = _Hands(poll, event.first, event.first, entry)
                self._hands[source, event.claim] = new
        elif isinstance(event, PositionMoved):
            self._hands.pop((source, event.claim), None)
        elif isinstance(event, Done):
            if self._explicit:
                self._done(entry, event)
        elif isinstance(event, CommitStep) and event.stage is CommitStage.REQUESTED:
            return self._commits(entry, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _done(self, entry: Entry, event: Done) -> None:
        hands = self._hands.get((entry.source, event.claim))
        if hands is not None:
            hands.done = max(hands.done, event.next_offset)

    def _commits(self, entry: Entry, step: CommitStep) -> tuple[Violation, ...]:
        hands = self._hands.get((entry.source, step.claim))
        if hands is None or hands.poll != self._polls.get(entry.source, 0):
            return ()
        if step.offset <= max(hands.first, hands.done):
            return ()
        text = (
            f"{step.claim}: {entry.source} commits {step.offset} although the newest poll handed "
            f"out the records from {hands.first} on"
        )
        return (Violation("C9", text, (hands.entry, entry), step.claim.tp),)
