"""What an assignment is worth: balance, moves, racks."""

import pytest

from kgroup.assignors import BUILT_IN, Assignor
from kgroup.assignors.simulator import (
    EXAMPLES,
    Balance,
    Join,
    Optimum,
    RackMatches,
    Restart,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    in_words,
    play,
)
from kgroup.errors import ArgumentError
from kgroup.types import TopicPartition

RANGE = BUILT_IN["range"]


def test_balance_is_measured_exactly() -> None:
    members = tuple(SimulatedMember(member_id=n, topics=frozenset({"t"})) for n in "abc")
    (outcome,) = play(Scenario({"t": SimulatedTopic(8)}, members), RANGE)
    assert outcome.balance == Balance(2, 3, pytest.approx((2 / 9) ** 0.5), 22)  # type: ignore[arg-type]  # near it


def test_an_even_spread_deviates_by_nothing_at_all() -> None:
    members = tuple(SimulatedMember(member_id=f"{n}", topics=frozenset({"t"})) for n in range(7))
    (outcome,) = play(Scenario({"t": SimulatedTopic(7 * 11)}, members), RANGE)
    assert outcome.balance == Balance(11, 11, 0.0, 7 * 121)


def test_range_gives_narrow_topics_to_the_first_members_only() -> None:
    start, left, _ = play(EXAMPLES["narrow-topics"], RANGE)
    loads = {member_id: len(owned) for member_id, owned in start.owned.items()}
    assert loads == {f"m{n}": 100 if n < 3 else 0 for n in range(10)}
    assert (left.balance.fewest, left.balance.most, left.moves) == (0, 100, 100)


def racks_of(*racks: str | None, partitions: tuple[tuple[str | None, ...], ...]) -> Scenario:
    members = tuple(
        SimulatedMember(member_id=f"m{n}", topics=frozenset({"t"}), rack=rack)
        for n, rack in enumerate(racks)
    )
    return Scenario({"t": SimulatedTopic(len(partitions), partitions)}, members)


def test_rack_matches_are_counted_and_so_are_those_that_were_possible() -> None:
    scenario = racks_of("a", "b", partitions=(("a", "c"), ("b",), ("c",), (None, "a")))
    (outcome,) = play(scenario, RANGE)
    near = {("m0", 0), ("m0", 3), ("m1", 1)}
    owned = {(who, tp.partition) for who, own in outcome.owned.items() for tp in own}
    assert outcome.racks == RackMatches(len(owned & near), 3)
    assert len(owned & near) == 3


def test_no_rack_is_not_a_rack_that_matches() -> None:
    scenario = racks_of(None, "a", partitions=((None,), (None,), ("b",), ("a",)))
    (outcome,) = play(scenario, BUILT_IN["roundrobin"])
    assert outcome.racks == RackMatches(matched=1, possible=1)


def test_a_member_that_came_back_is_where_it_was() -> None:
    shared = {"topics": frozenset({"t"}), "rack": "a"}
    members = (
        SimulatedMember(member_id="dynamic", **shared),  # type: ignore[arg-type]  # of two kinds
        SimulatedMember(member_id="static", group_instance_id="i", **shared),  # type: ignore[arg-type]  # the same
    )
    topics = {"t": SimulatedTopic(4, (("a",), ("a",), ("b",), ("b",)))}
    scenario = Scenario(topics, members, (Restart(("dynamic", "i")),))
    start, restarted = play(scenario, BUILT_IN["sticky"])
    assert restarted.racks == start.racks == RackMatches(2, 2)


@pytest.mark.parametrize(
    "scenario",
    [
        racks_of(None, None, partitions=(("a",), ("b",))),
        racks_of("a", "b", partitions=()),
    ],
)
def test_without_known_racks_none_match(scenario: Scenario) -> None:
    (outcome,) = play(scenario, RANGE)
    assert outcome.racks is None


def test_racks_of_a_topic_go_on_in_turn_when_it_grows() -> None:
    topic = SimulatedTopic(2, (("a",), ("b", "c")))
    assert topic.grown(5).racks == (("a",), ("b", "c"), ("a",), ("b", "c"), ("a",))
    assert topic.grown(3, (("d",),)).racks == (("a",), ("b", "c"), ("d",))
    assert SimulatedTopic(1).grown(2, (("d",),)).racks == ((), ("d",))
    assert SimulatedTopic(1).grown(2).racks == ()


def test_the_optimum_pays_nothing_for_racks() -> None:
    def moves(assignor: Assignor) -> int:
        return sum(each.moves for each in play(EXAMPLES["racks"], assignor))

    assert moves(Optimum()) < moves(BUILT_IN["sticky"]) < moves(RANGE)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("assignor", [*BUILT_IN.values(), Optimum()], ids=lambda each: each.name)
def test_in_every_example_everything_has_an_owner_after_each_event(
    name: str, assignor: Optimum
) -> None:
    scenario = EXAMPLES[name]
    outcomes = list(play(scenario, assignor))
    assert len(outcomes) == 1 + len(scenario.events)
    for outcome in outcomes:
        owned = [tp for partitions in outcome.owned.values() for tp in partitions]
        assert outcome.unowned == 0
        assert len(set(owned)) == len(owned) > 0
        assert outcome.moves <= outcome.stopped


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_assignor_spreads_more_evenly_than_the_optimum(name: str) -> None:
    def squares(assignor: Assignor) -> list[int]:
        return [each.balance.sum_of_squares for each in play(EXAMPLES[name], assignor)]

    best = squares(Optimum())
    assert squares(BUILT_IN["sticky"]) == best
    for assignor in BUILT_IN.values():
        assert all(mine >= least for mine, least in zip(squares(assignor), best, strict=True))


def test_events_are_described_in_a_few_words() -> None:
    assert in_words(None) == "start"
    assert in_words(Join()) == "join"
    words = [in_words(each.event) for each in play(EXAMPLES["equal"], RANGE)]
    assert words == [
        "start",
        "join app-70",
        "leave app-47",
        "restart 8 members",
        "grow topic-3 to 24",
    ]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([{"member_id": ""}], r"members\[0\].member_id: got ''"),
        ([{}, {}], r"members\[1\].member_id: got 'm', expected another name than members\[0\]"),
        (
            [{"group_instance_id": "i"}, {"member_id": "n", "group_instance_id": "i"}],
            r"members\[1\].group_instance_id: got 'i'",
        ),
        ([{"topics": frozenset("x")}], r"members\[0\].topics: got 'x', .*; 0 partitions if"),
        ([{"owned": (TopicPartition("u", 0),)}], r"members\[0\].owned: got 'u-0', expected part"),
        ([{"owned": (TopicPartition("t", 2),)}], r"got 't-2', expected partitions below 2 of t"),
        (
            [
                {"owned": (TopicPartition("t", 1),)},
                {"member_id": "n", "owned": (TopicPartition("t", 1),)},
            ],
            r"members\[1\].owned: got 't-1', expected what nobody else owns, as members\[0\]",
        ),
    ],
)
def test_a_description_that_contradicts_itself_is_refused(
    members: list[dict[str, object]], message: str
) -> None:
    usual: dict[str, object] = {"member_id": "m", "topics": frozenset("t")}
    made = tuple(SimulatedMember(**{**usual, **each}) for each in members)  # type: ignore[arg-type]  # of a table
    with pytest.raises(ArgumentError, match=message):
        Scenario({"t": SimulatedTopic(2), "u": SimulatedTopic(1)}, made)


@pytest.mark.parametrize("count", [-1, 1_000_001])
def test_a_topic_has_a_number_of_partitions_that_can_be(count: int) -> None:
    with pytest.raises(ArgumentError, match="0 to 1,000,000"):
        SimulatedTopic(count)


def test_racks_are_given_for_all_partitions_or_for_none() -> None:
    with pytest.raises(ArgumentError, match="racks of all 3 partitions"):
        SimulatedTopic(3, (("a",),))
