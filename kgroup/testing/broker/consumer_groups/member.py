"""One member as its coordinator knows it, whichever of the two protocols it speaks.

Decides: nothing; `group` does.
Never: sets timers; `pace` does.
"""

from dataclasses import field

from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.consumer_groups.assigning import Place
from kgroup.values import dataclass


@dataclass(slots=True)
class ClassicSide:
    """What is known besides of a member that speaks the classic protocol.

    Args:
        session_timeout: its own, seconds.
        protocols: (name, metadata) of each assignor, in order of preference.
        rejoining: ends its time to join again, once it was told to.
        syncing: ends its time to ask for its part, once it has joined.
    """

    session_timeout: float
    protocols: tuple[tuple[str, bytes], ...]
    rejoining: Timer | None = field(default=None, repr=False)
    syncing: Timer | None = field(default=None, repr=False)

    def quiet(self) -> None:
        """Call its timers off."""
        for timer in (self.rejoining, self.syncing):
            if timer is not None:
                timer.cancel()
        self.rejoining = self.syncing = None


@dataclass(slots=True)
class ConsumerMember:
    """One member of a KIP-848 group.

    Args:
        member_id: made by the client.
        instance_id: group.instance.id, None for a dynamic member.
        client_id: name its client gave itself.
        client_host: address it came from.
        rack_id: as told, None without one.
        rebalance_timeout: seconds it may take to revoke.
        topics: names it subscribes to.
        regex: pattern it subscribes to, None without one.
        assignor: what it asks for, None for the group's choice.
        epoch: its own; -2 while a static member is away.
        before: the epoch that an answer it may have missed put an end to.
        assigned: what it may have -> the epoch in which it came.
        revoking: what it has not said yet that it gave up.
        waits: part of its target belongs to others still.
        classic: None for a member that speaks KIP-848.
        session: ends its session.
        revocation: ends its time to revoke.
    """

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rack_id: str | None = None
    rebalance_timeout: float = 0.0
    topics: frozenset[str] = frozenset()
    regex: str | None = None
    assignor: str | None = None
    epoch: int = 0
    before: int = -1
    assigned: dict[Place, int] = field(default_factory=dict)
    revoking: dict[Place, int] = field(default_factory=dict)
    waits: bool = False
    classic: ClassicSide | None = None
    session: Timer | None = field(default=None, repr=False)
    revocation: Timer | None = field(default=None, repr=False)

    @property
    def holds(self) -> frozenset[Place]:
        """What nobody else may be given."""
        return frozenset(self.assigned) | frozenset(self.revoking)

    @property
    def asks_for(self) -> tuple[frozenset[str], str | None]:
        """Its subscription."""
        return self.topics, self.regex

    def quiet(self) -> None:
        """Call its timers off."""
        for timer in (self.session, self.revocation):
            if timer is not None:
                timer.cancel()
        self.session = self.revocation = None
        if self.classic is not None:
            self.classic.quiet()
