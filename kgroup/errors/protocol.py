"""Bytes that cannot be read, and versions that do not meet.

Decides: the one family every decoder raises.
Never: says what to do about it.
"""

from kgroup.errors.usage import KGroupError, UnsupportedError

__all__ = [
    "CorruptRecordError",
    "DecodeError",
    "LocalProtocolError",
    "ProtocolError",
    "UnsupportedCodecError",
    "UnsupportedVersionError",
]


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
