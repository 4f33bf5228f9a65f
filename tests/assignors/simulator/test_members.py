"""What members send and remember, how time passes, and assignors that fail."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from kgroup.assignors import AssignorError, GroupAssignment, GroupSubscription, RebalanceProtocol
from kgroup.assignors.api import LastAssignment
from kgroup.assignors.simulator import (
    Join,
    Leave,
    Outcome,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    Wait,
    play,
)
from kgroup.types import TopicPartition
from tests.assignors.simulator.stage import (
    COOPERATIVE,
    COOPERATIVE_STICKY,
    STICKY,
    Notebook,
    group_of,
    member,
)

# -- what members send and remember ----------------------------------------------------------


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


def test_user_data_of_the_description_replaces_that_of_the_assignor() -> None:
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


def test_an_assignor_sees_instance_ids_and_the_racks_of_leaders() -> None:
    seen: list[GroupSubscription] = []

    class Curious(Notebook):
        def assign(self, group: GroupSubscription) -> GroupAssignment:
            seen.append(group)
            return super().assign(group)

    topics = {"t": SimulatedTopic(2, (("a", "b"), (None, "b")))}
    events = (Join(member_id="x", group_instance_id="i", rack="b"),)
    list(play(Scenario(topics, (member("a"),), events), Curious()))
    static, dynamic = seen[-1].members
    assert (static.group_instance_id, static.rack, dynamic.group_instance_id) == ("i", "b", None)
    assert [seen[-1].rack_of(tp) for tp in seen[-1].partitions] == ["a", None]
    assert seen[-1].racks_of(TopicPartition("t", 0)) == {"a", "b"}


# -- time ------------------------------------------------------------------------------------


@dataclass
class Grace:
    """Holds partitions without an owner back for 60 s, then gives all to the first member."""

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


def test_time_passes_and_the_leader_rejoins_when_its_assignor_asked_for_it() -> None:
    members = (member("a", owned=range(4)), member("b", owned=range(4, 8)))
    events = (Leave("b"), Wait(30), Wait(40))
    scenario = Scenario({"t": SimulatedTopic(8)}, members, events, now=100.0)
    _, left, early, late = play(scenario, Grace())
    assert (left.unowned, left.rounds, left.balance.most, left.placed) == (4, 1, 4, 0)
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


def test_outcomes_from_before_an_assignor_raises_are_yielded() -> None:
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
