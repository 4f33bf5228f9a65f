"""All named schedules, by what they are about."""

from typing import Final

from tests.search.simulation.named import (
    commits,
    coordinator,
    evicted,
    handing_over,
    leaving,
    rounds,
    statics,
)

SCHEDULES: Final = (
    *handing_over.NAMED,
    *rounds.NAMED,
    *evicted.NAMED,
    *coordinator.NAMED,
    *commits.NAMED,
    *statics.NAMED,
    *leaving.NAMED,
)
"""Each with a name of its own."""
