"""Playing one schedule by its seed, some oracles switched off.

Decides: what is judged, and what each finding is called after.
Never: knows of mutants: it is imported when one is in place.

A simulation also looks at the living world: that no member is stuck, and that the group comes to
rest. Each of these looks counts as an oracle, called after its rule: `world L1`, `world crash`.
"""

from collections.abc import Collection, Mapping
from functools import partial

from kgroup.audit.oracles import Oracle, Violation
from tests.search.mutants.plans import PLANS
from tests.search.oracles import simulation_oracles
from tests.search.simulation.choices import Pick
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.schedule import Level, Mode, Outcome, Schedule

WORLD = "world "
"""Begins the names of looks at the living world."""


class Player:
    """Plays schedules of one kind.

    Args:
        level: value of a `Level`.
        mode: value of a `Mode`.
        plan: name of a written plan that is played instead of drawn ones, "" for those.
        without: names of oracles that are switched off.
        only: name of the one oracle that is asked, "" for all, and the looks at the living world.
        picks: choices that are replayed instead of drawn from a seed, None for those of the seed.
    """

    def __init__(
        self,
        level: str,
        mode: str,
        plan: str,
        without: Collection[str],
        only: str = "",
        picks: tuple[Pick, ...] | None = None,
    ) -> None:
        self._level = Level(level)
        self._picks = picks
        self._mode = Mode(mode)
        self._plan = PLANS[plan] if plan else None
        self._blind = frozenset(name for name in without if name.startswith(WORLD))
        self._without = frozenset(without) - self._blind
        self._only = only
        unknown = (self._without | ({only} - {""})) - simulation_oracles().keys()
        if unknown:
            raise ValueError(f"no such oracles: {sorted(unknown)}")

    def play(self, seed: int) -> list[tuple[str, str, str]]:
        """Play one; return rule, oracle and words for each promise that was broken."""
        outcome = self._outcome(Schedule(self._level, self._mode, seed, self._picks))
        found = [(each.rule, _name(each), each.text) for each in outcome.violations]
        if self._only:
            return [each for each in found if each[1] == self._only]
        return [each for each in found if each[1] not in self._blind]

    def _outcome(self, schedule: Schedule) -> Outcome:
        # Each engine is imported when it is needed: a mutant must be known to take part.
        asked = partial(self._asked, schedule) if self._only else None
        if self._level in (Level.A, Level.A_BYTES):
            from tests.search.simulation.world.run import play_objects  # noqa: PLC0415

            return play_objects(schedule, oracles=asked, without=self._without, plan=self._plan)
        from tests.search.simulation.live.run import play_live  # noqa: PLC0415

        return play_live(schedule, oracles=asked, without=self._without, plan=self._plan)

    def _asked(self, schedule: Schedule) -> Mapping[str, Oracle]:
        plan = draw_plan(schedule.choices(), self._mode) if self._plan is None else self._plan
        every = simulation_oracles(
            partitions=plan.topics, ends_at=plan.ends_at, bound=plan.ends_at - plan.quiet_at
        )
        return {self._only: every[self._only]}


def _name(violation: Violation) -> str:
    return violation.oracle or f"{WORLD}{violation.rule}"
