"""A client is believed what can be checked: an assignment is one, all is held, all was claimed."""

import pytest

from kgroup.bench.adapters import Adapters
from kgroup.bench.cells import Cell, Plan, Size
from kgroup.bench.contest import Contest, Entry, Means
from kgroup.bench.judging import fault, judged
from kgroup.errors import ArgumentError
from kgroup.testing import InProcessBroker

PLAN = Plan(runs=1, claims=2, commits=1500, records=320, limit_s=60.0)
FIRST = {"a": [0, 1], "b": [2, 3], "c": [4]}


def assigned(again, first=FIRST):
    """What a leader gave to three members for five partitions, and when the last one had left."""
    return {"first": {"given": first}, "again": {"given": again}}


def measured(cell):
    """Measure one cell on an in-process broker."""
    entry = Entry(cell)
    with InProcessBroker().serve() as broker:
        Contest(broker.bootstrap, PLAN, lambda _line: None, Means(adapters=Adapters())).run([entry])
    return entry


# -- assignments ---------------------------------------------------------------------------


def test_what_a_member_keeps_has_not_moved():
    assert judged(assigned({"a": [0, 1, 4], "b": [2, 3]}), 3, 5) == {"apart": 1, "moved": 0}


def test_what_is_taken_from_a_member_that_is_still_there_has_moved():
    assert judged(assigned({"a": [0, 2], "b": [1, 3, 4]}), 3, 5) == {"apart": 1, "moved": 2}


def test_a_share_that_is_larger_is_told():
    assert judged(assigned({"a": [0, 1, 2, 3, 4], "b": []}), 3, 5)["apart"] == 5


def test_a_partition_that_a_member_has_to_hand_back_first_may_be_nobodys():
    assert judged(assigned({"a": [0, 4], "b": [2, 3]}), 3, 5)["moved"] == 1


@pytest.mark.parametrize(
    ("again", "first", "words"),
    [
        ({"a": [0, 1], "b": [2, 3]}, FIRST, "partition 4 for nobody"),
        ({"a": [0, 1, 4], "b": [2, 3]}, {**FIRST, "c": []}, "partition 4 for nobody"),
        ({"a": [0, 1, 4], "b": [1, 2, 3]}, FIRST, "partition 1"),
        ({"a": [0, 1, 5], "b": [2, 3, 4]}, FIRST, "partition 5"),
        ({"a": [0, 1, 2, 3, 4]}, FIRST, "1 members"),
        ({"a": [0, 1, 4], "c": [2, 3]}, FIRST, "still there"),
    ],
    ids=["nobody", "nobody at first", "twice", "unknown", "too few members", "one that left"],
)
def test_what_is_no_assignment_is_refused(again, first, words):
    with pytest.raises(ArgumentError, match=words):
        judged(assigned(again, first), 3, 5)


@pytest.mark.slow
@pytest.mark.parametrize("client", ["kgroup", "aiokafka", "kafka-python"])
def test_each_clients_leader_assigns_and_a_sticky_one_moves_nothing(client):
    entry = measured(Cell("assign", client, "sticky", size=Size(4, 13)))
    assert (entry.status, entry.reason) == ("measured", "")
    [sample] = entry.samples
    assert sample["judged"] == {"apart": 1, "moved": 0}


@pytest.mark.slow
def test_an_assignor_that_a_client_does_not_have_is_absent():
    entry = measured(Cell("assign", "kgroup", "fairest", size=Size(4, 13)))
    assert entry.status == "absent"
    assert "fairest" in entry.reason


# -- groups and claims ---------------------------------------------------------------------


def test_a_group_that_holds_less_than_all_is_at_fault():
    cell = Cell("scale", "kgroup", size=Size(3, 7))

    def said(*shares):
        return fault(cell, PLAN, {"result": {"held": 7}, "shares": shares}, {}, proof=False)

    assert not said([0, 1, 2], [3, 4], [5, 6])
    assert said([0, 1, 2], [3, 4], [5]) == "6 partitions are held, not 7"
    assert said([0, 1, 2], [3, 4, 0], [5, 6]) == "7 partitions are held, not 7"
    assert said([0, 1, 2, 3], [4, 5, 6]) == "2 members, not 3"
    assert said() == "0 partitions are held, not 7"


@pytest.mark.parametrize(
    ("committed", "stored", "told", "words"),
    [
        (1700, 1700, 1500, ""),
        (1700, None, 1500, ""),
        (1699, 1700, 1500, "has committed 1699, not 1700"),
        (1700, 400, 1500, "has stored 400 commits, not 1700"),
        (1700, 1700, 1, "1 commits were measured, not 1500"),
    ],
    ids=["all", "nobody says", "the last is missing", "most are missing", "few are measured"],
)
def test_commits_are_what_the_coordinator_has_stored(committed, stored, told, words):
    sample = {"committed": committed, "commits": stored, "result": {"commits": told}}
    said = fault(Cell("commit", "kgroup"), PLAN, sample, {}, proof=False)
    assert words in said
    assert bool(said) is bool(words)


def test_fewer_claims_than_asked_for_are_a_fault():
    cell = Cell("claim", "marshal", "at least once")
    assert "not 2" in fault(cell, PLAN, {"result": {"claims_s": [0.1]}}, {}, proof=False)
    assert not fault(cell, PLAN, {"result": {"claims_s": [0.1, 0.2]}}, {}, proof=False)


@pytest.mark.slow
@pytest.mark.parametrize(("job", "level"), [("claim", "at least once"), ("read", "at most once")])
def test_members_in_marshal_mode_claim_and_read(job, level):
    entry = measured(Cell(job, "marshal", level, "asyncio", quarter=True))
    assert (entry.status, entry.reason) == ("measured", "")
