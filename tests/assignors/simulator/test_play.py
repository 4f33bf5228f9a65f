"""What happens to a simulated group: rounds, what stops, and events that do not fit."""

import pytest

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription, RebalanceProtocol
from kgroup.assignors.simulator import (
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    SimulatedTopic,
    Subscribe,
    Wait,
    play,
)
from kgroup.errors import ArgumentError
from tests.assignors.simulator.stage import (
    COOPERATIVE,
    COOPERATIVE_STICKY,
    EAGER,
    STICKY,
    group_of,
    last,
    member,
)

# -- what stops ------------------------------------------------------------------------------


def test_an_eager_group_stops_everything_that_living_members_read() -> None:
    joined, left = list(play(group_of(2, Join(), Leave("m0")), STICKY))[1:]
    assert (joined.stopped, joined.moves, joined.rounds) == (8, 2, 1)
    assert (left.stopped, left.moves, left.placed) == (8 - 3, 0, 3)


def test_a_cooperative_group_stops_only_what_moves_and_takes_a_second_round() -> None:
    joined, left = list(play(group_of(2, Join(), Leave("m0")), COOPERATIVE_STICKY))[1:]
    assert (joined.stopped, joined.moves, joined.rounds) == (2, 2, 2)
    assert (left.stopped, left.moves, left.rounds) == (0, 0, 1)


def test_a_group_that_is_as_it_should_be_needs_one_round_and_moves_nothing() -> None:
    members = (member("a", owned=range(4)), member("b", owned=range(4, 8)))
    for assignor in (STICKY, COOPERATIVE_STICKY, BUILT_IN["range"]):
        (outcome,) = play(Scenario({"t": SimulatedTopic(8)}, members), assignor)
        assert (outcome.rounds, outcome.moves, outcome.placed) == (1, 0, 0)


def test_cooperative_sticky_forgets_what_members_had_while_the_group_is_eager() -> None:
    def moves(protocol: RebalanceProtocol) -> int:
        scenario = group_of(4, Leave("m0"), Join(member_id="a"), partitions=40)
        return sum(each.moves for each in play(scenario, COOPERATIVE_STICKY, protocol=protocol))

    assert moves(COOPERATIVE) == 10
    assert moves(EAGER) > 20


def test_a_protocol_that_an_assignor_does_not_support_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"protocol: got 'cooperative', .* 'sticky' supports: eager"
    ):
        play(group_of(1), STICKY, protocol=COOPERATIVE)


# -- events ----------------------------------------------------------------------------------


def test_a_dynamic_member_that_restarts_costs_two_rebalances() -> None:
    outcome = last(group_of(2, Restart(("m0",))), STICKY)
    assert (outcome.rounds, outcome.moves, outcome.placed) == (2, 4, 4)
    assert set(outcome.owned) == {"m1", "new-001"}


def test_a_static_member_that_restarts_costs_none_and_has_what_it_had() -> None:
    events = (Join(member_id="m0", group_instance_id="i0"), Restart(("i0",)), Join())
    _, start, restarted, joined = play(group_of(0, *events), STICKY)
    assert (restarted.rounds, restarted.moves, restarted.stopped) == (0, 0, 0)
    assert restarted.owned == {"new-001": start.owned["m0"]}
    assert (joined.moves, joined.stopped) == (4, 8)


def test_members_restart_one_after_the_other_under_the_names_given() -> None:
    outcome = last(group_of(3, Restart(("m0", "m1"), ("x", "y"))), STICKY)
    assert (outcome.rounds, set(outcome.owned)) == (4, {"m2", "x", "y"})
    assert outcome.event == Restart(("m0", "m1"), ("x", "y"))


def test_new_partitions_are_given_without_moving_others() -> None:
    outcome = last(group_of(2, Grow("t", 12)), COOPERATIVE_STICKY)
    assert (outcome.rounds, outcome.moves, outcome.placed, outcome.stopped) == (1, 0, 4, 0)
    assert outcome.balance.most == 6


def test_a_topic_without_readers_grows_without_a_rebalance() -> None:
    topics = {"t": SimulatedTopic(4), "u": SimulatedTopic(1)}
    outcome = last(Scenario(topics, (member("a"),), (Grow("u", 3),)), STICKY)
    assert (outcome.rounds, outcome.unowned) == (0, 0)


def test_a_topic_that_comes_to_be_is_given_out() -> None:
    topics = {"t": SimulatedTopic(0)}
    start, grown = play(Scenario(topics, (member("a"),), (Grow("t", 3),)), STICKY)
    assert (start.balance.most, grown.balance.most) == (0, 3)


def test_a_member_that_drops_a_topic_gives_up_its_partitions_before_it_joins() -> None:
    topics = {"t": SimulatedTopic(4), "u": SimulatedTopic(4)}
    members = (member("a", "t", "u"), member("b", "t", "u"))
    events = (Subscribe("a", frozenset({"t"})),)
    start, changed = play(Scenario(topics, members, events), COOPERATIVE_STICKY)
    dropped = sum(tp.topic == "u" for tp in start.owned["a"])
    assert {tp.topic for tp in changed.owned["a"]} == {"t"}
    assert changed.stopped >= dropped > 0
    assert (changed.unowned, changed.balance.fewest) == (0, 4)


def test_a_dropped_topic_counts_as_taken_from_its_reader() -> None:
    scenario = group_of(1, Subscribe("m0", frozenset()))
    outcome = last(scenario, COOPERATIVE_STICKY)
    assert (outcome.moves, outcome.stopped, outcome.unowned, outcome.rounds) == (8, 8, 0, 1)


def test_subscribing_to_the_same_topics_is_no_rebalance() -> None:
    outcome = last(group_of(2, Subscribe("m0", frozenset({"t"}))), STICKY)
    assert (outcome.rounds, outcome.stopped) == (0, 0)


def test_a_group_that_all_have_left_owns_nothing_and_begins_anew() -> None:
    _, empty, again = play(group_of(1, Leave("m0"), Join()), STICKY)
    assert (empty.owned, empty.balance.most, empty.unowned, empty.rounds) == ({}, 0, 0, 0)
    assert (again.balance.most, again.moves, again.placed) == (8, 0, 8)


def test_a_member_that_joins_subscribes_to_what_all_others_do() -> None:
    topics = {"t": SimulatedTopic(4), "u": SimulatedTopic(4)}
    outcome = last(Scenario(topics, (member("a", "u"),), (Join(),)), STICKY)
    assert {tp.topic for tp in outcome.owned["new-001"]} == {"u"}


def test_a_name_that_is_taken_is_not_made_up() -> None:
    scenario = Scenario({"t": SimulatedTopic(4)}, (member("new-001"),), (Join(), Join()))
    assert set(last(scenario, STICKY).owned) == {"new-001", "new-002", "new-003"}


# -- events that do not fit ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            Leave("m7"),
            r"events\[1\].leave: got 'm7', expected a member that is there then: 'm0', 'm1'$",
        ),
        (Leave("m-1"), r"did you mean 'm1'"),
        (Join(member_id="m1"), r"events\[1\].join: got 'm1', .* nobody has"),
        (Join(member_id=""), r"events\[1\].join: got ''"),
        (Join(group_instance_id="m0"), r"events\[1\].group_instance_id: got 'm0'"),
        (Join(topics=frozenset({"x"})), r"events\[1\].topics: got 'x', expected one of 't'"),
        (Grow("t", 8), r"events\[1\].to: got 8, expected more than 8"),
        (Grow("t", 10**9), r"events\[1\].to: got 1000000000, expected 0 to 1,000,000"),
        (Grow("x", 8), r"events\[1\].grow: got 'x'"),
        (Grow("t", 9, (("a",), ("b",))), r"events\[1\].racks: got '2 lists'"),
        (Subscribe("m0", frozenset({"x"})), r"events\[1\].topics: got 'x'"),
        (Restart(()), r"events\[1\].restart: got 'no members'"),
        (Restart(("m0",), ("x", "y")), r"events\[1\].as: got '2 names', expected 1"),
        (Restart(("m0",), ("m1",)), r"events\[1\].as: got 'm1'"),
        (Wait(0), r"events\[1\].wait: got 0"),
        (Wait(float("inf")), r"events\[1\].wait: got inf"),
    ],
)
def test_an_event_that_does_not_fit_is_refused_before_anything_is_played(
    event: Event, message: str
) -> None:
    calls: list[GroupSubscription] = []

    class Watched(type(STICKY)):  # type: ignore[misc]  # a class that is looked up
        def assign(self, group: GroupSubscription) -> GroupAssignment:
            calls.append(group)
            raise AssertionError

    with pytest.raises(ArgumentError, match=message):
        play(group_of(2, Wait(1), event), Watched())
    assert not calls


def test_a_member_that_joins_a_group_of_different_subscriptions_names_its_own() -> None:
    topics = {"t": SimulatedTopic(4), "u": SimulatedTopic(4)}
    scenario = Scenario(topics, (member("a", "u"), member("b", "t")), (Join(),))
    with pytest.raises(ArgumentError, match=r"events\[0\].topics: got None, expected the topics"):
        play(scenario, STICKY)
