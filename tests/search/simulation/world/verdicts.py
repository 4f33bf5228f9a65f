"""What only the living world shows: that nobody is stuck, and that the group comes to rest.

Decides: L2: whoever is in no terminal state waits for something: a timer, an answer, its assignor,
its listener. L1: at the end of the quiet tail every partition of a subscribed topic has one owner,
who has read all there is. L7: who has unsubscribed is out of the group by then.
A slow application that has begun to read before the tail ends has as long as what is left takes it:
how much a group has left unread while it was disturbed says nothing of whether it came to rest.
Never: looks into the journal; oracles do.
"""

import math
from collections.abc import Iterator
from typing import Final

from kgroup.audit.oracles import Violation
from kgroup.membership.states import TERMINAL
from kgroup.types import MemberState, TopicPartition
from tests.search.simulation.world.crew import Crew, Life

__all__ = ["at_rest", "reading_on", "stuck"]

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
