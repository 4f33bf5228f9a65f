"""Plays one schedule at level A or A'.

Decides: the order of a run: members start, perturbations strike, then nothing does, and the group
must come to rest; which member waits for nothing (L2), and what rest is (L1).
Never: draws other than by the run's choices.
"""

import gc
import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Final

from kgroup.audit.oracles import Oracle, Violation
from kgroup.audit.oracles.watch import Watch
from kgroup.errors import LocalProtocolError
from kgroup.membership.states import TERMINAL
from kgroup.types import MemberState, TopicPartition
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.plan import Plan
from tests.search.simulation.recorder import Known, Recorder, promises
from tests.search.simulation.schedule import Level, Outcome, Schedule
from tests.search.simulation.world.ambushes import Ambushes
from tests.search.simulation.world.cluster import Brokers
from tests.search.simulation.world.crew import Crew, Life
from tests.search.simulation.world.nemesis import Nemesis

_RESTING: Final = TERMINAL | {MemberState.UNSUBSCRIBED, MemberState.DORMANT}

_TRIP: Final = 10.0
"""Times the latency: a question and its answer, both as late as jitter makes them."""


def stuck(life: Life) -> Violation | None:
    """Return what is wrong with a member that waits for nothing, None when nothing is."""
    value = life.member.value
    if life.member.over or value.state in _RESTING or value.changes:
        return None
    awaited = (value.round.ticket, value.heartbeat, value.coordinator.ticket)
    if any(each is not None for each in awaited) or life.member.due < math.inf:
        return None
    text = f"{life.process.name} is {value.state.value} and waits for nothing"
    return Violation("L2", text, ())


def reading_on(crew: Crew) -> float:
    """Return how many seconds it takes to read what has been begun: 0 when all of it is read.

    1. Hardly a round stands while a group is disturbed, and nothing is read; 2. records are written
    all the time; 3. the group comes to rest, and an application that has each batch in hand for a
    second has more to read than the tail has seconds.
    """
    trip = _TRIP * crew.plan.latency
    readers = (life for life in crew.everybody if not life.member.over)
    return max(
        (
            life.application.reading.reads_left(crew.logs.ends) * (life.plan.handling + trip)
            for life in readers
        ),
        default=0.0,
    )


def at_rest(crew: Crew) -> Iterator[Violation]:
    """Yield what is wrong with a group that has had all the time it needs."""
    owners: dict[TopicPartition, list[Life]] = {}
    readers: set[str] = set()
    for life in crew.everybody:
        value = life.member.value
        if life.member.over or value.wishes.closing is not None:
            continue
        if value.wishes.topics is None:
            yield from _of_one_without_topics(life)
            continue
        readers |= value.wishes.topics
        for tp in value.holdings.partitions:
            owners.setdefault(tp, []).append(life)
    for topic, width in crew.brokers.counts().items():
        if topic not in readers:
            continue
        for number in range(width):
            yield from _of_partition(crew, TopicPartition(topic, number), owners)


def _of_one_without_topics(life: Life) -> Iterator[Violation]:
    state = life.member.value.state
    if state not in TERMINAL and state is not MemberState.UNSUBSCRIBED:
        text = f"{life.process.name} has unsubscribed, and is {state.value} long after"
        yield Violation("L7", text, ())


def _of_partition(
    crew: Crew, tp: TopicPartition, owners: dict[TopicPartition, list[Life]]
) -> Iterator[Violation]:
    there = owners.get(tp, [])
    if len(there) != 1:
        names = ", ".join(each.process.name for each in there) or "nobody"
        states = {
            life.process.name: life.member.value.state.value
            for life in crew.everybody
            if not life.member.over
        }
        text = f"{tp} is owned by {names} long after the last perturbation; {states}"
        yield Violation("L1", text, (), tp)
        return
    (life,) = there
    crew.must_have_read(tp)
    claims = life.application.reading.claims_of([tp])
    handed = None if not claims else life.application.reading.ledger.handed(claims[0])
    end = crew.logs.ends.get(tp, 0)
    if (handed or 0) < end:
        text = f"{tp}: {life.process.name} owns it and has read to {handed} of {end}"
        yield Violation("L1", text, (), tp)


# -- run -------------------------------------------------------------------------------------------


_LOOK_EVERY: Final = 1.0
"""Virtual seconds: a member that no step reaches any more is looked at as well."""


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
    """Let the readers read on, and yield what is wrong with the group then."""
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
