"""One interface for every way to coordinate a group.

Decides: what a consumer may ask of a coordination backend and what it is promised (G1-G8).
Never: says how; classic groups, Marshal and KIP-848 fit behind it unchanged.

Guarantees, each a contract class in `tests/contracts`:
G1 a commit under an ended claim or a stale generation never moves an offset and says so.
G2 no two periods of ownership share a claim.
G3 while no message is lost nobody owns a partition before the former owner has given it up or
   its session ran out.
G4 a member that cannot confirm its session reports lost by its own clock before the session ends.
G5 a silent member's partitions are available again within the session and one round.
G6 per partition changes are settled in order; lost may interrupt.
G7 cancelling any call leaves a usable backend.
G8 same inputs, same clock, same dice: same transcript.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol, runtime_checkable

from anyio.abc import TaskStatus

from kgroup.observe.vitals import Pulse
from kgroup.types import (
    Claim,
    CommitOutcome,
    Generation,
    Leave,
    Membership,
    OffsetAndMetadata,
    OwnershipChange,
    Subscription,
    TopicPartition,
)


class GroupBackend(Protocol):
    """Coordinates one member."""

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Do the background work until the member has left.

        Raises:
            GroupError: the membership ended for good.
            BrokerError: the coordinator refused for good.
        """
        ...

    def subscribe(self, subscription: Subscription | None) -> None:
        """Ask for topics, a pattern or exact partitions; None gives everything up."""
        ...

    async def next_change(self) -> OwnershipChange:
        """Wait for the next change; repeats the same one until it is settled. Cancel-safe."""
        ...

    def settled(self, change: OwnershipChange, *, failed: bool = False) -> None:
        """Say that the listener has returned (or raised) for this change."""
        ...

    def drained(self, claim: Claim) -> None:
        """Say that no record of this claim is in the application's hands any more."""
        ...

    def taken(self, claim: Claim) -> None:
        """Say that records of this claim are now in the application's hands."""
        ...

    def note_poll(self) -> None:
        """Say that the application has asked for records."""
        ...

    def may_deliver(self, claim: Claim) -> bool:
        """Tell whether records may be handed out under this claim now: the lease."""
        ...

    def token(self, claim: Claim) -> Generation | None:
        """Return the identity under which records of this claim are handed out, None without one.

        With Marshal its number is the offset of the claim, and later owners have higher ones.
        """
        ...

    async def admit(self, claim: Claim, until: int) -> bool:
        """Ask before records below `until` are handed out; at-most-once commits here."""
        ...

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        """Commit positions under their claims; per-partition outcomes, in order of submission."""
        ...

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float, whole: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed positions; None where nothing is committed.

        Unless it is to be `whole`, partitions about which nothing can be said yet are left out,
        so that nobody waits for the transaction of another.
        """
        ...

    def enforce_rebalance(self, reason: str) -> None:
        """Ask for a new round (KIP-568)."""
        ...

    async def leave(self, mode: Leave, reason: str, *, timeout: float) -> bool:
        """Give everything up and leave; idempotent, bounded, shielded; tell whether that was said.

        A member without an id, or without a coordinator in time, leaves without a LeaveGroup in
        any mode.
        """
        ...

    @property
    def takes_partitions(self) -> bool:
        """Whether exact partitions are asked of the group, instead of being taken by hand."""
        ...

    @property
    def trouble(self) -> Exception | None:
        """What is not permitted at present and every read must raise; it ends by itself."""
        ...

    @property
    def membership(self) -> Membership:
        """The present snapshot."""
        ...

    async def membership_changed(self, seen: Membership) -> Membership:
        """Wait until the snapshot differs from `seen`; may return earlier, with an equal one.

        It returns whenever records may be handed out that could not be before.
        """
        ...


@runtime_checkable
class QueueingBackend(Protocol):
    """A backend that takes a commit within one step: no task has to wait for what becomes of it."""

    def submit_commit(
        self,
        offsets: Mapping[Claim, OffsetAndMetadata],
        heard: Callable[[CommitOutcome], None],
    ) -> None:
        """Queue positions under their claims, in order of calls; as `GroupBackend.commit`.

        Args:
            offsets: claim -> position.
            heard: called once with the outcome, in order of calls, perhaps before this returns; it
                must not wait.
        """
        ...


@runtime_checkable
class PulsingBackend(Protocol):
    """A backend whose membership ends unless it is confirmed."""

    def pulse(self) -> Pulse:
        """Return until when its claims are proved, since when, and how long a proof lasts."""
        ...
