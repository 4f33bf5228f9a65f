"""One member as its coordinator knows it.

Decides: what a member offers, whether it waits for an answer, and what it votes for.
Never: knows the group it is in.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from kgroup.testing.broker.agenda import Timer

__all__ = ["Member", "Waiting"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A parked request of a member.

    Args:
        ticket: where its answer goes; None = it has been answered, but counts as one that waits.
        version: of the request; answers differ in what null may be.
    """

    ticket: int | None
    version: int


@dataclass(slots=True, kw_only=True)
class Member:
    """One member.

    Args:
        member_id: its id.
        instance_id: group.instance.id of a static member, None for a dynamic one.
        client_id: for DescribeGroups.
        client_host: the same.
        session_timeout: seconds.
        rebalance_timeout: seconds.
        protocols: (name, metadata) of each assignor, in order of preference.
        assignment: bytes the leader gave it last.
        is_new: waits in its first join; it has no session yet and cannot keep one alive.
        join: its parked JoinGroup.
        sync: its parked SyncGroup.
        session: the end of its session.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    is_new: bool = True
    join: Waiting | None = None
    sync: Waiting | None = None
    session: Timer | None = field(default=None, repr=False)

    def metadata(self, protocol: str) -> bytes:
        """Return what it offers under an assignor's name, empty bytes if it does not know it."""
        return next((blob for name, blob in self.protocols if name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """Return its first choice among candidates that it supports, as all members do."""
        return next(name for name, _ in self.protocols if name in candidates)

    @property
    def outlives_session(self) -> bool:
        """Whether the end of its session is no reason to remove it: it waits for an answer."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def quiet(self) -> None:
        """Call its session timer off."""
        if self.session is not None:
            self.session.cancel()
