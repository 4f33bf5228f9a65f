"""From a failing schedule to a small one that breaks the same rule; Hypothesis does the work.

Decides: what Hypothesis is given: each pick is a number from 0 to what it was, and picks of one
part of the plan (`p3/...` is the fourth perturbation, `m1/...` the second member) stand together,
so that a whole part can go at once.
Never: keeps a candidate that does not break the rule.
"""

import time
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Final

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.errors import NoSuchExample

from tests.search.simulation.choices import Pick
from tests.search.simulation.schedule import Schedule

_KEY: Final = b"schedule"
_NOT_SHRUNK_YET: Final = _KEY + b".secondary"


def smaller(
    schedule: Schedule, fails: Callable[[Schedule], bool], *, seconds: float = 60.0
) -> Schedule:
    """Return a smaller schedule that fails, or the same when it does not fail again.

    Args:
        schedule: fails; it has its picks.
        fails: plays a candidate and says whether it breaks the same rule.
        seconds: after which no more candidates are played.
    """
    parts = _parts(schedule.picks or ())
    numbers = st.tuples(
        *(st.tuples(*(st.integers(0, pick.value) for pick in part)) for part in parts)
    )
    # Hypothesis begins with an example that it remembers: this one.
    database = InMemoryExampleDatabase()
    database.save(
        _NOT_SHRUNK_YET, choices_to_bytes([pick.value for part in parts for pick in part])
    )
    until = time.monotonic() + seconds

    failing: set[tuple[tuple[int, ...], ...]] = set()

    def fails_with(drawn: tuple[tuple[int, ...], ...]) -> bool:
        # Hypothesis asks for the smallest again at the end, and must hear the same.
        in_time = drawn not in failing and time.monotonic() < until
        if in_time and fails(schedule.with_picks(_picks(parts, drawn))):
            failing.add(drawn)
        return drawn in failing

    try:
        small = find(
            numbers,
            fails_with,
            settings=settings(
                database=database,
                phases=(Phase.reuse, Phase.shrink),
                suppress_health_check=list(HealthCheck),
                deadline=None,
            ),
            database_key=_KEY,
        )
    except NoSuchExample:
        return schedule
    return schedule.with_picks(_picks(parts, small))


def _parts(picks: Iterable[Pick]) -> list[tuple[Pick, ...]]:
    """Return picks by the part of the plan that they belong to."""

    def part(pick: Pick) -> str:
        return pick.site.partition("/")[0]

    return [tuple(each) for _, each in groupby(sorted(picks, key=part), key=part)]


def _picks(parts: Iterable[tuple[Pick, ...]], drawn: Iterable[tuple[Any, ...]]) -> tuple[Pick, ...]:
    return tuple(
        Pick(pick.site, pick.index, value)
        for part, values in zip(parts, drawn, strict=True)
        for pick, value in zip(part, values, strict=True)
        if value
    )
