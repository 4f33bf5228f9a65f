"""The root of all errors, and what a caller did wrong.

Decides: the shape of an error about an option, an argument, or the moment of a call.
Never: knows brokers.
"""


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


class WakeupError(KGroupError):
    """A blocked read was ended by `wakeup()`; the consumer goes on as before."""

    def __init__(self) -> None:
        super().__init__("woken by wakeup(): nothing was read, and nothing is lost")


class UnsupportedError(KGroupError):
    """The backend, the broker or the platform cannot do what was asked."""


# -- protocol --------------------------------------------------------------------------------------
#
# Bytes that cannot be read, and versions that do not meet.
#
# Decides: the one family every decoder raises.
# Never: says what to do about it.


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
