"""The swap tables of the literature, played: 8 partitions, and members that join one by one."""

import pytest

from kgroup.assignors import BUILT_IN, Assignor
from kgroup.assignors.simulator import EXAMPLES, Event, Join, Leave, Optimum, Scenario, play
from kgroup.assignors.simulator.scenario import SimulatedTopic


def moves(assignor: Assignor, scenario: Scenario = EXAMPLES["swaps"]) -> list[int]:
    return [outcome.moves for outcome in play(scenario, assignor)]


@pytest.mark.parametrize(
    ("name", "swaps"),
    [
        ("range", [0, 4, 3, 5]),
        ("roundrobin", [0, 4, 4, 5]),
        ("sticky", [0, 4, 2, 2]),
        ("cooperative-sticky", [0, 4, 2, 2]),
    ],
)
def test_the_swaps_of_the_literature_come_out(name: str, swaps: list[int]) -> None:
    assert moves(BUILT_IN[name]) == swaps


def test_the_optimum_of_the_literature_comes_out() -> None:
    assert moves(Optimum()) == [0, 4, 2, 2]


@pytest.mark.parametrize("partitions", [1, 7, 8, 12, 31])
def test_the_optimum_takes_just_what_members_have_above_their_share(partitions: int) -> None:
    joins = [Join(member_id=f"m{n}") for n in range(6)]
    events: tuple[Event, ...] = (*joins, *(Leave(f"m{n}") for n in (3, 0, 4)))
    scenario = Scenario({"t": SimulatedTopic(partitions)}, (), events)
    before: dict[str, int] = {}
    for outcome in play(scenario, Optimum()):
        after = {member_id: len(owned) for member_id, owned in outcome.owned.items()}
        share, extra = divmod(partitions, len(after)) if after else (0, 0)
        # With equal subscriptions the best balance is known: `extra` members have one above the
        # share. So a member that stays gives up what is above it, as few as possible one more.
        stayed = sorted((before[name] for name in after if name in before), reverse=True)
        most = [share + (place < extra) for place in range(len(stayed))]
        least = sum(max(had - may, 0) for had, may in zip(stayed, most, strict=True))
        assert outcome.moves == least
        assert sorted(after.values(), reverse=True) == [
            share + (place < extra) for place in range(len(after))
        ]
        before = after
