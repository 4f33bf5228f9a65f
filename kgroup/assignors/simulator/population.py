"""The members and topics of a simulated group, before and after an event.

Decides: whether an event fits, what it leaves open (names, topics), and which rebalances follow.
Never: knows what members own; so all events can be checked before the first is played.
KIPs: 345 (a static member's restart is no rebalance).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from math import isfinite
from types import MappingProxyType
from typing import Final, assert_never

from kgroup.assignors.simulator.scenario import (
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    Subscribe,
    Wait,
    check_topics,
)
from kgroup.errors import ArgumentError
from kgroup.values import dataclass

_SHOWN: Final = 5
LONGEST_WAIT: Final = 365 * 24 * 3600.0
"""Seconds that one event may let pass."""


@dataclass(frozen=True, slots=True)
class Population:
    """The group without what it owns.

    Args:
        topics: by name.
        members: by member id.
        made_up: how many member ids have been made up.
    """

    topics: Mapping[str, SimulatedTopic]
    members: Mapping[str, SimulatedMember]
    made_up: int = 0

    def joined(self, member: SimulatedMember) -> "Population":
        """Return it with one more member."""
        return replace(self, members=MappingProxyType({**self.members, member.member_id: member}))

    def without(self, member_id: str) -> "Population":
        """Return it with one member less."""
        left = {name: each for name, each in self.members.items() if name != member_id}
        return replace(self, members=MappingProxyType(left))

    def named(self) -> tuple["Population", str]:
        """Return a member id that is free, and the population that has used it."""
        taken = {*self.members, *(each.group_instance_id for each in self.members.values())}
        number = self.made_up + 1
        while f"new-{number:03d}" in taken:
            number += 1
        return replace(self, made_up=number), f"new-{number:03d}"

    def find(self, at: str, name: str) -> SimulatedMember:
        """Return the member with this member id or group instance id.

        Raises:
            ArgumentError: there is none.
        """
        if name in self.members:
            return self.members[name]
        for member in self.members.values():
            if member.group_instance_id == name:
                return member
        known = [*self.members, *(m.group_instance_id or "" for m in self.members.values())]
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(at, name, f"{self._members_in_words()}{hint}")

    def _members_in_words(self) -> str:
        shown = ", ".join(map(repr, list(self.members)[:_SHOWN]))
        more = f" or one of {len(self.members) - _SHOWN} more" if len(self.members) > _SHOWN else ""
        return f"a member that is there then: {shown or 'there is none'}{more}"


@dataclass(frozen=True, slots=True)
class Step:
    """A part of an event, after which the group rebalances or not.

    Args:
        population: as it is then.
        rebalances: whether the group notices.
        renamed: (old, new) member id of a static member that has come back.
    """

    population: Population
    rebalances: bool = True
    renamed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One event, with everything filled in that it left open.

    Args:
        event: with member ids and topics; None is the beginning.
        steps: in order.
        seconds: how long it takes; rebalances that the leader begins on time fall into it.
    """

    event: Event | None
    steps: tuple[Step, ...]
    seconds: float = 0.0


def changes(scenario: Scenario) -> tuple[Change, ...]:
    """Return what happens in a scenario, the first rebalance of the group it describes first.

    Raises:
        ArgumentError: an event does not fit the group there is by then.
    """
    population = Population(
        scenario.topics,
        MappingProxyType({member.member_id: member for member in scenario.members}),
    )
    found = [Change(None, (Step(population, rebalances=bool(scenario.members)),))]
    for at, event in enumerate(scenario.events):
        change = _change(population, event, f"events[{at}]")
        population = change.steps[-1].population if change.steps else population
        found.append(change)
    return tuple(found)


def _change(before: Population, event: Event, at: str) -> Change:
    match event:
        case Join():
            return _join(before, event, at)
        case Leave():
            member = before.find(f"{at}.leave", event.member)
            return Change(event, (Step(before.without(member.member_id)),))
        case Grow():
            return _grow(before, event, at)
        case Subscribe():
            return _subscribe(before, event, at)
        case Restart():
            return _restart(before, event, at)
        case Wait():
            if not (isfinite(event.seconds) and 0 < event.seconds <= LONGEST_WAIT):
                expected = f"seconds above 0, {LONGEST_WAIT:,.0f} at most"
                raise ArgumentError(f"{at}.wait", event.seconds, expected)
            return Change(event, (), event.seconds)
        case _:
            assert_never(event)


def _join(before: Population, event: Join, at: str) -> Change:
    population, member_id = before, event.member_id
    if member_id is None:
        population, member_id = before.named()
    _check_new(before, f"{at}.join", member_id)
    if event.group_instance_id is not None:
        _check_new(before, f"{at}.group_instance_id", event.group_instance_id)
    topics = _shared_topics(before, at) if event.topics is None else event.topics
    check_topics(f"{at}.topics", topics, before.topics)
    member = SimulatedMember(
        member_id=member_id,
        topics=topics,
        group_instance_id=event.group_instance_id,
        rack=event.rack,
        user_data=event.user_data,
    )
    filled = replace(event, member_id=member_id, topics=topics)
    return Change(filled, (Step(population.joined(member)),))


def _check_new(population: Population, at: str, name: str) -> None:
    if not name:
        raise ArgumentError(at, name, "a name that is not empty")
    for member in population.members.values():
        if name in {member.member_id, member.group_instance_id}:
            expected = "a name that nobody has then; `restart` lets a member come back"
            raise ArgumentError(at, name, expected)


def _shared_topics(population: Population, at: str) -> frozenset[str]:
    found = {member.topics for member in population.members.values()}
    if len(found) > 1:
        expected = "the topics of the new member, since the others subscribe to different ones"
        raise ArgumentError(f"{at}.topics", None, expected)
    return next(iter(found), frozenset(population.topics))


def _grow(before: Population, event: Grow, at: str) -> Change:
    check_topics(f"{at}.grow", (event.topic,), before.topics)
    try:
        grown = before.topics[event.topic].grown(event.partitions, event.racks)
    except ArgumentError as error:
        where = f"{at}.racks" if error.argument == "racks" else f"{at}.to"
        raise ArgumentError(where, error.value, error.expected) from None
    after = replace(before, topics=MappingProxyType({**before.topics, event.topic: grown}))
    noticed = any(event.topic in member.topics for member in before.members.values())
    return Change(event, (Step(after, rebalances=noticed),))


def _subscribe(before: Population, event: Subscribe, at: str) -> Change:
    member = before.find(f"{at}.subscribe", event.member)
    check_topics(f"{at}.topics", event.topics, before.topics)
    after = before.joined(replace(member, topics=event.topics))
    return Change(event, (Step(after, rebalances=event.topics != member.topics),))


def _restart(before: Population, event: Restart, at: str) -> Change:
    if not event.members:
        raise ArgumentError(f"{at}.restart", "no members", "one at least")
    if event.member_ids and len(event.member_ids) != len(event.members):
        expected = f"{len(event.members)} names, one for each member that restarts"
        raise ArgumentError(f"{at}.as", f"{len(event.member_ids)} names", expected)
    population = before
    steps: list[Step] = []
    given: list[str] = []
    for place, name in enumerate(event.members):
        member = population.find(f"{at}.restart", name)
        if event.member_ids:
            member_id = event.member_ids[place]
            _check_new(population, f"{at}.as", member_id)
        else:
            population, member_id = population.named()
        steps += _comes_back(population, member, member_id)
        population = steps[-1].population
        given.append(member_id)
    return Change(replace(event, member_ids=tuple(given)), tuple(steps))


def _comes_back(before: Population, member: SimulatedMember, member_id: str) -> Iterator[Step]:
    gone = before.without(member.member_id)
    back = gone.joined(replace(member, member_id=member_id))
    if member.group_instance_id is not None:
        yield Step(back, rebalances=False, renamed=(member.member_id, member_id))
        return
    yield Step(gone)
    yield Step(back)
