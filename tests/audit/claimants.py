"""Histories written by hand of members that claim partitions through a log.

A `Claimant` writes what such a member does in the order a right one does it; all claimants of one
history share a coordination partition, whose offsets rise with each message.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from kgroup.journal import (
    ClaimMessage,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    CommitStage,
    CommitStep,
    Entry,
    KeyChanged,
    MemberStarted,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    Phase,
    Source,
)
from kgroup.types import ChangeKind, Claim
from tests.audit.histories import COOPERATIVE, History, Writer, tp

LEASE = 120.0
MARGIN = 15.0


@dataclass(eq=False)
class Claimant(Writer):
    """One life of one member; it has no member id and no generation."""

    log: Iterator[int] = field(default_factory=count)
    tickets: Iterator[int] = field(default_factory=lambda: count(1))
    epochs: dict[int, int] = field(default_factory=dict)

    def start(self) -> None:
        self.write(
            MemberStarted(
                group_instance_id=self.instance,
                session_timeout=LEASE,
                rebalance_timeout=300.0,
                lease_margin=MARGIN,
                heartbeat_interval=LEASE / 6,
            )
        )

    def stop(self, *, left: bool = True) -> None:
        self.write(MemberStopped("closed", left=left))
        self.claims.clear()

    # -- the log ---------------------------------------------------------------------------

    def put(self, message: ClaimMessage, partition: int, position: int | None = None) -> ClaimStep:
        """Begin to write a message."""
        step = ClaimStep(
            stage=ClaimStage.WRITTEN,
            message=message,
            tp=tp(partition),
            ticket=next(self.tickets),
            epoch=None if message is ClaimMessage.CLAIM else self.epochs[partition],
            position=position,
        )
        self.write(step)
        return step

    def read_back(self, step: ClaimStep, verdict: ClaimVerdict) -> Entry:
        """Read a message of its own."""
        offset = next(self.log)
        if verdict is ClaimVerdict.ACCEPTED:
            self.epochs[step.tp.partition] = offset
            step = replace(step, epoch=offset)
        return self.write(replace(step, stage=ClaimStage.READ, offset=offset, verdict=verdict))

    def beat(self, partition: int, verdict: ClaimVerdict = ClaimVerdict.RENEWED) -> None:
        position = self.positions.get(tp(partition), 0)
        self.read_back(self.put(ClaimMessage.HEARTBEAT, partition, position), verdict)

    def claim(self, partition: int) -> None:
        """Claim a key; the claim is accepted."""
        self.move(partition, "about to claim", "claim written", "claim due")
        self.read_back(self.put(ClaimMessage.CLAIM, partition), ClaimVerdict.ACCEPTED)
        self.move(partition, "claim written", "claim accepted", "own claim accepted")

    def release(self, partition: int) -> None:
        """Hand a key back."""
        step = self.put(ClaimMessage.RELEASE, partition, self.positions[tp(partition)])
        self.read_back(step, ClaimVerdict.RELEASED)
        self.move(partition, "release written", "not asked for", "own release counted")

    def see(self, partition: int, sender: str) -> None:
        """Read that a claim of another was accepted."""
        step = ClaimStep(
            stage=ClaimStage.READ,
            message=ClaimMessage.CLAIM,
            tp=tp(partition),
            offset=next(self.log),
            verdict=ClaimVerdict.ACCEPTED,
            sender=sender,
        )
        self.write(step)
        self.move(partition, "owned", "not asked for", "somebody else has it")

    def move(self, partition: int, before: str, after: str, cause: str) -> None:
        self.write(KeyChanged(tp=tp(partition), before=before, after=after, cause=cause))

    # -- what any member does, without an id and a generation --------------------------------

    def own(self, partition: int, offset: int) -> None:
        """Claim a key, prove that, and own it from an offset on."""
        self.claim(partition)
        self.positions[tp(partition)] = offset
        self.beat(partition)
        self.move(partition, "first heartbeat written", "owned", "own heartbeat counted")
        self.assign(partition, offset=offset)

    def give(self, partition: int) -> None:
        """Commit, give up and hand back."""
        self.commit(partition)
        self.revoke(partition)
        self.release(partition)

    def step(self, kind: ChangeKind, phase: Phase, claims: tuple[Claim, ...]) -> Entry:
        return self.write(OwnershipStep(kind=kind, phase=phase, claims=claims, serial=self.changes))

    def read(self, partition: int, offset: int | None) -> None:
        self.write(OffsetRead(self.claims[tp(partition)], offset))
        if offset is not None:
            self.positions[tp(partition)] = offset

    def commit_step(
        self, stage: CommitStage, partition: int, *, offset: int | None = None
    ) -> Entry:
        return self.write(
            CommitStep(
                stage=stage,
                commit_id=self.commits,
                claim=self.claims[tp(partition)],
                offset=self.positions[tp(partition)] if offset is None else offset,
            )
        )


def claimants(history: History, *labels: str) -> tuple[Claimant, ...]:
    """Return members that share a coordination partition."""
    log = count()
    return tuple(
        Claimant(history, Source("h", "1", label, "g"), COOPERATIVE, None, log=log)
        for label in labels
    )
