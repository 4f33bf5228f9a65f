"""What happened to the brokers in a trace, as its notes say: deaths, stops, moves, loads.

Decides: which broker each connection goes to, when another one coordinates, and how long it loads.
The instants are those between the last frame of one answer and the first frame of the next.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Final

from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC
from kgroup.testing.broker.core import Core
from kgroup.types import TopicPartition
from tests.testing.broker.traces.recorded import Exchange, Trace

_SETTLED: Final = 10.0
"""Seconds for which a cluster of several brokers runs before its trace begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What happened around the groups of one trace; as a whole, nothing.

    Args:
        nodes: how many brokers.
        lead: seconds by which the brokers are older than the trace.
        load_time: how long a coordinator loads its partition.
        election_delay: how long the cluster takes a dead broker for alive.
    """

    nodes: int = 1
    lead: float = 0.0
    load_time: float = 0.0
    election_delay: float = 0.0

    def steps(self, core: Core) -> Iterator[tuple[float, Callable[[], None]]]:
        """Yield what happens, and when; before the trace if the instant is negative."""
        yield from ()

    def node_of(self, exchange: Exchange) -> int:
        """Say which broker a request goes to."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover(Moves):
    """Of three brokers, the coordinator of all groups is killed, or stops.

    Args:
        partition: of the offsets topic.
        old: the node that coordinates first.
        new: the node that does then.
        at: when the signal is sent.
        moved_at: seconds after it, when the new one has the partition.
        ends_at: seconds after it, when the old one is gone.
        back_at: when the old one listens again.
    """

    partition: int = 1
    old: int
    new: int
    at: float
    moved_at: float
    ends_at: float = 0.0
    back_at: float

    def steps(self, core: Core) -> Iterator[tuple[float, Callable[[], None]]]:
        tp = TopicPartition(OFFSETS_TOPIC, self.partition)
        cluster = core.cluster
        resigned = self.moved_at < self.ends_at
        yield -_SETTLED, partial(cluster.elect, tp, self.old)
        yield self.at + self.ends_at, partial(cluster.kill, self.old)
        yield self.at + self.moved_at, partial(cluster.elect, tp, self.new, resigned=resigned)
        yield self.back_at, partial(cluster.start, self.old)

    def node_of(self, exchange: Exchange) -> int:
        name, _, node = exchange.name.partition("@")
        if node:
            return int(node.removesuffix(" polling"))
        if name in ("old", "again"):
            return self.old
        return self.old if exchange.at <= self.at + 0.001 else self.new


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Moves):
    """The only broker is killed and comes back.

    Args:
        at: when it is killed.
        back_at: when it has its partitions again.
    """

    at: float
    back_at: float

    def steps(self, core: Core) -> Iterator[tuple[float, Callable[[], None]]]:
        for partition in range(len(core.coordinators.shards)):
            take_over = partial(core.coordinators.take_over, partition, resigned=False)
            yield self.at, partial(take_over, None)
            yield self.back_at, partial(take_over, 1)


def _handover(
    at: float,
    nodes: tuple[int, int],
    times: tuple[float, float],
    *,
    back_at: float,
    ends_at: float = 0.0,
) -> Handover:
    moved_at, loaded_at = times
    return Handover(
        nodes=3,
        lead=_SETTLED,
        load_time=loaded_at - moved_at,
        election_delay=inf,
        old=nodes[0],
        new=nodes[1],
        at=at,
        moved_at=moved_at,
        ends_at=ends_at,
        back_at=back_at,
    )


_MOVES: Final[Mapping[str, Moves]] = MappingProxyType(
    {
        "coordinator_sigkill-3.9.1-c3": _handover(8.3186, (1, 2), (2.65, 3.255), back_at=31.764),
        "coordinator_sigkill-4.3.1-c3": _handover(4.0856, (3, 1), (3.13, 3.95), back_at=20.607),
        "coordinator_sigterm-3.9.1-c3": _handover(
            8.8439, (2, 1), (0.06, 3.915), ends_at=0.66, back_at=25.787
        ),
        "coordinator_sigterm-4.3.1-c3": _handover(
            2.9104, (1, 3), (0.07, 0.515), ends_at=0.63, back_at=17.208
        ),
        "broker_restart-3.9.1-r1": Restart(lead=_SETTLED, load_time=0.29, at=2.8, back_at=16.469),
        "broker_restart-4.3.1-r1": Restart(lead=_SETTLED, load_time=0.67, at=1.779, back_at=17.585),
        # Retention is checked every 5 s of the agenda: here, 2.35 s and 3.3 s after the beginning.
        "offset_expiry-3.9.1-d300": Moves(lead=2.65),
        "offset_expiry-4.3.1-d300": Moves(lead=1.7),
    }
)


def moves_of(trace: Trace) -> Moves:
    """Return what happened around a trace."""
    return _MOVES.get(trace.name, Moves())
