"""Lengths of time in ISO 8601's notation, as Kafka's own options spell them.

Decides: which part of the notation is taken: days, hours, minutes, seconds (`P1DT2H30M0.5S`).
Never: takes months or years, whose length nobody can tell, or a negative length.
"""

import re
from typing import Final

__all__ = ["seconds_of"]

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
