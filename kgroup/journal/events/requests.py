"""Connections, requests and answers, as the network sees them.

Decides: which fields of a message are worth a line.
Never: carries bodies, keys or credentials.
"""

from typing import ClassVar

from kgroup.codes import ApiKey
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOpened:
    """A connection to a broker is ready for requests.

    Args:
        connection: number of the connection, never reused within a process.
        address: `host:port`.
        node_id: broker id, None for a bootstrap address.
        lane: what the connection is for, "" when it has one purpose only.
    """

    KIND: ClassVar[str] = "connection_opened"
    connection: int
    address: str
    node_id: int | None = None
    lane: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionClosed:
    """A connection ended; no answer will come on it any more.

    Args:
        connection: number of the connection.
        reason: which side closed it and why.
    """

    KIND: ClassVar[str] = "connection_closed"
    connection: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSent:
    """A request is about to be written.

    Args:
        connection: number of the connection.
        correlation_id: number of the request on that connection.
        api: what it asks.
        version: version it is encoded in.
        generation_id: the field of that name as sent, None when the request has none.
        member_id: the field of that name as sent, None when the request has none.
        group_instance_id: the field of that name as sent, None when absent.
        assignments: how many assignments a SyncGroup carries, None elsewhere.
    """

    KIND: ClassVar[str] = "tx"
    connection: int
    correlation_id: int
    api: ApiKey
    version: int
    generation_id: int | None = None
    member_id: str | None = None
    group_instance_id: str | None = None
    assignments: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReceived:
    """A whole answer was read.

    Args:
        connection: number of the connection.
        correlation_id: number of the request it answers.
        api: what was asked.
        version: version it was decoded in.
        error: top-level error code; None when the answer has no such field.
        generation_id: the field of that name, None when the answer has none.
        member_id: the field of that name, None when the answer has none.
        leader: member id of the leader in a JoinGroup answer, None elsewhere.
        skip_assignment: the field of that name in a JoinGroup answer (KIP-814), None elsewhere.
    """

    KIND: ClassVar[str] = "rx"
    connection: int
    correlation_id: int
    api: ApiKey
    version: int
    error: int | None = None
    generation_id: int | None = None
    member_id: str | None = None
    leader: str | None = None
    skip_assignment: bool | None = None
