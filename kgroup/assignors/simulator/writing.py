"""Scenarios and outcomes written as JSON documents, in the format of `documents`.

Decides: that what is absent is left out, and that what is written can be read again.
Never: writes a file.
"""

import base64
from collections.abc import Sequence
from typing import assert_never

from kgroup.assignors.simulator.events import (
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    Subscribe,
    Wait,
)
from kgroup.assignors.simulator.playing import Outcome
from kgroup.assignors.simulator.scenario import Racks, Scenario, SimulatedMember, SimulatedTopic
from kgroup.types import TopicPartition
from kgroup.wire.partition_runs import runs_of

__all__ = ["Document", "outcome_document", "scenario_document"]

Document = dict[str, object]
"""An object of JSON."""


def scenario_document(scenario: Scenario) -> Document:
    """Return a scenario as `read_scenario` reads it."""
    document: Document = {
        "topics": {name: _topic(topic) for name, topic in scenario.topics.items()},
        "members": [_member(member) for member in scenario.members],
        "events": [_event(event) for event in scenario.events],
    }
    return {**document, "now": scenario.now} if scenario.now else document


def outcome_document(outcome: Outcome, *, with_owners: bool = True) -> Document:
    """Return what became of a group.

    Args:
        outcome: after one event.
        with_owners: whether to say who owns what, `{member: {topic: [number]}}`.
    """
    even, racks = outcome.balance, outcome.racks
    document: Document = {
        "event": None if outcome.event is None else _event(outcome.event),
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
        document["owned"] = {member_id: _owned(each) for member_id, each in owned}
    return document


def _topic(topic: SimulatedTopic) -> object:
    if not topic.racks:
        return topic.partitions
    return {"partitions": topic.partitions, "racks": _racks(topic.racks)}


def _racks(racks: Racks) -> list[list[str | None]]:
    return [list(each) for each in racks]


def _member(member: SimulatedMember) -> Document:
    return {
        "member_id": member.member_id,
        "topics": sorted(member.topics),
        **_present("group_instance_id", member.group_instance_id),
        **_present("rack", member.rack),
        **_present("owned", _owned(member.owned) or None),
        **_present("user_data", _data(member.user_data)),
        **_present("assigned_user_data", _data(member.assigned_user_data)),
    }


def _event(event: Event) -> Document:
    match event:
        case Join():
            return {
                "join": event.member_id,
                **_present("topics", None if event.topics is None else sorted(event.topics)),
                **_present("group_instance_id", event.group_instance_id),
                **_present("rack", event.rack),
                **_present("user_data", _data(event.user_data)),
            }
        case Leave():
            return {"leave": event.member}
        case Grow():
            racks = _present("racks", _racks(event.racks) or None)
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


def _owned(partitions: Sequence[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, numbers in runs_of(partitions):
        found.setdefault(topic, []).extend(numbers)
    return {topic: sorted(found[topic]) for topic in sorted(found)}


def _present(name: str, value: object) -> Document:
    return {} if value is None else {name: value}


def _data(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")
