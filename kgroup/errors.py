"""Every error kgroup raises, in one hierarchy.

Decides: what a caller can catch and which data an error carries.
Never: how the client reacts to a broker's code; that is `kgroup.machine.reactions`.

An error carries data, not only prose. Time-outs are Python's own `TimeoutError`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from kgroup.codes import error_name, is_retriable
from kgroup.types import CommitOutcome, Generation, TopicPartition

__all__ = [
    "ArgumentError",
    "AssignmentError",
    "AuthenticationError",
    "BrokerError",
    "ClosedError",
    "CommitFailedError",
    "ConfigError",
    "ConnectionLostError",
    "CorruptRecordError",
    "DecodeError",
    "DeserializationError",
    "FencedError",
    "GroupError",
    "IllegalStateError",
    "KGroupError",
    "LocalProtocolError",
    "LogTruncatedError",
    "MissingExtraError",
    "NoBrokerError",
    "NoOffsetError",
    "NotOwnedError",
    "OffsetOutOfRangeError",
    "ProtocolError",
    "TlsError",
    "TransportError",
    "UnauthorizedError",
    "UnsupportedCodecError",
    "UnsupportedError",
    "UnsupportedVersionError",
]


class KGroupError(Exception):
    """The root: everything kgroup raises on purpose, except `TimeoutError`."""


class ConfigError(KGroupError):
    """An option cannot be used as given.

    Args:
        option: its name.
        value: what was given.
        expected: the bound or the shape that is right.
        nearest: the known option most like `option`, None when the name was not the problem.
    """

    def __init__(
        self, option: str, value: object, expected: str, *, nearest: str | None = None
    ) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"option {option!r}: got {value!r}, expected {expected}{hint}")
        self.option = option
        self.value = value
        self.expected = expected
        self.nearest = nearest


class ArgumentError(KGroupError, ValueError):
    """A call was given something it cannot use; nothing was changed and nothing was sent.

    Args:
        argument: its name.
        value: what was given.
        expected: the bound or the shape that is right.
    """

    def __init__(self, argument: str, value: object, expected: str) -> None:
        super().__init__(f"{argument}: got {value!r}, expected {expected}")
        self.argument = argument
        self.value = value
        self.expected = expected


class MissingExtraError(KGroupError):
    """A feature needs an optional dependency that is not installed.

    Args:
        feature: what was asked for.
        extra: the extra of kgroup that brings it, as in `pip install 'kgroup[extra]'`.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra {extra!r}: pip install 'kgroup[{extra}]'")
        self.feature = feature
        self.extra = extra


class IllegalStateError(KGroupError):
    """A call does not fit what the consumer is doing; nothing was changed."""


class ClosedError(KGroupError):
    """The consumer, or a part of it, is closed."""


class UnsupportedError(KGroupError):
    """The backend, the broker or the platform cannot do what was asked."""


# -- bytes ---------------------------------------------------------------------------------


class ProtocolError(KGroupError):
    """Bytes or messages that break the protocol."""


class LocalProtocolError(ProtocolError):
    """kgroup was about to send something the protocol does not allow: our bug."""


class DecodeError(ProtocolError):
    """A peer sent bytes that cannot be read; the connection is closed, nothing was applied.

    Args:
        what: the structure that was being read.
        reason: what is wrong with it.
        position: byte offset within the message, None when not known.
    """

    def __init__(self, what: str, reason: str, *, position: int | None = None) -> None:
        at = "" if position is None else f" at byte {position}"
        super().__init__(f"cannot read {what}{at}: {reason}")
        self.what = what
        self.reason = reason
        self.position = position


class CorruptRecordError(DecodeError):
    """A record batch fails its checksum or contradicts itself.

    Args:
        base_offset: first offset of the batch, None when the header itself is unreadable.
    """

    def __init__(
        self,
        what: str,
        reason: str,
        *,
        position: int | None = None,
        base_offset: int | None = None,
    ) -> None:
        super().__init__(what, reason, position=position)
        self.base_offset = base_offset


class UnsupportedCodecError(DecodeError):
    """A record batch uses a format or a compression codec that cannot be read here."""


class UnsupportedVersionError(UnsupportedError):
    """No version of an API is spoken by both sides, or a field needs a newer one.

    Args:
        api: name of the API.
        reason: which versions were found on either side, or which field is in the way.
    """

    def __init__(self, api: str, reason: str) -> None:
        super().__init__(f"{api}: {reason}")
        self.api = api
        self.reason = reason


# -- transport -----------------------------------------------------------------------------


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


class TlsError(ConnectionLostError):
    """No secure connection: one side did not trust, or not understand, the other.

    Nothing but the handshake was sent. It may work later, once a certificate was renewed.
    """


class NoBrokerError(TransportError):
    """No broker could be reached.

    Args:
        tried: address -> why it failed, in the order tried.
        seconds: how long it was tried.
    """

    def __init__(self, tried: Mapping[str, str], seconds: float) -> None:
        each = "; ".join(f"{address} ({why})" for address, why in tried.items()) or "no address"
        super().__init__(f"no broker reachable within {seconds:g} s: {each}")
        self.tried: dict[str, str] = dict(tried)
        self.seconds = seconds


class AuthenticationError(KGroupError):
    """A broker does not accept who we say we are, or could not prove who it is (SASL).

    Asking again with the same credentials would not help, and may lock an account, so it is not
    done. No password, token or proof is ever part of it.

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
        super().__init__(api, code, message or ", ".join(resources))
        self.resources: tuple[str, ...] = tuple(resources)


# -- group ---------------------------------------------------------------------------------


class GroupError(KGroupError):
    """The membership ended or could not be made.

    Args:
        reason: what happened.
        generation: the identity at that moment, None without one.
        code: the broker's error code, None without one.
    """

    def __init__(
        self, reason: str, *, generation: Generation | None = None, code: int | None = None
    ) -> None:
        who = (
            ""
            if generation is None
            else f" (group {generation.group_id!r}, member {generation.member_id!r}, "
            f"generation {generation.generation_id})"
        )
        named = "" if code is None else f": {error_name(code)} ({code})"
        super().__init__(f"{reason}{named}{who}")
        self.reason = reason
        self.generation = generation
        self.code = code


class FencedError(GroupError):
    """Another member uses the same group instance id; this one may do nothing more (KIP-345)."""


class AssignmentError(GroupError):
    """An assignor's result, or a member's subscription, cannot be used; nothing was sent."""


class NotOwnedError(KGroupError):
    """A commit or a seek names a partition this member does not own; nothing was sent.

    Args:
        partitions: the partitions in question.
    """

    def __init__(self, partitions: Sequence[TopicPartition], reason: str) -> None:
        names = ", ".join(str(tp) for tp in partitions)
        super().__init__(f"{names}: {reason}")
        self.partitions: tuple[TopicPartition, ...] = tuple(partitions)


class CommitFailedError(KGroupError):
    """Some partitions of a commit were refused, or their outcome is not known.

    Args:
        outcome: every partition of the commit, the good ones too.
    """

    def __init__(self, outcome: CommitOutcome) -> None:
        each = "; ".join(
            f"{tp} {result.status.value} ({result.reason})"
            for tp, result in sorted(outcome.failed().items())
        )
        super().__init__(f"commit: {each}")
        self.outcome = outcome


# -- records -------------------------------------------------------------------------------


class DeserializationError(KGroupError):
    """A deserialiser raised; what it raised is the `__cause__`. The message shows no payload.

    Args:
        tp: partition of the record.
        offset: offset of the record; `seek(tp, offset + 1)` leaves it out.
        field: which of the two it was.
        key: bytes of the key as they came, None for a null.
        value: bytes of the value as they came, None for a null.
    """

    def __init__(
        self,
        tp: TopicPartition,
        offset: int,
        field: Literal["key", "value"],
        *,
        key: bytes | None,
        value: bytes | None,
    ) -> None:
        super().__init__(
            f"{tp}: the {field} of the record at offset {offset} cannot be deserialised; "
            f"seek to {offset + 1} to leave it out, or set on_deserialize_error"
        )
        self.tp = tp
        self.offset = offset
        self.field = field
        self.key = key
        self.value = value

    @property
    def raw(self) -> bytes | None:
        """The bytes that could not be deserialised."""
        return self.key if self.field == "key" else self.value


# -- offsets -------------------------------------------------------------------------------


class NoOffsetError(KGroupError):
    """A partition has no committed offset and the reset policy is `none`.

    Args:
        partitions: the partitions in question.
    """

    def __init__(self, partitions: Sequence[TopicPartition]) -> None:
        names = ", ".join(str(tp) for tp in partitions)
        super().__init__(
            f"{names}: no committed offset, and auto_offset_reset is 'none'; "
            "seek, or choose 'earliest' or 'latest'"
        )
        self.partitions: tuple[TopicPartition, ...] = tuple(partitions)


class OffsetOutOfRangeError(KGroupError):
    """The log no longer, or not yet, holds the position, and the reset policy is `none`.

    Args:
        positions: partition -> the offset that was asked for.
    """

    def __init__(self, positions: Mapping[TopicPartition, int]) -> None:
        names = ", ".join(f"{tp} at {offset}" for tp, offset in sorted(positions.items()))
        super().__init__(f"{names}: offset out of range, and auto_offset_reset is 'none'")
        self.positions: dict[TopicPartition, int] = dict(positions)


class LogTruncatedError(KGroupError):
    """Records that were read are gone from the log, and the reset policy is `none` (KIP-320).

    A leader was elected that never had them. What stands at their offsets now is something else.

    Args:
        tp: the partition.
        position: the next offset to hand out.
        leader_epoch: epoch of the record before it, None when not known.
        diverged_at: first offset that is not what was read, None when the leader cannot tell.
    """

    def __init__(
        self, tp: TopicPartition, position: int, leader_epoch: int | None, diverged_at: int | None
    ) -> None:
        where = "from an unknown offset on" if diverged_at is None else f"from {diverged_at} on"
        super().__init__(
            f"{tp} at {position}: the log was truncated, what was read {where} is no longer there, "
            "and auto_offset_reset is 'none'; seek to go on"
        )
        self.tp = tp
        self.position = position
        self.leader_epoch = leader_epoch
        self.diverged_at = diverged_at
