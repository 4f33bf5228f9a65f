"""The root of all errors, and what a caller did wrong.

Decides: the shape of an error about an option, an argument, or the moment of a call.
Never: knows brokers.
"""

__all__ = [
    "ArgumentError",
    "ClosedError",
    "ConfigError",
    "IllegalStateError",
    "KGroupError",
    "MissingExtraError",
    "UnsupportedError",
    "WakeupError",
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


class WakeupError(KGroupError):
    """A blocked read was ended by `wakeup()`; the consumer goes on as before."""

    def __init__(self) -> None:
        super().__init__("woken by wakeup(): nothing was read, and nothing is lost")


class UnsupportedError(KGroupError):
    """The backend, the broker or the platform cannot do what was asked."""
