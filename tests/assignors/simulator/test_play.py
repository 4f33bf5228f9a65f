"""What happens to a simulated group: rounds, what stops, what members remember."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest

from kgroup.assignors import (
    BUILT_IN,
    Assignor,
    AssignorError,
    GroupAssignment,
    GroupSubscription,
    RebalanceProtocol,
)
from kgroup.assignors.api import LastAssignment
from kgroup.assignors.simulator import (
    Event,
    Grow,
    Join,
    Leave,
    Outcome,
    Restart,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    Subscribe,
    Wait,
    play,
)
from kgroup.errors import ArgumentError
from kgroup.types import TopicPartition

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
STICKY, COOPERATIVE_STICKY = BUILT_IN["sticky"], BUILT_IN["cooperative-sticky"]


def member(name: str, *topics: str, owned: range = range(0)) -> SimulatedMember:
    wanted = topics or ("t",)
    held = tuple(TopicPartition(wanted[0], number) for number in owned)
    return SimulatedMember(member_id=name, topics=frozenset(wanted), owned=held)


def group_of(count: int, *events: Event, partitions: int = 8) -> Scenario:
    members = tuple(member(f"m{n}") for n in range(count))
    return Scenario({"t": SimulatedTopic(partitions)}, members, events)


def last(scenario: Scenario, assignor: Assignor) -> Outcome:
    *_, outcome = play(scenario, assignor)
    return outcome


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
    with pytest.raises(ArgumentError, match=r"protocol: got 'cooperative', .* sticky: eager"):
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


def test_a_topic_that_nobody_reads_grows_without_a_rebalance() -> None:
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


def test_subscribing_to_the_same_topics_is_no_rebalance() -> None:
    outcome = last(group_of(2, Subscribe("m0", frozenset({"t"}))), STICKY)
    assert (outcome.rounds, outcome.stopped) == (0, 0)


def test_a_group_that_all_have_left_owns_nothing_and_begins_anew() -> None:
    _, empty, again = play(group_of(1, Leave("m0"), Join()), STICKY)
    assert (empty.owned, empty.balance.most, empty.unowned, empty.rounds) == ({}, 0, 0, 0)
    assert (again.balance.most, again.moves, again.placed) == (8, 0, 8)


def test_who_joins_subscribes_to_what_all_others_do() -> None:
    topics = {"t": SimulatedTopic(4), "u": SimulatedTopic(4)}
    outcome = last(Scenario(topics, (member("a", "u"),), (Join(),)), STICKY)
    assert {tp.topic for tp in outcome.owned["new-001"]} == {"u"}


def test_a_name_that_somebody_has_is_not_made_up() -> None:
    scenario = Scenario({"t": SimulatedTopic(4)}, (member("new-001"),), (Join(), Join()))
    assert set(last(scenario, STICKY).owned) == {"new-001", "new-002", "new-003"}


# -- events that do not fit ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (Leave("m7"), r"events\[1\].leave: got 'm7', expected one of the 2 members"),
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
def test_an_event_that_does_not_fit_is_told_before_anything_is_played(
    event: Event, told: str
) -> None:
    calls: list[GroupSubscription] = []

    class Watched(type(STICKY)):  # type: ignore[misc]  # a class that is looked up
        def assign(self, group: GroupSubscription) -> GroupAssignment:
            calls.append(group)
            raise AssertionError

    with pytest.raises(ArgumentError, match=told):
        play(group_of(2, Wait(1), event), Watched())
    assert not calls


def test_who_joins_a_group_of_different_subscriptions_has_to_say_its_own() -> None:
    topics = {"t": SimulatedTopic(4), "u": SimulatedTopic(4)}
    scenario = Scenario(topics, (member("a", "u"), member("b", "t")), (Join(),))
    with pytest.raises(ArgumentError, match=r"events\[0\].topics: got None, expected the topics"):
        play(scenario, STICKY)


# -- what members send and remember ----------------------------------------------------------


class Notebook:
    """Gives everything to the first member, and keeps what each of them sent."""

    name: ClassVar[str] = "notebook"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (EAGER,)

    def __init__(self) -> None:
        self.seen: list[dict[str, tuple[bytes | None, int | None]]] = []
        self.times: list[float] = []

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        self.seen.append({m.member_id: (m.user_data, m.generation_id) for m in group.members})
        self.times.append(group.now)
        given = dict.fromkeys((m.member_id for m in group.members), tuple[TopicPartition, ...]())
        given[group.members[0].member_id] = tuple(group.partitions)
        return GroupAssignment(given, user_data={name: f"to {name}".encode() for name in given})


class Capacity(Notebook):
    name: ClassVar[str] = "capacity"

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        return f"{len(owned)} {owned.user_data!r} {generation_id}".encode()


def test_user_data_of_the_last_assignment_is_sent_back_byte_for_byte() -> None:
    notebook = Notebook()
    list(play(group_of(1, Join(member_id="n")), notebook))
    assert notebook.seen == [{"m0": (None, None)}, {"m0": (b"to m0", 2), "n": (None, None)}]


def test_an_assignor_that_encodes_sees_the_echo_too() -> None:
    capacity = Capacity()
    list(play(group_of(1, Join(member_id="n")), capacity))
    assert capacity.seen[1]["m0"][0] == b"8 b'to m0' 2"
    assert capacity.seen[1]["n"][0] == b"0 None None"


def test_user_data_of_the_description_stands_for_what_the_assignor_would_encode() -> None:
    fixed = SimulatedMember(member_id="a", topics=frozenset({"t"}), user_data=b"capacity 4")
    capacity = Capacity()
    scenario = Scenario({"t": SimulatedTopic(2)}, (fixed,), (Join(user_data=b"9"),))
    list(play(scenario, capacity))
    sent = {name: data for name, (data, _) in capacity.seen[1].items()}
    assert sent == {"a": b"capacity 4", "new-001": b"9"}


def test_what_a_member_was_assigned_before_the_story_is_sent_back_too() -> None:
    known = SimulatedMember(member_id="a", topics=frozenset({"t"}), assigned_user_data=b"x")
    notebook = Notebook()
    list(play(Scenario({"t": SimulatedTopic(2)}, (known,)), notebook))
    assert notebook.seen == [{"a": (b"x", 1)}]


# -- time ------------------------------------------------------------------------------------


@dataclass
class Grace:
    """Holds what nobody has now back for 60 s, then gives all to the first member."""

    name: str = "grace"
    supported_protocols: tuple[RebalanceProtocol, ...] = (COOPERATIVE,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        held = {m.member_id: tuple(m.owned) for m in group.members}
        owned = {tp for partitions in held.values() for tp in partitions}
        free = tuple(tp for tp in group.partitions if tp not in owned)
        if group.now < 160 and owned:
            return GroupAssignment(
                held, dict.fromkeys(free), rejoin_after=160 - group.now if free else None
            )
        first = group.members[0].member_id
        return GroupAssignment({**held, first: (*held[first], *free)})


def test_time_passes_and_the_leader_rejoins_when_it_was_told_to() -> None:
    members = (member("a", owned=range(4)), member("b", owned=range(4, 8)))
    events = (Leave("b"), Wait(30), Wait(40))
    scenario = Scenario({"t": SimulatedTopic(8)}, members, events, now=100.0)
    _, left, early, late = play(scenario, Grace())
    assert (left.unowned, left.rounds, left.balance.most) == (4, 1, 4)
    assert (early.unowned, early.rounds) == (4, 0)
    assert (late.unowned, late.rounds, late.placed) == (0, 1, 4)


def test_now_is_what_the_scenario_says_and_moves_only_by_waiting() -> None:
    notebook = Notebook()
    events = (Join(), Wait(2.5), Join())
    list(play(Scenario({"t": SimulatedTopic(1)}, (member("a"),), events, 1000.0), notebook))
    assert notebook.times == [1000.0, 1000.0, 1002.5]


def test_the_assignor_alone_is_timed_by_the_clock_that_is_handed_in() -> None:
    ticks = itertools.count()
    outcomes = play(group_of(2, Join()), COOPERATIVE_STICKY, clock=lambda: float(next(ticks)))
    assert [outcome.seconds for outcome in outcomes] == [1.0, 2.0]
    assert [outcome.seconds for outcome in play(group_of(2), STICKY)] == [None]


# -- assignors that fail ---------------------------------------------------------------------


class Broken(Notebook):
    name: ClassVar[str] = "broken"

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        if len(group.members) > 1:
            raise LookupError("two are too many")
        return super().assign(group)


class BadWriter(Notebook):
    name: ClassVar[str] = "bad-writer"

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        raise LookupError("no words")


class Restless(Notebook):
    """Takes what its member has for what it has not, again and again."""

    name: ClassVar[str] = "restless"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (COOPERATIVE,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        free = set(group.partitions) - {tp for m in group.members for tp in m.owned}
        given = dict.fromkeys((m.member_id for m in group.members), tuple[TopicPartition, ...]())
        given[group.members[0].member_id] = tuple(sorted(free))
        return GroupAssignment(given, dict.fromkeys(set(group.partitions) - free))


class Impatient(Notebook):
    name: ClassVar[str] = "impatient"

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        return GroupAssignment(super().assign(group).partitions, rejoin_after=0.001)


def failure(outcomes: Iterator[Outcome]) -> tuple[int, AssignorError]:
    came = 0
    try:
        for _ in outcomes:
            came += 1
    except AssignorError as error:
        return came, error
    raise AssertionError("nothing failed")


def test_what_was_played_before_an_assignor_raises_is_told() -> None:
    came, error = failure(play(group_of(1, Join()), Broken()))
    assert came == 1
    assert "assignor 'broken' raised" in str(error)
    assert "two are too many" in str(error)


def test_an_assignment_that_a_leader_would_not_send_ends_the_play() -> None:
    class Forgetful(Notebook):
        def assign(self, group: GroupSubscription) -> GroupAssignment:
            return GroupAssignment(dict.fromkeys((m.member_id for m in group.members), ()))

    came, error = failure(play(group_of(1), Forgetful()))
    assert (came, error.assignor) == (0, "notebook")


def test_user_data_that_cannot_be_encoded_ends_the_play() -> None:
    assert "encode_user_data raised" in str(failure(play(group_of(1), BadWriter()))[1])


def test_a_group_that_never_settles_is_given_up() -> None:
    scenario = Scenario({"t": SimulatedTopic(8)}, (member("a", owned=range(4)),))
    assert "after 50 rounds still" in str(failure(play(scenario, Restless()))[1])


def test_a_leader_that_rejoins_without_end_is_given_up() -> None:
    came, error = failure(play(group_of(1, Wait(10)), Impatient()))
    assert came == 1
    assert "rejoin more than 1000 times in 10 s" in str(error)
