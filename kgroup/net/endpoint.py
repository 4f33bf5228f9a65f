"""Whom a connection talks to, and for what.

Decides: what makes two connections the same one: endpoint and lane.
Never: resolves a name or opens anything.
"""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Endpoint", "Lane", "rotated"]


class Lane(Enum):
    """What a connection is for; a broker serves one request of a connection at a time.

    A parked JoinGroup holds up everything behind it, and a fetch waits for data, so each kind of
    waiting has a connection of its own.
    """

    JOIN = "join"
    HEARTBEAT = "heartbeat"
    FETCH = "fetch"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One listener of one broker.

    Args:
        node_id: broker id, None for a bootstrap address.
        host: name or address.
        port: 1 to 65535.
    """

    node_id: int | None
    host: str
    port: int

    @property
    def address(self) -> str:
        """`host:port`, an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return self.address if self.node_id is None else f"node {self.node_id} at {self.address}"


def rotated(endpoints: list[Endpoint], turn: int) -> list[Endpoint]:
    """Return the same endpoints, another one first at each turn."""
    at = turn % len(endpoints) if endpoints else 0
    return endpoints[at:] + endpoints[:at]
