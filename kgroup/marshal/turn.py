"""The work of one step: the member so far, the effects so far, the rows that fired.

Decides: how a write is made, how a change is queued; small moves that every action needs.
Never: outlives the step; what goes in and what comes out are frozen.
"""

import math
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from kgroup.frozen import replace, thawed
from kgroup.machine.claims import Holdings
from kgroup.machine.rows import Row
from kgroup.machine.wishes import CallListener, Moment
from kgroup.marshal.events import Append, CommitOffsets, Effect, KeyRead
from kgroup.marshal.key_rows import KeyAction, KeyGuard, KeyPhase, KeyTrigger
from kgroup.marshal.key_state import KeyLife, Write, due_of
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Extension, Kind
from kgroup.marshal.shares import Share, share_of
from kgroup.types import Cause, ChangeKind, Claim, OwnershipChange, TopicPartition
from kgroup.values import dataclass

KeyRow = Row[KeyPhase, KeyTrigger, KeyGuard, KeyAction]


@dataclass(slots=True)
class Turn:
    """One step in the making.

    Args:
        member: the value, replaced as the step goes on.
        moment: when, and with which luck.
        cause: why, should ownership change.
        effects: in the order they are to be carried out.
        fired: key and row of what fired.
        lives: keys that this step has changed, or looked at.
        gained: partitions that came to be owned in this step.
        lost: claims that ended in this step without having been given up.
        proved: claim -> ticket of its heartbeat that was read back in this step.
        probed: partitions whose batch is to be committed.
        published: partition -> position that the log came to know in this step.
        read: the record being applied.
        settled: the write that it settles, None when it is no write of this process.
        found: the position being applied.
        error: what went wrong, of the reply being applied.
        replan: whether something may be worth a claim, or is not any more.
        shares: topic -> what this member should have of it, as far as this step has asked.
    """

    member: MarshalMember
    moment: Moment
    cause: Cause = Cause.ASSIGNED
    effects: list[Effect] = field(default_factory=list)
    fired: list[tuple[TopicPartition, KeyRow]] = field(default_factory=list)
    lives: dict[TopicPartition, KeyLife] = field(default_factory=dict)
    gained: list[TopicPartition] = field(default_factory=list)
    lost: list[Claim] = field(default_factory=list)
    proved: dict[Claim, int] = field(default_factory=dict)
    probed: list[TopicPartition] = field(default_factory=list)
    published: dict[TopicPartition, int] = field(default_factory=dict)
    read: KeyRead | None = None
    settled: Write | None = None
    found: int | None = None
    error: Exception | None = None
    replan: bool = False
    shares: dict[str, Share] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """The instant of the step."""
        return self.moment.now

    # -- keys ------------------------------------------------------------------------------

    def life(self, tp: TopicPartition) -> KeyLife:
        """Return a key as this step has it so far."""
        return self.lives.get(tp) or self.member.life(tp)

    def put(self, life: KeyLife) -> None:
        """Replace a key."""
        self.lives[life.tp] = life

    def keep_lives(self) -> None:
        """Put the keys that this step has changed into the member; those that are over leave it."""
        if not self.lives:
            return
        lives = thawed(self.member.lives)
        before = self.member.flowing
        turned: set[TopicPartition] = set()
        first, again = self.member.key_due, False
        for tp, life in self.lives.items():
            # The key that was due first is due later: all keys are asked which is first now.
            again = again or (tp in lives and lives[tp].due <= self.member.key_due)
            if life.phase is KeyPhase.IDLE and life.retry_at <= self.now and not life.failures:
                lives.pop(tp, None)
            else:
                kept = lives[tp] = replace(life, due=due_of(life))
                first = min(first, kept.due)
            if life.flows is not (tp in before):
                turned.add(tp)
        if again:
            first = min((life.due for life in lives.values()), default=math.inf)
        self.lives.clear()
        self.member = replace(
            self.member,
            lives=MappingProxyType(lives),
            key_due=first,
            flowing=before ^ turned if turned else before,
        )

    def put_holdings(self, new: Holdings) -> None:
        """Replace what is owned."""
        self.member = replace(self.member, holdings=new)

    def share(self, topic: str) -> Share:
        """Return what this member should have of a topic; looked up once in a step."""
        if topic not in self.shares:
            self.shares[topic] = share_of(self.member, topic, self.now)
        return self.shares[topic]

    # -- writing ---------------------------------------------------------------------------

    def draw(self) -> int:
        """Draw a ticket."""
        ticket = self.member.next_ticket
        self.member = replace(self.member, next_ticket=ticket + 1)
        return ticket

    def write(self, life: KeyLife, kind: Kind, tail: int) -> KeyLife:
        """Write a message about a key; return the key, which waits for it."""
        settings = self.member.settings
        epoch = None if kind is Kind.CLAIMING_PARTITION else life.epoch
        ticket = self.append(kind, life.tp, tail, Extension(epoch))
        limit = self.now + settings.write_timeout
        return replace(life, write=Write(ticket, kind, tail, self.now, limit))

    def append(
        self, kind: Kind, tp: TopicPartition, tail: int, words: Extension | None = None
    ) -> int:
        """Write a message; return its ticket.

        Args:
            kind: its type.
            tp: its key.
            tail: position that it carries, 0 in a claim.
            words: what its headers say besides the writer.
        """
        settings, ticket = self.member.settings, self.draw()
        extension = (words or Extension())._replace(
            started=settings.started, interval=settings.interval, nonce=b"%d" % ticket
        )
        timeout = settings.write_timeout
        self.effects.append(Append(ticket, kind, tp.topic, tp.partition, tail, extension, timeout))
        return ticket

    def commit(self, offsets: Mapping[TopicPartition, int]) -> int:
        """Commit positions with the group coordinator; return the ticket of its answer."""
        ticket = self.draw()
        timeout = self.member.settings.commit_timeout
        self.effects.append(CommitOffsets(ticket, MappingProxyType(dict(offsets)), timeout))
        commits = self.member.offset_commits | {ticket}
        self.member = replace(self.member, offset_commits=commits)
        return ticket

    # -- the listener ----------------------------------------------------------------------

    def call_listener(
        self, kind: ChangeKind, *, added: tuple[Claim, ...] = (), removed: tuple[Claim, ...] = ()
    ) -> None:
        """Queue one call of the listener; calls are made in the order they were queued."""
        member = self.member
        change = OwnershipChange(
            kind=kind,
            added=added,
            kept=member.holdings.kept_beside(added),
            removed=removed,
            cause=self.cause,
            generation=None,
            serial=member.next_change,
        )
        self.member = replace(
            member,
            changes=(*member.changes, change),
            next_change=change.serial + 1,
            cause=self.cause,
        )
        self.effects.append(CallListener(change))
