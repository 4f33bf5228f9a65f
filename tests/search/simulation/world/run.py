"""Plays one schedule at level A or A'.

Decides: the order of a run: members start, perturbations strike, then nothing does, and the group
must come to rest.
Never: draws other than by the run's choices.
"""

import gc
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Final

from kgroup.audit.oracles import Oracle, Violation
from kgroup.audit.oracles.watch import Watch
from kgroup.errors import LocalProtocolError
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.plan import Plan
from tests.search.simulation.promises import Known, promises
from tests.search.simulation.recorder import Recorder
from tests.search.simulation.schedule import Level, Schedule
from tests.search.simulation.world.ambushes import Ambushes
from tests.search.simulation.world.cluster import Brokers
from tests.search.simulation.world.crew import Crew, Life
from tests.search.simulation.world.nemesis import Nemesis
from tests.search.simulation.world.verdicts import at_rest, reading_on, stuck

__all__ = ["play_objects"]

_LOOK_EVERY: Final = 1.0
"""Virtual seconds: whom no step reaches any more is looked at as well."""


def play_objects(
    schedule: Schedule,
    *,
    oracles: Callable[[], Mapping[str, Oracle]] | None = None,
    without: Collection[str] = (),
    keep: bool = False,
    plan: Plan | None = None,
) -> Outcome:
    """Play a schedule whose members are machines and whose messages are objects, or their bytes.

    Args:
        schedule: what to play.
        oracles: None = those that fit the plan.
        without: names of oracles to leave out of those.
        keep: whether the outcome holds the journal.
        plan: None = drawn; a written one for named schedules.
    """
    choices = schedule.choices()
    drawn = draw_plan(choices, schedule.mode) if plan is None else plan
    known = Known(dict(drawn.topics))  # oracles look at what there is at first
    watch = Watch(promises(drawn, known, without) if oracles is None else oracles())
    brokers = Brokers(drawn, choices, through_bytes=schedule.level is Level.A_BYTES)
    agenda = brokers.agenda
    recorder = Recorder(watch, lambda: agenda.now, keep=keep, ordered=True)
    crew = Crew(drawn, brokers, recorder, choices, known)
    found: list[Violation] = []
    with _quiet():
        _set_out(drawn, crew, found)
        try:
            brokers.heap.run(drawn.ends_at)
            found += _rested(crew)
        except LocalProtocolError as error:
            found.append(Violation("crash", str(error), ()))
    recorder.finish()
    members = [life.member for lives in crew.lives.values() for life in lives]
    return Outcome(
        schedule=schedule,
        plan=drawn,
        picks=choices.picks,
        violations=(*recorder.violations, *found),
        digest=recorder.digest,
        events=brokers.heap.events,
        seconds=brokers.now,
        rows=Counter(chain.from_iterable(member.fired for member in members)),
        cells=Counter(chain.from_iterable(member.ignored for member in members)),
        entries=tuple(recorder.entries),
    )


def _rested(crew: Crew) -> Iterator[Violation]:
    """Let who is reading read on, and yield what is wrong with the group then."""
    crew.brokers.heap.run(crew.plan.ends_at + reading_on(crew))
    yield from at_rest(crew)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the members' logs to themselves, and collect no garbage: all of it is the run's end."""
    log = logging.getLogger("kgroup")
    before, collects = log.level, gc.isenabled()
    log.setLevel(logging.CRITICAL + 1)
    gc.disable()
    try:
        yield
    finally:
        log.setLevel(before)
        if collects:
            gc.enable()


def _set_out(plan: Plan, crew: Crew, found: list[Violation]) -> None:
    """Put everything that will happen by itself into the heap."""
    brokers, nemesis = crew.brokers, Nemesis(crew)
    if plan.ambushes:
        Ambushes(crew).lay()
    for member in plan.members:
        if member.starts_at is not None:
            brokers.at(member.starts_at, crew.start, member)
    for what in plan.perturbations:
        brokers.at(what.at, nemesis.strike, what)
    at = 0.0
    while at < plan.quiet_at:
        brokers.at(at, crew.produce)
        at += plan.produce_every

    def look_at(life: Life) -> None:
        wrong = stuck(life)
        if wrong is not None:
            found.append(wrong)

    def look() -> None:
        for life in crew.everybody:
            look_at(life)
        brokers.at(brokers.now + _LOOK_EVERY, look)

    crew.on_idle = look_at
    look()
