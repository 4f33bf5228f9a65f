"""What happened to the brokers in a trace, as its notes say: deaths, stops, moves, loads.

Decides: which broker each connection goes to, and when another one coordinates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kgroup.testing.broker.core import Core
from tests.testing.broker.traces.recorded import Exchange, Trace

__all__ = ["Moves", "moves_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What happened around the groups of one trace.

    Args:
        nodes: how many brokers.
        lead: seconds by which the brokers are older than the trace.
        load_time: how long a coordinator loads its partition.
    """

    nodes: int = 1
    lead: float = 0.0
    load_time: float = 0.0

    def prepare(self, core: Core) -> None:
        """Bring the cluster to where the trace begins."""

    def steps(self, core: Core) -> Iterator[tuple[float, Callable[[], None]]]:
        """Yield what happens, and when."""
        yield from ()

    def node_of(self, exchange: Exchange) -> int:
        """Say which broker a request goes to."""
        return 1


def moves_of(trace: Trace) -> Moves:
    """Read the notes of a trace."""
    return Moves()
