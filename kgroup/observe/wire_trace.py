"""Connections, requests and answers, written to the event log.

Decides: which fields of a message the log keeps.
Never: keeps a body, a key, a value or a credential.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    ConnectionClosed,
    ConnectionOpened,
    RequestSent,
    Sink,
)
from kgroup.net.trace import ConnectionId, Exchange
from kgroup.wire.schema import Message

__all__ = ["WireTrace"]

_GENERATION: Final = ("generation_id", "generation_id_or_member_epoch", "member_epoch")
"""The fields, by API, that carry what a broker fences a member by (KIP-848 renamed one)."""


class WireTrace:
    """A `kgroup.net.trace.Trace` that emits the journal's wire events.

    Args:
        sink: takes the events.
    """

    __slots__ = ("_sink",)

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def on_open(self, connection: ConnectionId) -> None:
        """Write that the connection is ready."""
        endpoint = connection.endpoint
        self._sink.emit(
            ConnectionOpened(
                connection=connection.serial,
                address=endpoint.address,
                node_id=endpoint.node_id,
                lane=connection.lane.value,
            )
        )

    def on_close(self, connection: ConnectionId, reason: str) -> None:
        """Write that no answer will come any more."""
        self._sink.emit(ConnectionClosed(connection=connection.serial, reason=reason))

    def on_request(self, exchange: Exchange) -> None:
        """Write who asks what."""
        request = exchange.request
        self._sink.emit(
            RequestSent(
                connection=exchange.connection.serial,
                correlation_id=exchange.correlation_id,
                api=exchange.api,
                version=exchange.version,
                generation_id=_number(request, *_GENERATION),
                member_id=_text(request, "member_id"),
                group_instance_id=_text(request, "group_instance_id"),
            )
        )

    def on_answer(self, exchange: Exchange, answer: Message) -> None:
        """Write what came back."""
        joined = exchange.api is ApiKey.JOIN_GROUP
        self._sink.emit(
            AnswerReceived(
                connection=exchange.connection.serial,
                correlation_id=exchange.correlation_id,
                api=exchange.api,
                version=exchange.version,
                error=_number(answer, "error_code"),
                generation_id=_number(answer, *_GENERATION),
                member_id=_text(answer, "member_id"),
                leader=_text(answer, "leader") if joined else None,
            )
        )

    def on_rejected(self, entry: str) -> None:
        """Write nothing: what was not believed changed nothing."""


def _number(message: Message, *names: str) -> int | None:
    """Return the first of these fields that the message has."""
    for name in names:
        value = getattr(message, name, None)
        if isinstance(value, int):
            return value
    return None


def _text(message: Message, name: str) -> str | None:
    value = getattr(message, name, None)
    return value if isinstance(value, str) else None
