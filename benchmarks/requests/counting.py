"""The requests of members, by the log that a broker writes of them.

Decides: that those of producers and brokers are nobody's, and all others the group's; that the
seconds count in which members had settled, and were not told to end.
Never: asks a client what it sent.
"""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import time
from typing import Final

LOGGING: Final = "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug"
"""Has a broker of this machine log each request."""
MARGIN: Final = 5.0
"""Seconds before the last fetch that do not count."""

_LINE: Final = re.compile(
    r'(\d\d:\d\d:\d\d\.\d{3}) .*Completed request:.*?"requestApiKeyName":"(\w+)"'
)
_NOT_OF_MEMBERS: Final = frozenset({"PRODUCE", "INIT_PRODUCER_ID", "BROKER_HEARTBEAT"})


def counted(lines: Iterable[str], seconds: float) -> Counter[str]:
    """Return how often members asked for each API.

    Args:
        lines: of the broker's log, from before the group formed until it had ended.
        seconds: how long.
    """
    asked = [
        (_second(found[1]), found[2])
        for found in map(_LINE.match, lines)
        if found is not None and found[2] not in _NOT_OF_MEMBERS
    ]
    last = max(((at, api) for at, api in asked if api == "FETCH"), default=(0.0, ""))[0]
    end = last - MARGIN
    return Counter(api for at, api in asked if end - seconds <= at < end)


def _second(text: str) -> float:
    at = time.fromisoformat(text)
    return at.hour * 3600 + at.minute * 60 + at.second + at.microsecond / 1e6
