"""Scenarios and outcomes as JSON documents.

Decides: the format. Reading is strict: an unknown name, a wrong type, a repeated name or a number
out of bounds is an error with its path and what would be right. Writing leaves out what is absent;
a written scenario can be read again.
Never: reads or writes a file; plays anything.

    scenario: {"topics": {NAME: topic}, "members": [member], "events": [event],
               "now": SECONDS, "assignor": NAME, "runs": anything, not read}
    topic:    COUNT | {"partitions": COUNT, "racks": [[RACK or null, ...], ...]}
    member:   {"member_id": ID, "topics": [NAME], "group_instance_id": ID, "rack": RACK,
               "owned": {NAME: [NUMBER]}, "user_data": BASE64, "assigned_user_data": BASE64}
    event:    {"join": ID or null, "topics", "group_instance_id", "rack", "user_data"}
            | {"leave": ID} | {"grow": NAME, "to": COUNT, "racks"} | {"wait": SECONDS}
            | {"subscribe": ID, "topics": [NAME]} | {"restart": ID or [ID], "as": ID or [ID]}

Only "topics" of a scenario and "member_id" and "topics" of a member have to be there.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, assert_never

from kgroup.assignors.simulator.fields import Field, parse
from kgroup.assignors.simulator.playing import Outcome
from kgroup.assignors.simulator.scenario import (
    MOST_PARTITIONS,
    Event,
    Grow,
    Join,
    Leave,
    Racks,
    Restart,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    Subscribe,
    Wait,
)
from kgroup.errors import ArgumentError
from kgroup.types import TopicPartition
from kgroup.wire.partition_runs import runs_of

_SCENARIO: Final = ("topics", "members", "events", "now", "assignor", "runs")
_MEMBER: Final = (
    *("member_id", "topics", "group_instance_id", "rack", "owned"),
    *("user_data", "assigned_user_data"),
)
_COUNT: Final = f"a whole number of partitions from 0 to {MOST_PARTITIONS:,}"
_NAMES: Final = "a list of topic names"


def read_scenario(text: str | bytes, *, source: str = "scenario") -> Scenario:
    """Return the scenario that a document describes.

    Args:
        text: JSON; bytes are UTF-8.
        source: what the document is called in errors.

    Raises:
        ArgumentError: it is no JSON or no scenario, or it contradicts itself.
    """
    found = parse(text, source).record(_SCENARIO, ("topics",))
    topics = {
        name: _topic(field)
        for name, field in found["topics"].mapping("an object of topics by name").items()
    }
    members = found["members"].items("a list of members") if "members" in found else []
    events = found["events"].items("a list of events") if "events" in found else []
    now = found["now"].number("seconds since the epoch") if "now" in found else 0.0
    assignor = _text(found, "assignor", "the name of an assignor")
    read = tuple(map(_member, members)), tuple(map(_event, events))
    try:
        return Scenario(topics, *read, now, assignor)
    except ArgumentError as error:
        raise ArgumentError(f"{source}: {error.argument}", error.value, error.expected) from None


def read_events(text: str | bytes, *, source: str = "events") -> tuple[Event, ...]:
    """Return the events that a document lists.

    Args:
        text: JSON; bytes are UTF-8.
        source: what the document is called in errors.

    Raises:
        ArgumentError: it is no JSON, or no list of events.
    """
    return tuple(map(_event, parse(text, source).items("a list of events")))


# -- reading -------------------------------------------------------------------------------


def _topic(field: Field) -> SimulatedTopic:
    if isinstance(field.value, int):
        return SimulatedTopic(field.count(MOST_PARTITIONS, _COUNT))
    if isinstance(field.value, float | str | list) or field.value is None:
        field.refuse(f'{_COUNT}, or {{"partitions": ..., "racks": ...}}')
    found = field.record(("partitions", "racks"), ("partitions",))
    count = found["partitions"].count(MOST_PARTITIONS, _COUNT)
    racks = _racks(found["racks"]) if "racks" in found else ()
    if racks and len(racks) != count:
        found["racks"].refuse(f"{count} lists of racks, one for each partition")
    return SimulatedTopic(count, racks)


def _racks(field: Field) -> Racks:
    expected = "for each partition the list of its replicas' racks, the leader's first"
    rack = "the name of a rack, or null for a broker without one"
    return tuple(
        tuple(None if one.value is None else one.text(rack) for one in each.items(expected))
        for each in field.items(expected)
    )


def _member(field: Field) -> SimulatedMember:
    found = field.record(_MEMBER, ("member_id", "topics"))
    return SimulatedMember(
        member_id=found["member_id"].text("a member id"),
        topics=_topics(found["topics"]),
        group_instance_id=_text(found, "group_instance_id", "a group instance id"),
        rack=_text(found, "rack", "the name of a rack"),
        owned=_owned(found["owned"]) if "owned" in found else (),
        user_data=_data(found, "user_data"),
        assigned_user_data=_data(found, "assigned_user_data"),
    )


def _topics(field: Field) -> frozenset[str]:
    names: dict[str, None] = {}
    for one in field.items(_NAMES):
        name = one.text("the name of a topic")
        if name in names:
            one.refuse("each topic only once")
        names[name] = None
    return frozenset(names)


def _owned(field: Field) -> tuple[TopicPartition, ...]:
    found: dict[TopicPartition, None] = {}
    for topic, numbers in field.mapping("an object of partition numbers by topic").items():
        for one in numbers.items("a list of partition numbers"):
            tp = TopicPartition(topic, one.count(MOST_PARTITIONS, "the number of a partition"))
            if tp in found:
                one.refuse("each partition only once")
            found[tp] = None
    return tuple(found)


def _event(field: Field) -> Event:
    names = field.mapping("an event")
    kinds = [kind for kind in _KINDS if kind in names]
    if len(kinds) != 1:
        field.refuse(f"an object with one of {', '.join(map(repr, _KINDS))}")
    known, read = _KINDS[kinds[0]]
    return read(field.record((kinds[0], *known)), field)


def _join(found: Mapping[str, Field], _: Field) -> Event:
    return Join(
        member_id=_text(found, "join", "a member id, or null for a new one"),
        topics=_topics(found["topics"]) if "topics" in found else None,
        group_instance_id=_text(found, "group_instance_id", "a group instance id"),
        rack=_text(found, "rack", "the name of a rack"),
        user_data=_data(found, "user_data"),
    )


def _leave(found: Mapping[str, Field], event: Field) -> Event:
    return Leave(_needed(found, "leave", event).text("a member id or group instance id"))


def _grow(found: Mapping[str, Field], event: Field) -> Event:
    name = _needed(found, "grow", event).text("the name of a topic")
    count = _needed(found, "to", event).count(MOST_PARTITIONS, _COUNT)
    return Grow(name, count, _racks(found["racks"]) if "racks" in found else ())


def _subscribe(found: Mapping[str, Field], event: Field) -> Event:
    name = _needed(found, "subscribe", event).text("a member id or group instance id")
    return Subscribe(name, _topics(_needed(found, "topics", event)))


def _restart(found: Mapping[str, Field], event: Field) -> Event:
    members = _one_or_more(_needed(found, "restart", event))
    return Restart(members, _one_or_more(found["as"]) if "as" in found else ())


def _wait(found: Mapping[str, Field], event: Field) -> Event:
    return Wait(_needed(found, "wait", event).number("seconds, more than 0"))


_KINDS: Final[
    Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Field], Field], Event]]]
] = MappingProxyType(
    {
        "join": (("topics", "group_instance_id", "rack", "user_data"), _join),
        "leave": ((), _leave),
        "grow": (("to", "racks"), _grow),
        "subscribe": (("topics",), _subscribe),
        "restart": (("as",), _restart),
        "wait": ((), _wait),
    }
)
"""Kind of event -> its other names, and the function that reads it."""


def _one_or_more(field: Field) -> tuple[str, ...]:
    expected = "a member id or group instance id, or a list of them"
    if isinstance(field.value, str):
        return (field.text(expected),)
    return tuple(one.text(expected) for one in field.items(expected))


def _needed(found: Mapping[str, Field], name: str, event: Field) -> Field:
    if name not in found:
        event.refuse(f"{name!r} in it")
    return found[name]


def _text(found: Mapping[str, Field], name: str, expected: str) -> str | None:
    return found[name].text(expected) if name in found else None


def _data(found: Mapping[str, Field], name: str) -> bytes | None:
    return found[name].data() if name in found else None


# -- writing ---------------------------------------------------------------------------------------


Document = dict[str, object]
"""An object of JSON."""


def scenario_document(scenario: Scenario) -> Document:
    """Return a scenario as `read_scenario` reads it."""
    document: Document = {
        "topics": {name: _writing_topic(topic) for name, topic in scenario.topics.items()},
        "members": [_writing_member(member) for member in scenario.members],
        "events": [_writing_event(event) for event in scenario.events],
    }
    document |= _present("assignor", scenario.assignor)
    return {**document, "now": scenario.now} if scenario.now else document


def outcome_document(outcome: Outcome, *, with_owners: bool = True) -> Document:
    """Return what became of a group.

    Args:
        outcome: after one event.
        with_owners: whether to list what members own, `{member: {topic: [number]}}`.
    """
    even, racks = outcome.balance, outcome.racks
    document: Document = {
        "event": None if outcome.event is None else _writing_event(outcome.event),
        "rounds": outcome.rounds,
        "fewest": even.fewest,
        "most": even.most,
        "deviation": round(even.deviation, 6),
        "sum_of_squares": even.sum_of_squares,
        "moves": outcome.moves,
        "placed": outcome.placed,
        "stopped": outcome.stopped,
        "unowned": outcome.unowned,
        "rack_matches": None if racks is None else racks.matched,
        "rack_matches_possible": None if racks is None else racks.possible,
        "seconds": None if outcome.seconds is None else round(outcome.seconds, 6),
    }
    if with_owners:
        owned = outcome.owned.items()
        document["owned"] = {member_id: _writing_owned(each) for member_id, each in owned}
    return document


def _writing_topic(topic: SimulatedTopic) -> object:
    if not topic.racks:
        return topic.partitions
    return {"partitions": topic.partitions, "racks": _writing_racks(topic.racks)}


def _writing_racks(racks: Racks) -> list[list[str | None]]:
    return [list(each) for each in racks]


def _writing_member(member: SimulatedMember) -> Document:
    return {
        "member_id": member.member_id,
        "topics": sorted(member.topics),
        **_present("group_instance_id", member.group_instance_id),
        **_present("rack", member.rack),
        **_present("owned", _writing_owned(member.owned) or None),
        **_present("user_data", _writing_data(member.user_data)),
        **_present("assigned_user_data", _writing_data(member.assigned_user_data)),
    }


def _writing_event(event: Event) -> Document:
    match event:
        case Join():
            return {
                "join": event.member_id,
                **_present("topics", None if event.topics is None else sorted(event.topics)),
                **_present("group_instance_id", event.group_instance_id),
                **_present("rack", event.rack),
                **_present("user_data", _writing_data(event.user_data)),
            }
        case Leave():
            return {"leave": event.member}
        case Grow():
            racks = _present("racks", _writing_racks(event.racks) or None)
            return {"grow": event.topic, "to": event.partitions, **racks}
        case Subscribe():
            return {"subscribe": event.member, "topics": sorted(event.topics)}
        case Restart():
            return {
                "restart": list(event.members),
                **_present("as", list(event.member_ids) or None),
            }
        case Wait():
            return {"wait": event.seconds}
        case _:
            assert_never(event)


def _writing_owned(partitions: Sequence[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, numbers in runs_of(partitions):
        found.setdefault(topic, []).extend(numbers)
    return {topic: sorted(found[topic]) for topic in sorted(found)}


def _present(name: str, value: object) -> Document:
    return {} if value is None else {name: value}


def _writing_data(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")
