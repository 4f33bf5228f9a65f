"""A member of a KIP-848 group with a hand on its clock: drives the machine by events alone."""

from typing import Any, TypeVar

from kgroup.consumer_group.events import (
    Answered,
    CoordinatorFound,
    Effect,
    Event,
    RequestFailed,
    Send,
    TopicsNamed,
)
from kgroup.consumer_group.settings import ConsumerGroupSettings
from kgroup.consumer_group.step import MemberRow, next_deadline, step
from kgroup.consumer_group.value import ConsumerGroupMember
from kgroup.errors import ConnectionLostError
from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import (
    Drained,
    Errand,
    ListenerDone,
    Moment,
    Subscribed,
    Tick,
    Ticket,
)
from kgroup.types import ChangeKind, Claim, MemberState, TopicPartition
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)

E = TypeVar("E")

SESSION, INTERVAL, REBALANCE = 10.0, 3.0, 60.0
NODE = 7
MEMBER_ID = "me"
IDS = {"t": b"t" * 16, "u": b"u" * 16}
NAMES = {topic_id: name for name, topic_id in IDS.items()}
LOST = ConnectionLostError("h:1", "reset")


def settings(**options: Any) -> ConsumerGroupSettings:
    chosen = {
        "group_id": "g",
        "member_id": MEMBER_ID,
        "session_timeout": SESSION,
        "rebalance_timeout": REBALANCE,
        **options,
    }
    return ConsumerGroupSettings(**chosen)


def partitions(*names: str) -> frozenset[TopicPartition]:
    """`"t-0"` -> TopicPartition("t", 0)."""
    return frozenset(
        TopicPartition(topic, int(number))
        for topic, _, number in (name.rpartition("-") for name in names)
    )


def assignment(*names: str) -> ConsumerGroupHeartbeatAssignment:
    """Return an assignment as a coordinator writes it; a topic that has no id here is its own."""
    rows: dict[bytes, list[int]] = {}
    for tp in sorted(partitions(*names)):
        topic_id = IDS.get(tp.topic, tp.topic.encode().ljust(16, b"\0"))
        rows.setdefault(topic_id, []).append(tp.partition)
    return ConsumerGroupHeartbeatAssignment(
        topic_partitions=tuple(
            ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=tuple(numbers))
            for topic_id, numbers in rows.items()
        )
    )


class Driven:
    """One member; `on` steps it and returns the effects of that step."""

    def __init__(self, chosen: ConsumerGroupSettings | None = None) -> None:
        self.now = 1000.0
        self.member = ConsumerGroupMember.new(chosen or settings(), self.now)
        self.effects: list[Effect] = []
        self.fired: list[MemberRow] = []
        self.on(TopicsNamed(NAMES))

    # -- stepping --------------------------------------------------------------------------

    def on(self, event: Event, *, after: float = 0.0) -> tuple[Effect, ...]:
        self.now += after
        result = step(self.member, event, Moment(self.now))
        self.member = result.member
        self.effects.extend(result.effects)
        self.fired.extend(result.rows)
        return result.effects

    def tick(self, after: float = 0.0) -> tuple[Effect, ...]:
        return self.on(Tick(), after=after)

    def next(self) -> tuple[Effect, ...]:
        """Let the next timer fire."""
        self.now = max(self.now, next_deadline(self.member))
        return self.on(Tick())

    def expect(self, state: MemberState) -> None:
        assert self.member.state is state, self.member.state

    def did(self, kind: type[E]) -> list[E]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def beats(self) -> list[ConsumerGroupHeartbeatRequest]:
        """Every heartbeat that was sent, in order."""
        return [
            effect.request
            for effect in self.did(Send)
            if isinstance(effect.request, ConsumerGroupHeartbeatRequest)
        ]

    @property
    def beat(self) -> ConsumerGroupHeartbeatRequest:
        """The latest heartbeat."""
        return self.beats()[-1]

    def ticket(self, errand: Errand = Errand.CONSUMER_GROUP_HEARTBEAT) -> Ticket:
        """The latest ticket drawn for an errand."""
        tickets = [effect.ticket for effect in self.did(Send) if effect.ticket.errand is errand]
        return tickets[-1]

    # -- answers ---------------------------------------------------------------------------

    def subscribe(self, *topics: str) -> tuple[Effect, ...]:
        return self.on(Subscribed(frozenset(topics or ("t",))))

    def found(self, code: int = 0, session: float | None = None) -> tuple[Effect, ...]:
        ticket = self.ticket(Errand.FIND_COORDINATOR)
        return self.on(CoordinatorFound(ticket, None if code else NODE, code, session))

    def answer(
        self,
        epoch: int = 0,
        *names: str,
        code: int = 0,
        text: str | None = None,
        given: bool = False,
        ticket: Ticket | None = None,
    ) -> tuple[Effect, ...]:
        """Answer the latest heartbeat; with `given` or names, with an assignment."""
        response = ConsumerGroupHeartbeatResponse(
            error_code=code,
            error_message=text,
            member_id=None if code else self.member.settings.member_id,
            member_epoch=epoch,
            heartbeat_interval_ms=0 if code else round(INTERVAL * 1000),
            assignment=assignment(*names) if names or given else None,
        )
        return self.on(Answered(ticket or self.ticket(), response))

    def fail(self, error: Exception = LOST) -> tuple[Effect, ...]:
        return self.on(RequestFailed(self.ticket(), error))

    def settle(self) -> None:
        """Let the listener return from everything, and have nothing in hand."""
        while True:
            if self.member.changes:
                self.on(ListenerDone(self.member.changes[0].serial))
                continue
            draining = self.member.holdings.having(HoldingState.DRAINING)
            if not draining:
                return
            self.on(Drained(draining))

    # -- whole stories ---------------------------------------------------------------------

    def join(self, *names: str, epoch: int = 2, topics: tuple[str, ...] = ("t",)) -> "Driven":
        """Go from nothing to STABLE, owning `names`."""
        self.subscribe(*topics)
        self.found()
        self.answer(epoch, *names, given=True)
        self.settle()
        self.tick()
        self.answer(epoch)
        self.expect(MemberState.STABLE)
        return self

    def due_beat(self) -> None:
        """Let the next heartbeat go out, unless one is in flight that was due earlier."""
        sent = len(self.beats())
        while len(self.beats()) == sent and self.member.heartbeat is None:
            self.next()

    # -- reading ---------------------------------------------------------------------------

    def owned(self) -> frozenset[TopicPartition]:
        return self.member.holdings.partitions

    def claim(self, name: str) -> Claim:
        (tp,) = partitions(name)
        return next(claim for claim in self.member.holdings.claims if claim.tp == tp)

    def delivers(self, *names: str) -> list[bool]:
        return [self.member.may_deliver(self.claim(name), self.now) for name in names]

    def listed(self) -> frozenset[TopicPartition] | None:
        """What the latest heartbeat says is owned, None when it does not say."""
        rows = self.beat.topic_partitions
        if rows is None:
            return None
        return frozenset(
            TopicPartition(NAMES[row.topic_id], number) for row in rows for number in row.partitions
        )

    def calls(self) -> list[tuple[ChangeKind, frozenset[TopicPartition]]]:
        """Listener calls that wait, as (kind, partitions)."""
        return [
            (each.kind, frozenset(claim.tp for claim in each.added + each.removed))
            for each in self.member.changes
        ]
