"""Which user data members send to an assignor, when a group was seen with one assignor in use.

Decides: that user data goes to the assignor it was made for; what is assumed of all others.
Never: plays anything.
"""

from dataclasses import replace

from kgroup.assignors.api import Assignor, LastAssignment, UserDataAssignor
from kgroup.assignors.registry import BUILT_IN
from kgroup.assignors.simulator.scenario import Event, Join, Scenario
from kgroup.errors import AssignorError
from kgroup.types import TopicPartition


def addressed(scenario: Scenario, assignor: Assignor) -> Scenario:
    """Return a scenario as this assignor meets it.

    Members of an assignor that encodes nothing send back what they were given last.
    """
    if scenario.assignor is None:
        return scenario
    if scenario.assignor != assignor.name:
        members = (
            replace(each, user_data=None, assigned_user_data=None) for each in scenario.members
        )
        events = tuple(map(_without_data, scenario.events))
        return replace(scenario, members=tuple(members), events=events)
    if isinstance(assignor, UserDataAssignor):
        return scenario
    members = (
        replace(each, user_data=None if each.assigned_user_data else each.user_data or None)
        for each in scenario.members
    )
    return replace(scenario, members=tuple(members))


def _without_data(event: Event) -> Event:
    return replace(event, user_data=None) if isinstance(event, Join) else event


def assumed(scenario: Scenario, assignor: Assignor) -> str | None:
    """Return what a simulation takes for granted because no coordinator tells it; None: nothing."""
    if assignor.name in BUILT_IN or not isinstance(assignor, UserDataAssignor):
        return None
    name, used = assignor.name, scenario.assignor
    try:
        first = encoded(assignor, LastAssignment(), None)
        later = encoded(assignor, LastAssignment((TopicPartition("t", 0),)), 1)
    except AssignorError:
        return None  # its run ends with that
    if used is None or first is later is None:
        return None
    if used != name:
        return (
            f"what members would send to {name} is not known, for a coordinator tells only what "
            f"they sent to {used!r}, which is in use; each is taken to send what {name} encodes "
            "here"
        )
    if first != later:
        return f"{name} encodes what a member owns; members send what they sent last"
    if any(isinstance(event, Join) and event.user_data is None for event in scenario.events):
        return f"new members are taken to send what {name} encodes here"
    return None


def encoded(
    assignor: UserDataAssignor, last: LastAssignment, generation_id: int | None
) -> bytes | None:
    """Return what a member sends.

    Raises:
        AssignorError: the assignor raised.
    """
    try:
        return assignor.encode_user_data(last, generation_id)
    except Exception as error:  # an assignor is foreign code: its run ends
        raise AssignorError(assignor.name, [f"encode_user_data raised {error!r}"]) from error
