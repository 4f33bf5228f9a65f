"""Events of connections, for the journal.

Decides: which fields of a message are journaled.
Never: looks at bodies. Without a journal it is not used at all.
"""

from kgroup.journal import AnswerReceived, ConnectionClosed, ConnectionOpened, RequestSent, Sink
from kgroup.net.trace import ConnectionId, Exchange
from kgroup.wire.schema import Message

_GENERATION = ("generation_id", "member_epoch")
"""How messages call it."""


class WireJournal:
    """A `kgroup.net.trace.Trace` that writes to a sink.

    Args:
        sink: takes the events.
    """

    __slots__ = ("_sink",)

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def on_open(self, connection: ConnectionId) -> None:
        """Journal that the handshake is done."""
        self._sink.emit(
            ConnectionOpened(
                connection=connection.serial,
                address=connection.endpoint.address,
                node_id=connection.endpoint.node_id,
                lane=connection.lane.value,
            )
        )

    def on_close(self, connection: ConnectionId, reason: str) -> None:
        """Journal that no answer will come any more."""
        self._sink.emit(ConnectionClosed(connection=connection.serial, reason=reason))

    def on_request(self, exchange: Exchange) -> None:
        """Journal a request about to be written."""
        request = exchange.request
        generation = _field(request, *_GENERATION, "generation_id_or_member_epoch")
        self._sink.emit(
            RequestSent(
                connection=exchange.connection.serial,
                correlation_id=exchange.correlation_id,
                api=exchange.api,
                version=exchange.version,
                generation_id=generation if isinstance(generation, int) else None,
                member_id=_text(request, "member_id"),
                group_instance_id=_text(request, "group_instance_id"),
                assignments=_count(request, "assignments"),
            )
        )

    def on_answer(self, exchange: Exchange, answer: Message) -> None:
        """Journal a whole answer."""
        error = _field(answer, "error_code")
        generation = _field(answer, *_GENERATION)
        self._sink.emit(
            AnswerReceived(
                connection=exchange.connection.serial,
                correlation_id=exchange.correlation_id,
                api=exchange.api,
                version=exchange.version,
                error=error if isinstance(error, int) else None,
                generation_id=generation if isinstance(generation, int) else None,
                member_id=_text(answer, "member_id"),
                leader=_text(answer, "leader"),
                skip_assignment=_flag(answer, "skip_assignment"),
            )
        )

    def on_rejected(self, entry: str) -> None:
        """Leave it to the log: it is no event of a member."""


def _field(message: Message, *names: str) -> object:
    found: object = None
    for name in names:
        found = getattr(message, name, found)
    return found


def _text(message: Message, name: str) -> str | None:
    found = getattr(message, name, None)
    return found if isinstance(found, str) else None


def _count(message: Message, name: str) -> int | None:
    found = getattr(message, name, None)
    return len(found) if isinstance(found, tuple) else None


def _flag(message: Message, name: str) -> bool | None:
    found = getattr(message, name, None)
    return found if isinstance(found, bool) else None
