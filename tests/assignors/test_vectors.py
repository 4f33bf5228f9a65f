"""All four built-in assignors against the results of Kafka's own Java classes.

`exact` results must be equal. Elsewhere a result may differ but not be worse: first by the sum of
squared sizes, then by partitions moved. Two rules of ours differ from Java's on purpose: claims
that contradict each other are settled by generation alone, and where racks matter Java's result is
improved until no exchange gives more near partitions, or as many with fewer moves.
"""

from itertools import islice

import pytest

from kgroup.assignors import BUILT_IN, RebalanceProtocol, read_members, verify
from kgroup.assignors.assignment import assigned, withhold
from kgroup.assignors.claims import cooperative_claim, settle, sticky_claim
from kgroup.assignors.group import racks_matter
from kgroup.assignors.member import member_order
from kgroup.assignors.sticky_target import plan_sticky
from tests.assignors import described
from tests.vectors import load, stream

SCENARIOS = load("assignors/scenarios")
STORIES = load("assignors/stories")


def assign(line):
    return BUILT_IN[line["assignor"]].assign(described.group(line))


def assign_in_listed_order(line):
    """Assign with the line's order of members, which is the order Java walked them in."""
    group = described.group(line)
    members = {member.member_id: member for member in group.members}
    walk = [members[fields["member_id"]] for fields in line["members"]]
    cooperative = line["assignor"] == "cooperative-sticky"
    claim = cooperative_claim if cooperative else sticky_claim
    holdings = settle(group.members, claim, group.partitions)
    target = plan_sticky(group, holdings, walk)
    if cooperative:
        return withhold(target, holdings, group.partitions)
    return assigned(target, group.partitions)


def check_no_worse(line, assignment):
    assert described.score(assignment) <= line["score"]
    if described.score(assignment) < line["score"] or "moved" not in line:
        return
    if described.moved(line, assignment) > line["moved"]:
        assert line["rack_on"]
        assert described.rack_matches(line, assignment) >= line["rack_matches"]


def is_equal(line, assignment):
    return described.as_sets(assignment.partitions) == described.as_sets(line["result"])


def is_better_for_racks(line, assignment):
    """Whether a difference is the one we want: as balanced, and nearer, or as near and calmer.

    Where racks matter Java's leader takes far partitions from their owners also when nobody gets
    anything nearer by it; ours begins with Java's result and improves it to the optimum.
    """
    ours = described.rack_matches(line, assignment), -described.moved(line, assignment)
    java = line["rack_matches"], -line["moved"]
    return (
        line["subs_equal"]
        and line["rack_on"]
        and described.score(assignment) == line["score"]
        and ours > java
    )


def check(line):
    assignment, assignor = assign(line), BUILT_IN[line["assignor"]]
    verify(
        described.group(line),
        assignment,
        assignor=assignor.name,
        protocol=assignor.supported_protocols[0],
    )
    if "error" in line or not line.get("java_valid", True):
        return
    if line["exact"] and not is_equal(line, assignment):
        assert is_better_for_racks(line, assignment), line.get("id")
    check_no_worse(line, assignment)


@pytest.mark.parametrize("line", SCENARIOS, ids=lambda line: line["id"])
def test_a_scenario_is_assigned_as_java_assigns_it_or_better(line):
    check(line)


@pytest.mark.parametrize(
    "line",
    [
        line
        for line in SCENARIOS
        if line["assignor"].endswith("sticky") and line.get("exact_listed")
    ],
    ids=lambda line: line["id"],
)
def test_a_scenario_walked_in_javas_order_gives_javas_result(line):
    assert is_equal(line, assign_in_listed_order(line))


@pytest.mark.parametrize(
    "line",
    [line for line in SCENARIOS if line.get("exact") and "withheld" in line],
    ids=lambda line: line["id"],
)
def test_a_scenario_withholds_what_java_withholds(line):
    withheld = [[tp.topic, tp.partition, who] for tp, who in assign(line).withheld.items()]
    assert sorted(withheld) == sorted(line["withheld"])


@pytest.mark.parametrize("assignor", BUILT_IN)
def test_the_first_random_inputs_are_assigned_as_java_assigns_them_or_better(assignor):
    for line in islice(stream(f"assignors/random_{assignor}"), 150):
        check(line)


@pytest.mark.slow
@pytest.mark.parametrize("assignor", BUILT_IN)
def test_two_thousand_random_inputs_are_assigned_as_java_assigns_them_or_better(assignor):
    for line in stream(f"assignors/random_{assignor}"):
        check(line)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story["id"])
def test_each_round_of_a_story_is_assigned_as_java_assigns_it_or_better(story):
    for line in (line for step in story["steps"] for line in step["rounds"]):
        check(line)


def next_round(line, assignment):
    """The same group a generation later: everybody claims what it was given."""
    members = [
        {
            **fields,
            "owned": [list(tp) for tp in assignment.of(fields["member_id"])],
            "generation": 10_000,
            "user_data_hex": "00002710",
        }
        for fields in line["members"]
    ]
    return {**line, "members": members}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story["id"])
def test_after_a_single_change_a_cooperative_group_is_settled_in_two_rounds(story):
    for line in (step["rounds"][0] for step in story["steps"]):
        if line["assignor"] != "cooperative-sticky":
            continue
        first = assign(line)
        second = assign(next_round(line, first))
        assert not second.withheld
        for member_id, given in first.partitions.items():
            assert set(given) <= set(second.of(member_id))


def test_members_are_ordered_as_java_orders_them():
    for line in load("assignors/member_order"):
        ordered = sorted(map(described.member, line["members"]), key=member_order)
        assert [member.member_id for member in ordered] == line["sorted"]


def test_the_rack_switch_is_where_java_has_it():
    for line in load("assignors/rack_switch"):
        racks = [frozenset(each) for each in line["partition_racks"]]
        assert racks_matter(line["consumer_racks"], racks) == line["rack_aware"]


def test_member_data_is_believed_as_java_believes_it():
    for line in load("consumer_protocol/member_data"):
        blob = bytes.fromhex(line["subscription_hex"])
        (member,) = read_members([("m", None, blob)], RebalanceProtocol.EAGER)
        claim = (sticky_claim if line["assignor"] == "sticky" else cooperative_claim)(member)
        since = line["decoded"]["generation"]
        assert sorted(claim.partitions) == sorted(described.tps(line["decoded"]["partitions"]))
        assert claim.generation_id == (since if since is not None and since >= 0 else None)
        # Java's member data often lacks the rack, which its leader takes from the subscription.
        assert line["decoded"]["rack"] in (None, member.rack)
