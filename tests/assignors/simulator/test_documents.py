"""Scenarios as JSON: the format, the errors, and reading back what was written."""

import json
import re
from typing import Any

import pytest

from kgroup.assignors import BUILT_IN
from kgroup.assignors.simulator import (
    EXAMPLES,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    Subscribe,
    Wait,
    outcome_document,
    play,
    read_events,
    read_scenario,
    scenario_document,
)
from kgroup.errors import ArgumentError
from kgroup.types import TopicPartition

WHOLE = """
{
  "topics": {
    "orders": 8,
    "zoned": {"partitions": 2, "racks": [["a", "b"], [null, "c"]]},
    "later": {"partitions": 0}
  },
  "members": [
    {"member_id": "m-1", "topics": ["orders", "zoned"], "group_instance_id": "till-1",
     "rack": "a", "owned": {"orders": [0, 3], "zoned": [1]}, "assigned_user_data": "AAE="},
    {"member_id": "m-2", "topics": [], "rack": null, "user_data": ""}
  ],
  "events": [
    {"join": null},
    {"join": "m-3", "topics": ["orders"], "group_instance_id": "till-3", "rack": "b",
     "user_data": "/w=="},
    {"leave": "till-1"},
    {"grow": "orders", "to": 9},
    {"grow": "zoned", "to": 3, "racks": [["a"]]},
    {"subscribe": "m-2", "topics": ["later"]},
    {"restart": "m-2"},
    {"restart": ["m-3", "m-2"], "as": ["m-4", "m-5"]},
    {"wait": 30}
  ],
  "now": 1790000000.5,
  "runs": [{"not": "read"}]
}
"""


def test_everything_that_can_be_said_is_read() -> None:
    tp = TopicPartition
    assert read_scenario(WHOLE) == Scenario(
        {
            "orders": SimulatedTopic(8),
            "zoned": SimulatedTopic(2, (("a", "b"), (None, "c"))),
            "later": SimulatedTopic(0),
        },
        (
            SimulatedMember(
                member_id="m-1",
                topics=frozenset({"orders", "zoned"}),
                group_instance_id="till-1",
                rack="a",
                owned=(tp("orders", 0), tp("orders", 3), tp("zoned", 1)),
                assigned_user_data=b"\x00\x01",
            ),
            SimulatedMember(member_id="m-2", topics=frozenset(), user_data=b""),
        ),
        (
            Join(),
            Join(
                member_id="m-3",
                topics=frozenset({"orders"}),
                group_instance_id="till-3",
                rack="b",
                user_data=b"\xff",
            ),
            Leave("till-1"),
            Grow("orders", 9),
            Grow("zoned", 3, (("a",),)),
            Subscribe("m-2", frozenset({"later"})),
            Restart(("m-2",)),
            Restart(("m-3", "m-2"), ("m-4", "m-5")),
            Wait(30),
        ),
        1790000000.5,
    )


@pytest.mark.parametrize(
    "scenario", [read_scenario(WHOLE), *EXAMPLES.values()], ids=["whole", *EXAMPLES]
)
def test_what_is_written_is_read_as_it_was(scenario: Scenario) -> None:
    assert read_scenario(json.dumps(scenario_document(scenario))) == scenario


def test_events_alone_are_read_and_bytes_may_begin_with_a_mark() -> None:
    assert read_events(b'\xef\xbb\xbf[{"leave": "m"}]') == (Leave("m"),)


def test_a_group_may_be_empty_at_first() -> None:
    assert read_scenario('{"topics": {}}') == Scenario({})


# -- what cannot be said -----------------------------------------------------------------------


def changed(path: str, value: object) -> str:
    """Return the whole document with one value changed; `path` as in errors."""
    document: Any = json.loads(WHOLE)
    steps = [int(n) if n else name for n, name in re.findall(r"\[(\d+)\]|(\w+)", path)]
    place = document
    for step in steps[:-1]:
        place = place[step]
    if isinstance(value, type):
        del place[steps[-1]]
    else:
        place[steps[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("topics", [], "topics: got [], expected an object of topics by name"),
        ("topics.orders", -1, "topics.orders: got -1, expected a whole number of partitions"),
        ("topics.orders", 1.5, "topics.orders: got 1.5, expected a whole number"),
        ("topics.orders", True, "topics.orders: got true"),
        ("topics.orders", "8", 'topics.orders: got "8"'),
        ("topics.orders", None, "topics.orders: got null"),
        ("topics.orders", 10**12, "from 0 to 1,000,000"),
        ("topics.zoned.partitions", 3, "topics.zoned.racks: got"),
        ("topics.zoned.racks[1]", "a", 'topics.zoned.racks[1]: got "a", expected for each'),
        ("topics.zoned.racks[1][1]", 7, "topics.zoned.racks[1][1]: got 7, expected the name"),
        ("topics.zoned.rack", [], "topics.zoned.rack: got [], expected no such name: known are"),
        ("members", {}, "members: got {}, expected a list of members"),
        ("members[1]", "m-2", 'members[1]: got "m-2", expected an object with'),
        ("members[1].member_id", 5, "members[1].member_id: got 5, expected a member id"),
        ("members[1].member_id", "", 'members[1].member_id: got ""'),
        ("members[1].member_id", "m\ud800", "a member id, without half of a surrogate pair"),
        ("topics", {"t\ud800": 1}, "which holds half of a surrogate pair"),
        ("members[1].member_id", "m-1", "members[1].member_id: got 'm-1', expected another name"),
        ("members[0].member_id", None, "members[0]: got"),
        ("members[0].topics", "orders", "members[0].topics: got"),
        ("members[0].topics", ["orders", "orders"], "members[0].topics[1]: got"),
        ("members[0].topics", ["ordes"], "members[0].topics: got 'ordes', expected one of"),
        ("members[0].rack", 1, "members[0].rack: got 1, expected the name of a rack"),
        ("members[0].owned.orders", [3, 3], "members[0].owned.orders[1]: got 3, expected each"),
        ("members[0].owned.orders", [-1], "members[0].owned.orders[0]: got -1"),
        ("members[0].owned.orders", [8], "members[0].owned: got 'orders-8'"),
        ("members[0].owned.later", [0], "members[0].owned: got 'later-0'"),
        ("members[0].assigned_user_data", "A", 'assigned_user_data: got "A", expected bytes as'),
        ("members[0].user_data", 3, "members[0].user_data: got 3, expected bytes as base64"),
        ("members[0].topic", [], "did you mean 'topics'?"),
        ("events[2]", {"leave": "m", "join": "n"}, "events[2]: got"),
        ("events[2]", {"go": "m"}, "expected an object with one of 'join', 'leave', 'grow'"),
        ("events[2].leave", 3, "events[2].leave: got 3, expected a member id or group"),
        ("events[2].leave", None, "events[2]: got"),
        ("events[2].topics", [], "events[2].topics: got [], expected no such name: known are"),
        ("events[3].to", int, "expected 'to' in it"),
        ("events[5].topics", int, "expected 'topics' in it"),
        ("events[6].restart", [3], "events[6].restart[0]: got 3"),
        ("events[8].wait", -1, "events[8].wait: got -1, expected seconds"),
        ("events[8].wait", "1", 'events[8].wait: got "1"'),
        ("events[8].wait", True, "events[8].wait: got true"),
        ("now", 10**400, "now: got 1000"),
        ("mebers", [], "did you mean 'members'?"),
        ("topics", int, "the document: got"),
    ],
)
def test_the_error_for_a_wrong_value_names_its_path_and_the_way_out(
    path: str, value: object, message: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_scenario(changed(path, value), source="group.json")
    assert str(caught.value).startswith("group.json: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: line 1, column 1: got nothing, expected JSON"),
        ('{"topics":\n {"a": 1,}}', 'f: line 2, column 10: got {"a": 1,}}, expected JSON'),
        (b"\xff", "f: got byte 0xff at 0, expected a text of JSON in UTF-8"),
        ('{"topics": {"a": NaN}}', "f: got the number NaN, expected JSON"),
        ('{"topics": {"a": 1, "a": 2}}', "f: topics.a: got 2, expected the name 'a' only once"),
        ('{"topics": {"a.b": -2}}', "f: topics['a.b']: got -2"),
        ("[" * 100_000, "f: got a deep nesting"),
        ("[]", "f: the document: got [], expected an object with 'topics'"),
        ("9" * 5000, "f: got "),
    ],
)
def test_a_text_that_is_no_scenario_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_scenario(text, source="f")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


# -- outcomes ----------------------------------------------------------------------------------


def test_an_outcome_holds_numbers_and_owners() -> None:
    _, joined, *_ = play(EXAMPLES["swaps"], BUILT_IN["range"])
    assert outcome_document(joined) == {
        "event": {"join": "m2", "topics": ["orders"]},
        "rounds": 1,
        "fewest": 4,
        "most": 4,
        "deviation": 0.0,
        "sum_of_squares": 32,
        "moves": 4,
        "placed": 0,
        "stopped": 8,
        "unowned": 0,
        "rack_matches": None,
        "rack_matches_possible": None,
        "seconds": None,
        "owned": {"m1": {"orders": [0, 1, 2, 3]}, "m2": {"orders": [4, 5, 6, 7]}},
    }
    assert "owned" not in outcome_document(joined, with_owners=False)


def test_what_members_own_in_an_outcome_can_be_the_beginning_of_another_scenario() -> None:
    scenario = EXAMPLES["equal"]
    *_, end = play(scenario, BUILT_IN["sticky"])
    owned: Any = outcome_document(end)["owned"]
    document = {
        **scenario_document(scenario),
        "events": [],
        "members": [
            {"member_id": name, "topics": sorted(scenario.topics), "owned": owned[name]}
            for name in owned
        ],
    }
    document["topics"] = {**dict.fromkeys(scenario.topics, 12), "topic-3": 24}
    (again,) = play(read_scenario(json.dumps(document)), BUILT_IN["sticky"])
    assert (again.moves, again.balance) == (0, end.balance)
