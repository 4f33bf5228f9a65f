"""The settings of the network side.

Decides: the slice of the options that connections, the pool and the cluster read, with defaults.
Never: validates what a user typed; `kgroup.config` does, before it fills this. Shows secrets: its
repr holds none.
KIPs: 144 (growing reconnect backoff), 219 (throttle), 511 (client software), 899 (re-bootstrap).
"""

import re
from dataclasses import field
from enum import Enum
from typing import Final

from kgroup.net.security import Security
from kgroup.net.versions import MAX_THROTTLE
from kgroup.values import dataclass


class Lane(Enum):
    """What a connection is for; a broker serves one request of a connection at a time.

    A parked JoinGroup holds up everything behind it, and a fetch waits for data, so each kind of
    waiting has a connection of its own.
    """

    JOIN = "join"
    HEARTBEAT = "heartbeat"
    COMMIT = "commit"
    FETCH = "fetch"
    CONTROL = "control"
    SECOND = "second"


_OF_GROUPS: Final = frozenset({Lane.JOIN, Lane.HEARTBEAT, Lane.COMMIT, Lane.SECOND})


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


# -- settings --------------------------------------------------------------------------------------


_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9.\-]+")


def software_version() -> str:
    """Return kgroup's version in the alphabet brokers accept (KIP-511)."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow

    try:
        found = version("kgroup")
    except PackageNotFoundError:
        found = "0"
    return _NOT_ALLOWED.sub("-", found).strip("-.") or "0"


@dataclass(frozen=True, slots=True)
class NetSettings:
    """Addresses, patience and bounds; all times in seconds.

    Args:
        bootstrap: (host, port) pairs tried to find the cluster, at least one.
        client_id: name of this client in the brokers' logs and quotas.
        client_rack: rack of this client (KIP-392), None when not known.
        request_timeout: for requests whose caller has no other deadline, and the longest a
            request may go unanswered before its connection counts as dead.
        connect_timeout: from dialling to the end of the handshake.
        reconnect_backoff: first pause before a broker is dialled again; per broker.
        reconnect_backoff_max: longest such pause.
        retry_backoff: first pause before metadata or a refused request is asked again.
        retry_backoff_max: longest such pause.
        incomplete_backoff_max: longest pause while a topic or a leader that is wanted is missing.
        metadata_max_age: metadata is asked again when it is older.
        connections_max_idle: a connection without traffic is closed after this; keep it below
            the brokers' own limit (10 minutes by default).
        allow_auto_create_topics: whether asking for a topic may create it.
        max_frame_size: longest answer accepted, bytes.
        group_silence: longest silence a broker can ask for on the connections that a membership
            lives by (KIP-219); well below the session timeout.
        security: TLS and SASL of every connection.
        software_name: sent to brokers for their metrics (KIP-511).
        software_version: the same.
    """

    bootstrap: tuple[tuple[str, int], ...]
    client_id: str = "kgroup"
    client_rack: str | None = None
    request_timeout: float = 30.0
    connect_timeout: float = 10.0
    reconnect_backoff: float = 0.05
    reconnect_backoff_max: float = 1.0
    retry_backoff: float = 0.1
    retry_backoff_max: float = 1.0
    incomplete_backoff_max: float = 5.0
    metadata_max_age: float = 300.0
    connections_max_idle: float = 540.0
    allow_auto_create_topics: bool = False
    max_frame_size: int = 100 * 1024 * 1024
    group_silence: float = MAX_THROTTLE
    security: Security = field(default_factory=Security)
    software_name: str = "kgroup"
    software_version: str = field(default_factory=software_version)

    def silence(self, lane: Lane) -> float:
        """Return how long a broker can have a connection be silent, seconds."""
        return self.group_silence if lane in _OF_GROUPS else MAX_THROTTLE
