import pytest

from kgroup.demo.scenario import Action, plan_scenario


@pytest.mark.parametrize("members", [2, 3, 12])
@pytest.mark.parametrize("seconds", [10.0, 45.0, 600.0])
def test_each_kind_of_disturbance_comes_once_and_in_order_of_time(seconds: float, members: int):
    scenario = plan_scenario(seconds, members)
    assert [step.action for step in scenario.steps] == list(Action)
    times = [step.at for step in scenario.steps]
    assert times == sorted(times)
    assert times[0] > 0
    assert times[-1] < scenario.seconds


@pytest.mark.parametrize("members", [2, 3, 12])
def test_the_group_starts_with_as_many_members_as_asked_the_last_one_static(members: int):
    cast = plan_scenario(45.0, members).members
    assert len(cast) == members
    assert len({plan.label for plan in cast}) == members
    assert [plan.instance is not None for plan in cast] == [False] * (members - 1) + [True]


@pytest.mark.parametrize("members", [2, 3, 12])
def test_the_right_members_are_disturbed(members: int):
    scenario = plan_scenario(45.0, members)
    done = {step.action: step.member for step in scenario.steps}
    assert done[Action.ADD] not in scenario.members
    assert done[Action.CLOSE] == done[Action.ADD]
    assert done[Action.KILL] in scenario.members
    assert done[Action.KILL].instance is None
    assert done[Action.RESTART].instance is not None


def test_a_killed_members_session_ends_before_the_next_disturbance_by_default():
    scenario = plan_scenario(45.0, 3)
    at = {step.action: step.at for step in scenario.steps}
    assert at[Action.RESTART] - at[Action.KILL] > 6.0 + 3.0
