"""What only the living world shows: that nobody is stuck, and that the group comes to rest.

Decides: L2: whoever is in no terminal state waits for something: a timer, an answer, its assignor,
its listener. L1: at the end of the quiet tail every partition of a subscribed topic has one owner,
who has read all there is. L7: who has unsubscribed is out of the group by then.
Never: looks into the journal; oracles do.
"""

import math
from collections.abc import Iterator
from typing import Final

from kgroup.journal.oracles import Violation
from kgroup.membership.states import TERMINAL
from kgroup.testing.simulation.world.crew import Crew, Life
from kgroup.types import MemberState, TopicPartition

__all__ = ["at_rest", "stuck"]

_RESTING: Final = TERMINAL | {MemberState.UNSUBSCRIBED, MemberState.DORMANT}


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
