"""A room: the log, the processes around it, the clock, and what happens to what they send.

Decides: the order of everything; how each write and each question fares.
Never: knows what is right; the judge does.
"""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random

from kgroup.errors import GroupError
from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.rules import MarshalSettings
from kgroup.types import TopicPartition
from tests.marshal.room.habits import Habits
from tests.marshal.room.judge import Judge
from tests.marshal.room.log import GROUP, WALL, RoomLog
from tests.marshal.room.node import Node


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a write.

    Args:
        appended_after: seconds until it is in the log, once for each time.
        fails_after: seconds until its failure is reported, None: never.
        maybe: whether nobody knows if it was written.
    """

    appended_after: tuple[float, ...] = (0.005,)
    fails_after: float | None = None
    maybe: bool = True


@dataclass(slots=True)
class Trouble:
    """How often writes and questions of everybody fare ill; shares.

    Args:
        late: writes that are late by up to 200 s.
        doubled: writes that are appended a second time, later.
        lost: writes that nobody appends, and of which nobody tells.
        refused: writes that are known to have failed.
        unanswered: positions not found, commits not answered.
    """

    late: float = 0.0
    doubled: float = 0.0
    lost: float = 0.0
    refused: float = 0.0
    unanswered: float = 0.0


@dataclass(slots=True)
class Room:
    """Everything.

    Args:
        dice: all luck comes from.
        log: the coordination partition.
        counts: topic -> partitions.
        trouble: of writes and questions.
        coordinator_refuses: whether positions are refused by the group coordinator.
        fates: of the next writes, before luck decides.
        arrived_by: instant at which everything that was written so far is in the log.
    """

    dice: Random
    log: RoomLog
    counts: Mapping[str, int]
    trouble: Trouble = field(default_factory=Trouble)
    coordinator_refuses: bool = False
    fates: list[Fate] = field(default_factory=list)
    now: float = 1000.0
    arrived_by: float = 0.0
    rate: float = 0.3
    nodes: list[Node] = field(default_factory=list)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    judge: Judge = field(init=False)
    _queue: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _order: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        self.judge = Judge(self)

    @property
    def topics(self) -> frozenset[str]:
        """All topics."""
        return frozenset(self.counts)

    def partitions(self) -> list[TopicPartition]:
        """All partitions."""
        return [TopicPartition(t, n) for t, many in self.counts.items() for n in range(many)]

    # -- time ------------------------------------------------------------------------------

    def at(self, instant: float, what: Callable[[], None]) -> None:
        """Have something happen."""
        heapq.heappush(self._queue, (instant, next(self._order), what))

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        """Have something happen later."""
        self.at(self.now + seconds, what)

    def run(self, seconds: float) -> None:
        """Let time go by."""
        until = self.now + seconds
        while self._queue and self._queue[0][0] <= until:
            instant, _, what = heapq.heappop(self._queue)
            self.now = max(self.now, instant)
            what()
        self.now = until

    # -- nodes -----------------------------------------------------------------------------

    def enter(
        self, settings: MarshalSettings, habits: Habits | None = None, takes: float = 0.1
    ) -> Node:
        """Start a process."""
        node = Node(self, settings, habits or Habits())
        self.nodes.append(node)
        node.start(self.topics, takes)
        return node

    def settings(self, client_id: str, number: int, **others: object) -> MarshalSettings:
        """Return settings of a process that starts now."""
        started = int((WALL + self.now) * 1000) + number
        given = {"is_static": True, **others}
        return MarshalSettings(GROUP, client_id, f"{number:08x}", started, **given)  # type: ignore[arg-type]

    def living(self) -> list[Node]:
        """Return the nodes that take part."""
        return [node for node in self.nodes if node.lives]

    def owner_of(self, tp: TopicPartition) -> Node | None:
        """Return the node that may hand out records of a partition now; the judge allows one."""
        for node in self.living():
            claims = [claim for claim in node.member.holdings.claims if claim.tp == tp]
            if claims and node.member.may_deliver(claims[0], self.now):
                return node
        return None

    # -- what becomes of what is sent ------------------------------------------------------

    def append(self, message: Message, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
        """Append to the log."""
        before = len(self.log.facts)
        self.log.append(self.now, message, headers)
        for fact in self.log.facts[before:]:
            self.judge.appended(fact)
        for node in self.nodes:
            node.heard()

    def pause_group(self, seconds: int) -> None:
        """Have an admin pause the group."""
        time = int(self.log.clock(self.now))
        self.append(Message(Kind.RELEASE_GROUP, time, b"i", b"admin", b"g", b"", 0, time + seconds))

    def grow(self, counts: Mapping[str, int]) -> None:
        """Have topics get partitions."""
        from kgroup.marshal.events import CountsChanged  # noqa: PLC0415

        self.counts = counts
        for node in self.nodes:
            if node.lives:
                node.apply(CountsChanged(counts))

    def fate_of_append(self, node: Node) -> Fate:
        """Return what becomes of a write."""
        if self.fates:
            return self.fates.pop(0)
        dice, trouble = self.dice, self.trouble
        delay = dice.uniform(0.001, 0.02)
        if self.now < node.mute_until:
            refused = dice.random() < 0.3
            return Fate((), 0.5 if refused else 30.0, maybe=not refused)
        luck = dice.random()
        for share, fate in (
            (trouble.late, lambda: Fate((dice.uniform(0, 200),), 30.0)),
            (trouble.doubled, lambda: Fate((delay, dice.uniform(0, 200)))),
            (trouble.lost, lambda: Fate((), 30.0)),
            (trouble.refused, lambda: Fate((), 0.2, maybe=False)),
        ):
            if luck < share:
                return fate()
            luck -= share
        return Fate((delay,))

    def fate_of_question(self, node: Node) -> float | None:
        """Return how long an answer takes, None when there is none."""
        if self.dice.random() < self.trouble.unanswered:
            return None
        return self.dice.uniform(0.005, 0.05)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> Exception | None:
        """Commit positions with the group coordinator."""
        if self.coordinator_refuses:
            return GroupError("UNKNOWN_MEMBER_ID")
        self.committed.update(offsets)
        return None

    def end(self, tp: TopicPartition) -> int:
        """Return where a partition's log ends."""
        return int((self.now - 900) * self.rate) + tp.partition
