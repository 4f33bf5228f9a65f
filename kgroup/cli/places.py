"""Places in logs as they are typed: `--from` and `--until`.

Decides: the forms, that a time lies in the past, and which of two places lies before the other
in whatever log.
Never: asks a broker; `kgroup.net.log_places` does.
"""

import re
from datetime import datetime
from typing import Final

from kgroup.errors import ArgumentError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.log_places import FromEnd, Offset, Place, Time

__all__ = ["PLACE_FORMS", "lies_before", "read_place"]

PLACE_FORMS: Final = (
    "earliest, latest, an offset, -N (offsets before the end), a time (2026-08-01T12:00Z) or an "
    "age (15m)"
)

_EXPECTED: Final = (
    "earliest, latest, an offset such as 42, -N for N offsets before the end, a time in the past "
    "such as 2026-08-01T12:00 (local) or 2026-08-01T12:00Z, or an age such as 90s, 15m, 2h, 7d"
)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+")
_AGE_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_MOST: Final = 2**63 - 1


def read_place(option: str, text: str, *, now: float) -> Place:
    """Return what a text means.

    Args:
        option: its name, for the error.
        text: as typed.
        now: seconds since the epoch.

    Raises:
        ArgumentError: it has none of the forms, or means a time to come.
    """
    typed = text.strip()
    place = _named(typed.lower()) or _counted(typed) or _timed(typed, now)
    if place is None or (isinstance(place, Time) and not 0 <= place.timestamp <= now * 1000):
        raise ArgumentError(option, text, _EXPECTED)
    return place


def lies_before(place: Place, other: Place) -> bool:
    """Tell whether a place lies before another in every log, as far as the words alone say it."""
    match place, other:
        case Offset(offset), Offset(of_other):
            return offset < of_other
        case Time(timestamp), Time(of_other):
            return timestamp < of_other
        case FromEnd(count), FromEnd(of_other):
            return count > of_other
        case _:
            return False


def _named(typed: str) -> Place | None:
    return {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}.get(typed)


def _counted(typed: str) -> Place | None:
    digits = typed.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or int(digits) > _MOST:
        return None
    return FromEnd(int(digits)) if typed.startswith("-") else Offset(int(digits))


def _timed(typed: str, now: float) -> Place | None:
    if _AGE.fullmatch(typed):
        age = sum(float(count) * _SECONDS[unit] for count, unit in _AGE_PART.findall(typed))
        return Time(round((now - age) * 1000))
    try:
        return Time(round(datetime.fromisoformat(typed).timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        return None
