"""What the network and brokers refuse.

Decides: which data names the broker, the request and the resource.
Never: carries a credential.
"""

from collections.abc import Mapping, Sequence

from kgroup.codes import error_name, is_retriable
from kgroup.errors.usage import KGroupError


class TransportError(KGroupError):
    """The network did not do what was asked; the request may or may not have been carried out."""


class ConnectionLostError(TransportError):
    """A connection could not be made, or ended with requests in flight.

    Args:
        address: `host:port`.
        reason: what the operating system or the peer said.
    """

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address}: {reason}")
        self.address = address
        self.reason = reason


class NotConnectedError(ConnectionLostError):
    """A connection could not be made: nothing was sent on it, and it may be asked again."""


class TlsError(ConnectionLostError):
    """No secure connection: one side did not trust, or not understand, the other.

    Nothing but the handshake was sent. It may work later, once a certificate was renewed.
    """


class NoBrokerError(TransportError):
    """No broker could be reached, or used.

    Args:
        tried: address -> why it failed, in the order tried.
        seconds: how long it was tried.
        refused: whether each refused us or cannot be trusted, so that waiting would not help.
    """

    def __init__(self, tried: Mapping[str, str], seconds: float, *, refused: bool = False) -> None:
        each = "; ".join(f"{address} ({why})" for address, why in tried.items()) or "no address"
        what = "no broker can be used" if refused else f"no broker reachable within {seconds:g} s"
        super().__init__(f"{what}: {each}")
        self.tried: dict[str, str] = dict(tried)
        self.seconds = seconds
        self.refused = refused


class AuthenticationError(KGroupError):
    """A broker does not accept our credentials, or could not prove its own (SASL).

    kgroup does not try again: the same credentials would fail again, and might lock the account.
    The error never holds a password, token or proof.

    Args:
        address: `host:port`.
        mechanism: of SASL, such as "SCRAM-SHA-512".
        reason: what the broker said, or what was wrong with its answer.
    """

    def __init__(self, address: str, mechanism: str, reason: str) -> None:
        super().__init__(f"{address}: {mechanism}: {reason}")
        self.address = address
        self.mechanism = mechanism
        self.reason = reason


class BrokerError(KGroupError):
    """A broker answered with an error code.

    Args:
        api: name of the API that was asked.
        code: the error code; `name` and `retriable` follow from it.
        message: the broker's own text, "" without one.
    """

    def __init__(self, api: str, code: int, message: str = "") -> None:
        text = f": {message}" if message else ""
        super().__init__(f"{api}: {error_name(code)} ({code}){text}")
        self.api = api
        self.code = code
        self.message = message

    @property
    def name(self) -> str:
        """Kafka's name of the code."""
        return error_name(self.code)

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return is_retriable(self.code)


class UnauthorizedError(BrokerError):
    """The principal may not do this.

    Args:
        resources: topics, groups or other names the broker refused.
    """

    def __init__(self, api: str, code: int, resources: Sequence[str], message: str = "") -> None:
        named = ", ".join(resources)
        super().__init__(
            api, code, f"{named}: {message}" if message and named else message or named
        )
        self.resources: tuple[str, ...] = tuple(resources)
