"""One entry for all levels: a schedule in, an outcome out.

Decides: which engine plays which level.
Never: judges or draws by itself.
"""

from collections.abc import Callable, Collection, Mapping
from typing import assert_never

from kgroup.audit.oracles import Oracle
from tests.search.simulation.schedule import Level, Outcome, Schedule

MakeOracles = Callable[[], Mapping[str, Oracle]]
"""Makes the oracles of one run, by name; each run has fresh ones."""


def play(
    schedule: Schedule,
    *,
    oracles: MakeOracles | None = None,
    without: Collection[str] = (),
    keep: bool = False,
) -> Outcome:
    """Play one schedule and judge it.

    Args:
        schedule: what to play.
        oracles: None = those that fit the plan, see `promises`.
        without: names of oracles to leave out of those.
        keep: whether the outcome holds the whole journal.
    """
    # Each engine is imported when it is needed: level A needs no sockets.
    match schedule.level:
        case Level.A | Level.A_BYTES:
            from tests.search.simulation.world.run import play_objects  # noqa: PLC0415

            return play_objects(schedule, oracles=oracles, without=without, keep=keep)
        case Level.B | Level.C:
            from tests.search.simulation.live.run import play_live  # noqa: PLC0415

            return play_live(schedule, oracles=oracles, without=without, keep=keep)
        case _:
            assert_never(schedule.level)
