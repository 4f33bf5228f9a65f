"""What an option may be: one small rule per kind of value.

Decides: how a value as typed becomes the value kgroup works with, and what is refused. A length of
    time may be text in ISO 8601's notation, days to seconds (`P1DT2H30M0.5S`), as Kafka's own
    options spell it.
Never: names an option, or looks at two at once; `ConsumerConfig` does. Takes months or years, whose
    length nobody can tell.
"""

import math
import re
from collections.abc import Callable
from dataclasses import field
from datetime import timedelta
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

from kgroup.errors import ConfigError
from kgroup.net.ports import Ports
from kgroup.offsets.reset import ResetPolicy, Since

Rule = Callable[[str, object], object]
"""Option name and value as given -> the value to use; ConfigError when it is not right."""

_DEFAULT_PORT: Final = 9092
_MAX_PORT: Final = 65_535
_MAX_SECONDS: Final = 2_147_483.0
"""Times travel as 32 bit milliseconds."""
_MAX_BYTES: Final = 2**31 - 1
_MAX_TEXT: Final = 2**15 - 1
"""A string's length travels in 16 bits."""


T = TypeVar("T")


def option(default: T, rule: Rule, kafka: str | None = None, *, shown: bool = True) -> T:
    """Return the field of an option: the one place that says what there is to know of it.

    Args:
        default: its value when none is given.
        rule: makes the value kgroup works with, or refuses it.
        kafka: its name in Kafka's own consumer, None for an option that is not there.
        shown: whether the value may stand in a text, and counts in a hash.
    """
    metadata = {"rule": rule, "kafka": kafka}
    return field(default=default, repr=shown, hash=shown, metadata=metadata)


def duration(least: float, *, above: bool = False) -> Rule:
    """Return the rule of a length of time, in seconds or as a timedelta."""
    bound = f"seconds (float) or a timedelta, {'above' if above else 'at least'} {least:g}"

    def rule(name: str, value: object) -> float:
        seconds = value.total_seconds() if isinstance(value, timedelta) else value
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise ConfigError(name, value, bound)
        enough = seconds > least if above else seconds >= least
        if not enough or not math.isfinite(seconds) or seconds > _MAX_SECONDS:
            raise ConfigError(name, value, f"{bound}, and at most {_MAX_SECONDS:g}")
        return float(seconds)

    return rule


def or_none(rule: Rule) -> Rule:
    """Return a rule that takes None as well."""

    def optional(name: str, value: object) -> object:
        return None if value is None else rule(name, value)

    return optional


def whole(least: int, most: int = _MAX_BYTES, *, optional: bool = False) -> Rule:
    """Return the rule of a whole number within bounds."""
    bound = f"a whole number from {least} to {most}" + (", or None" if optional else "")

    def rule(name: str, value: object) -> int | None:
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(name, value, bound)
        return value

    return rule


def text(*, optional: bool) -> Rule:
    """Return the rule of a text that fits a string of the protocol."""
    bound = f"a string of 1 to {_MAX_TEXT} bytes" + (", or None" if optional else "")

    def rule(name: str, value: object) -> str | None:
        if value is None and optional:
            return None
        if not isinstance(value, str) or not value.strip() or not _fits(value):
            raise ConfigError(name, value, bound)
        return value

    return rule


def _fits(text: str) -> bool:
    try:
        return len(text.encode()) <= _MAX_TEXT
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def flag(name: str, value: object) -> bool:
    """Take True or False."""
    if not isinstance(value, bool):
        raise ConfigError(name, value, "True or False")
    return value


E = TypeVar("E", bound=Enum)


def choice(kind: type[E]) -> Rule:
    """Return the rule of a word that names a member of an enum."""
    words = {member.name.lower(): member for member in kind}

    def rule(name: str, value: object) -> E:
        if isinstance(value, kind):
            return value
        if isinstance(value, str) and value in words:
            return words[value]
        bound = " or ".join(repr(word) for word in words)
        near = get_close_matches(str(value), words, n=1)
        raise ConfigError(name, value, bound, nearest=near[0] if near else None)

    return rule


_NOTATION: Final = re.compile(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = (86_400, 3_600, 60, 1)


def seconds_of(text: str) -> float | None:
    """Return the seconds a text like `PT1H30M` stands for, None when it is no such text."""
    found = _NOTATION.fullmatch(text)
    if found is None or not any(found.groups()) or text[-1] in "tT":
        return None
    parts = zip(found.groups(), _SECONDS, strict=True)
    return sum((float(count) * unit for count, unit in parts if count), 0.0)


_RESET_WORDS: Final = choice(ResetPolicy)
_BY_DURATION: Final = "by_duration:"
"""Kafka's own prefix of an age in ISO 8601's notation (KIP-1106)."""


def reset_rule(name: str, value: object) -> object:
    """Take where to begin without a committed offset."""
    if isinstance(value, Since):
        return value
    if isinstance(value, timedelta):
        return _since(name, value, value.total_seconds())
    if isinstance(value, str) and value.startswith(_BY_DURATION):
        return _since(name, value, seconds_of(value.removeprefix(_BY_DURATION)))
    return _RESET_WORDS(name, value)


def _since(name: str, value: object, seconds: float | None) -> Since:
    if seconds is None or seconds < 0:
        expected = "an age of at least 0: a timedelta, or a text like 'by_duration:PT1H30M'"
        raise ConfigError(name, value, expected)
    return Since(seconds)


def assignor_choices(name: str, value: object) -> tuple[object, ...]:
    """Take a list of assignors, by name or as instances."""
    if isinstance(value, str) or not isinstance(value, list | tuple) or not value:
        raise ConfigError(name, value, "a list of names of assignors, or of instances")
    return tuple(value)


def servers(name: str, value: object) -> tuple[str, ...]:
    """Take addresses of brokers."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise ConfigError(name, value, "'host:port', several with commas between, or a list")
    return tuple(_address(name, each) for each in listed)


def _address(name: str, value: object) -> str:
    expected = "'host:port' (an IPv6 host in brackets), port 1 to 65535"
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(name, value, expected)
    text = value.strip()
    if text.endswith("]") or ":" not in text:
        text = f"{text}:{_DEFAULT_PORT}"
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host.startswith("[") and host.endswith("]")
    sound = bare and ("/" not in bare) and (":" in bare) == bracketed
    if not sound or not port.isascii() or not port.isdigit() or not 1 <= int(port) <= _MAX_PORT:
        raise ConfigError(name, value, expected)
    return f"{host}:{int(port)}"


def journal_sink(name: str, value: object) -> object:
    """Take where events are written."""
    if value is None or callable(getattr(value, "emit", None)):
        return value
    if isinstance(value, str | Path) and str(value):
        return Path(value)
    raise ConfigError(name, value, "a path, a journal sink, or None")


def ports_or_none(name: str, value: object) -> Ports | None:
    """Take ports of a test, or None."""
    if value is None or isinstance(value, Ports):
        return value
    raise ConfigError(name, value, "kgroup.net.ports.Ports, or None")


POSITIVE: Final = duration(0.0, above=True)
PAUSE: Final = duration(0.0)
