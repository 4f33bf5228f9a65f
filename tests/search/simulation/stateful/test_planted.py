"""A fault that is planted into the machine's step is found, and told rule by rule."""

from dataclasses import replace

import pytest

from kgroup.membership.events import Event, Moment
from kgroup.membership.step import Step, step
from kgroup.membership.value import GroupMember
from kgroup.types import ChangeKind
from tests.membership import machine
from tests.search.simulation.stateful.hunting import hunt
from tests.search.simulation.stateful.machine import GroupMachine

_ENOUGH = 200
"""Examples within which it is found."""
_STEPS = 8
"""Rules of one example. It is told as it was found: a group that never comes to rest is played to
its end for each shorter one that is tried, so making it short takes minutes."""


def _tells_no_loss(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Step, but never have the application give up what is lost."""
    result = step(member, event, moment)
    told = tuple(each for each in result.member.changes if each.kind is not ChangeKind.LOST)
    return replace(result, member=replace(result.member, changes=told))


@pytest.mark.slow
def test_partitions_that_are_kept_after_a_loss_are_found_and_the_rules_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "step", _tells_no_loss)
    with pytest.raises(AssertionError) as found:
        hunt(GroupMachine, _ENOUGH, steps=_STEPS, shrinks=False)
    told = "\n".join(found.value.__notes__)
    rules = [line for line in told.splitlines() if " = state." in f" = {line}"]
    done = [line for line in rules if "nothing_is_broken" not in line and "teardown" not in line]
    assert 1 <= len(done) <= _STEPS + 1, told
