"""What one exhaustive search covers: how many members, partitions and faults, and which timeouts.

Decides: the settings of members and broker. Time is counted in ticks of `TICK` seconds, and every
timeout is a whole number of them, so that instants of all clocks fall on one grid.
Never: explores.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kgroup.assignors import BUILT_IN, Assignor
from kgroup.membership.settings import MembershipSettings
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition

NOW: Final = 1000.0
"""The present instant of every state: what is kept is relative to it."""

TICK: Final = 5.0
"""Seconds of one tick; the machine adds 5 s to the deadline of what may be parked."""

GROUP: Final = "g"
TOPIC: Final = "t"


class Mode(Enum):
    """What kind of group is searched."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"
    STATIC = "static"


class Fault(Enum):
    """What disturbs a world; each costs one of the faults of its scope."""

    CUT = "cut"
    MUTE = "mute"
    KILL = "kill"
    STALL = "stall"
    LATE = "late"
    RESIGN = "resign"
    MOVE = "move"
    CRASH = "crash"
    LOAD = "load"

    @property
    def words(self) -> str:
        """What happens, as a step of a story."""
        return _WORDS[self]


_WORDS: Final = {
    Fault.CUT: "the connection is cut",
    Fault.MUTE: "nothing comes back on the connection any more",
    Fault.KILL: "is killed",
    Fault.STALL: "the application stops polling",
    Fault.LATE: "the clock moves on while messages are on their way",
    Fault.RESIGN: "the coordinator resigns and loads the group again at once",
    Fault.MOVE: "the coordinator resigns, another broker loads the group at once",
    Fault.CRASH: "the coordinator dies, another broker loads the group at once",
    Fault.LOAD: "the coordinator dies, another broker loads the group for a tick",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """One small world.

    Args:
        mode: eager (range), cooperative (cooperative-sticky), or static members (cooperative).
        members: how many processes there ever are, beside restarts of static ones; at least 1.
        partitions: of the one topic, at least 1.
        faults: how many perturbations happen at most.
        kinds: which ones.
        closes: how many members close at most.
        session: session timeout, in ticks; heartbeats are sent every tick.
        rebalance: rebalance timeout, in ticks; batches are waited for half as long.
        patience: how many things of each application may go on while the clock moves on, at no
            cost: calls of the listener, and batches in hand, which count as one.
        late_requests: a request of a closed connection may arrive later, while the clock stands;
            else it arrives before the connection closes, or never.
    """

    mode: Mode
    members: int = 2
    partitions: int = 2
    faults: int = 1
    closes: int = 0
    session: int = 2
    rebalance: int = 2
    patience: int = 1
    kinds: frozenset[Fault] = frozenset(Fault)
    late_requests: bool = False

    def __post_init__(self) -> None:
        bounds = (
            ("members", self.members, 1, 3),
            ("partitions", self.partitions, 1, 4),
            ("faults", self.faults, 0, 9),
            ("closes", self.closes, 0, 9),
            ("session", self.session, 2, 9),
            ("rebalance", self.rebalance, 2, 9),
            ("patience", self.patience, 0, 9),
        )
        for name, value, least, most in bounds:
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}; it must be {least} to {most}")

    def __str__(self) -> str:
        return f"{self.mode.value} {self.members}x{self.partitions}x{self.faults}"

    @property
    def assignor(self) -> Assignor:
        """What all members use."""
        return BUILT_IN["range" if self.mode is Mode.EAGER else "cooperative-sticky"]

    @property
    def topic_partitions(self) -> tuple[TopicPartition, ...]:
        """The partitions, in order."""
        return tuple(TopicPartition(TOPIC, number) for number in range(self.partitions))

    def member(self, slot: int) -> MembershipSettings:
        """Return the settings of the member at a place."""
        return MembershipSettings(
            group_id=GROUP,
            group_instance_id=self.client_id(slot) if self.mode is Mode.STATIC else None,
            assignors=(self.assignor,),
            session_timeout=self.session * TICK,
            heartbeat_interval=TICK,
            rebalance_timeout=self.rebalance * TICK,
            request_timeout=TICK,
            retry_backoff=TICK,
            retry_backoff_max=TICK,
            lease_margin=0.0,
        )

    def client_id(self, slot: int) -> str:
        """Return the name of the member at a place: a, b, c."""
        return "abc"[slot]

    @property
    def broker(self) -> BrokerSettings:
        """The broker's settings: no initial delay, one partition of the offsets topic."""
        return BrokerSettings(
            min_session_timeout=0.001,
            offsets_partitions=1,
            default_partitions=self.partitions,
            new_member_join_timeout=20 * TICK,
        )
