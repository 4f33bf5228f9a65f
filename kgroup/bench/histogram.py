"""Times as HdrHistograms: raw enough to be put together, small enough to be kept.

Decides: microseconds, from 1 to an hour, three digits that count; as text in the form that all
HdrHistogram libraries read (V2, compressed, base64).
Never: loses one that is longer: it counts as an hour.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final

from kgroup.errors import MissingExtraError

_HOUR: Final = 3_600_000_000
_DIGITS: Final = 3
PERCENTILES: Final = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 100.0)


def encoded(times: Iterable[float]) -> str:
    """Return a histogram as text.

    Args:
        times: seconds.

    Raises:
        MissingExtraError: hdrhistogram is not installed.
    """
    made = _new()
    for each in times:
        made.record_value(min(_HOUR, max(1, round(each * 1e6))))
    text: bytes = made.encode()
    return text.decode("ascii")


def percentiles(texts: Sequence[str], wanted: Sequence[float] = PERCENTILES) -> list[float]:
    """Return percentiles of histograms put together, seconds; nothing of nothing.

    Args:
        texts: as `encoded` returns them.
        wanted: 0 to 100.

    Raises:
        MissingExtraError: hdrhistogram is not installed.
    """
    whole = _new()
    for text in texts:
        whole.decode_and_add(text)
    if not whole.get_total_count():
        return []
    return [whole.get_value_at_percentile(each) / 1e6 for each in wanted]


def _new() -> Any:  # noqa: ANN401 - it has no types
    try:
        histogram = import_module("hdrh.histogram").HdrHistogram
    except ImportError as error:
        raise MissingExtraError("a histogram of times", "bench") from error
    return histogram(1, _HOUR, _DIGITS)
