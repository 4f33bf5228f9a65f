"""The benchmark of assignors measures what it says, and refuses wrong results."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.assignors.judging import Event, Result, WrongAssignmentError, judge
from benchmarks.assignors.kgroup_leader import KgroupLeader
from benchmarks.assignors.measuring import Contest, Plan
from benchmarks.assignors.report import page
from benchmarks.assignors.scenarios import GENERATION, SCENARIOS, Scenario, make, subscriber_counts
from benchmarks.assignors.workers import StoppedError

ROOT = Path(__file__).parents[2]
FRESH = Event()


def two_and_two() -> Scenario:
    """Two topics of two partitions; members 0 and 1 have the first, 1 and 2 the second."""
    topics = (("a", 2), ("b", 2))
    members = (("m0", 0), ("m1", 1), ("m2", 2))
    return Scenario("small", topics, ((0,), (0, 1), (1,)), members, leaver=1)


def judged(given, event=FRESH, *, cooperative=False, withheld=None):
    result = Result(given, {} if withheld is None else withheld)
    return judge(two_and_two(), event, result, cooperative=cooperative)


# -- groups --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "topics", "partitions", "members"),
    [
        ("1x1000x100", 1, 1_000, 100),
        ("10x1000x100", 10, 10_000, 100),
        ("100x100x1000", 100, 10_000, 1_000),
        ("1000x100x1000", 1_000, 100_000, 1_000),
        ("500x2000x2000", 500, 1_000_000, 2_000),
        ("near-equal", 500, 1_000_000, 2_000),
        ("buckets", 100, 20_000, 500),
        ("sparse", 250, 5_000, 500),
    ],
)
def test_a_group_is_as_large_as_its_name_says(word, topics, partitions, members):
    group = SCENARIOS[word]()
    assert (len(group.topics), group.partitions) == (topics, partitions)
    assert len({member_id for member_id, _ in group.members}) == members


def test_the_buckets_share_no_topic_and_hold_one_member_to_three():
    group = SCENARIOS["buckets"]()
    one, other = (frozenset(places) for places in group.subscriptions)
    assert not one & other
    assert sorted(Counter(kind for _, kind in group.members).values()) == [125, 375]


def test_one_member_of_the_near_equal_group_has_a_single_topic():
    group = SCENARIOS["near-equal"]()
    counts = Counter(len(group.topics_of(place)) for place in range(len(group.members)))
    assert counts == {500: 1_999, 1: 1}
    assert len(group.topics_of(group.leaver)) == 500


def test_the_sparse_group_has_one_to_three_topics_each_and_no_topic_without_subscriber():
    group = SCENARIOS["sparse"]()
    assert {len(group.topics_of(place)) for place in range(500)} == {1, 2, 3}
    assert min(subscriber_counts(group)[topic] for topic in range(250)) >= 1


def test_a_group_is_the_same_each_time():
    assert SCENARIOS["sparse"]() == SCENARIOS["sparse"]()


# -- judging -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([[0], [1], [2]], "to nobody"),
        ([[0], [0, 1], [2, 3]], "0 to 1 and to 0"),
        ([[0, 0], [1], [2, 3]], "0 to 0 and to 0"),
        ([[0, 2], [1], [3]], "does not subscribe"),
        ([[0, -1], [1], [2, 3]], "-1 to 0"),
        ([[0], [1], [2, 3, 4]], "4 to 2"),
        ([[0, 1], [2, 3]], "2 members"),
    ],
)
def test_what_is_no_assignment_is_refused(given, complaint):
    with pytest.raises(WrongAssignmentError, match=complaint):
        judged(given)


def test_a_member_that_left_may_get_nothing():
    with pytest.raises(WrongAssignmentError, match="left"):
        judged([[0], [1], [2, 3]], Event([[0], [1], [2, 3]], leaver=1))


def test_only_a_cooperative_assignor_may_hold_back_and_only_what_somebody_has():
    event = Event([[0, 1], [], [2, 3]])
    assert judged([[0], [], [2, 3]], event, cooperative=True, withheld={1: 1}).withheld == 1
    with pytest.raises(WrongAssignmentError, match="to nobody"):
        judged([[0], [], [2, 3]], event)
    with pytest.raises(WrongAssignmentError, match="nobody has it"):
        judged([[0], [], [2, 3]], Event([[0], [], [2, 3]]), cooperative=True, withheld={1: 1})
    with pytest.raises(WrongAssignmentError, match="called withheld"):
        judged([[0], [], [2, 3]], event, cooperative=True, withheld={0: 1})


def test_sizes_are_balanced_when_no_chain_of_members_evens_them_out():
    assert judged([[0], [1], [2, 3]]).balanced is True
    uneven = judged([[0, 1], [2, 3], []])
    assert (uneven.smallest, uneven.largest, uneven.squares) == (0, 2, 8)
    assert uneven.balanced is False
    through_another = Scenario(
        "chain", (("a", 4), ("b", 2)), ((0,), (0, 1), (1,)), two_and_two().members, leaver=0
    )
    chain = judge(through_another, FRESH, Result([[0, 1, 2], [3, 4], [5]]), cooperative=False)
    assert chain.balanced is False, (
        "the first passes one to the second, the second one to the third"
    )


def test_a_size_that_subscriptions_force_is_balanced():
    alone = make("alone", 2, 3, [(0,), (1,), (1,), (1,)])
    others = iter([[3], [4], [5]])
    given = [[0, 1, 2] if alone.topics_of(place) == (0,) else next(others) for place in range(4)]
    assert judge(alone, FRESH, Result(given), cooperative=False).balanced is True


def test_what_a_member_that_stays_has_lost_counts_as_moved():
    event = Event([[0, 1], [2], [3]], leaver=2)
    assert judged([[0], [1, 2, 3], []], event).moved == 1
    assert judged([[0, 1], [2, 3], []], event).moved == 0


# -- the contest ---------------------------------------------------------------------------


class Sluggish:
    """Stands for the process of a client that is stopped in groups of more than so many."""

    client = "sluggish"
    compiles = False
    life = 1

    def __init__(self, most):
        self.most = most
        self.asked = []
        self.members = 0

    def ask(self, do, limit=None, **more):
        match do:
            case "hello":
                return {"assignors": ["sticky", "cooperative-sticky"]}
            case "load":
                self.members = len(more["scenario"]["members"])
            case "assign" if self.members > self.most:
                self.asked.append(self.members)
                raise StoppedError("too slow")
            case "result":
                return {"given": [[place] for place in range(self.members)], "withheld": []}
        return {"seconds": 0.0, "cpu": 0.0, "digest": 1, "bytes": 1, "peak": 1}


def contest(worker, members, assignors=("sticky",)):
    rounds = Contest([worker], Plan(rounds=1), lambda text: None)
    groups = [make(f"{count}", 1, count, [(0,)] * count) for count in members]
    return [
        [cell.status for cell in rounds.run(group, assignors) if cell.event == "fresh"]
        for group in groups
    ]


def test_a_client_that_was_stopped_is_not_asked_about_larger_groups_or_cooperative_ones():
    worker = Sluggish(most=2)
    found = contest(worker, (2, 3, 4), ("sticky", "cooperative-sticky"))
    assert found == [["measured", "measured"], ["stopped", "skipped"], ["skipped", "skipped"]]
    assert worker.asked == [3]


def test_a_client_without_an_assignor_is_said_to_have_none():
    assert contest(Sluggish(most=9), (2,), ("range",)) == [["absent"]]


def test_the_time_of_a_wrong_result_is_not_kept():
    worker = Sluggish(most=9)
    rounds = Contest([worker], Plan(rounds=1), lambda text: None)
    [fresh, later] = rounds.run(make("uneven", 1, 5, [(0,)] * 3), ("sticky",))
    assert (fresh.status, fresh.samples, fresh.cpu) == ("wrong", [], [])
    assert "to nobody" in fresh.note
    assert later.status == "skipped"


# -- kgroup's part, and the whole ----------------------------------------------------------


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_kgroups_results_pass_in_a_small_group_and_after_one_left(assignor):
    group = make("small", 3, 7, [(0, 1, 2), (0, 1), (2,), (1, 2)])
    client = KgroupLeader()
    client.load(group, GENERATION)
    event = Event()
    for _ in range(2):
        client.begin(assignor, event)
        client.read()
        client.assign()
        assert all(client.encode())
        result = client.result()
        cooperative = assignor == "cooperative-sticky"
        figures = judge(group, event, result, cooperative=cooperative)
        assert figures.balanced or "sticky" not in assignor
        event = Event(result.given, group.leaver)


@pytest.mark.slow
def test_the_clients_run_side_by_side_and_leave_their_figures(tmp_path):
    kept = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.assignors", "--quick", "--json", str(kept)]
    command += ["--only", "1x1000x100", "sticky", "kgroup", "aiokafka"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    document = json.loads(kept.read_text(encoding="utf-8"))
    assert {(cell["client"], cell["event"]) for cell in document["cells"]} == {
        (client, event) for client in ("kgroup", "aiokafka") for event in ("fresh", "one leaves")
    }
    for cell in document["cells"]:
        assert cell["status"] == "measured"
        assert cell["samples"]
        assert cell["figures"]["balanced"]
    assert "| sticky, one leaves |" in page(document)
