"""An assignor that obeys its test: well, or in one of the ways in which assignors go wrong.

Decides: what each way looks like to the leader that runs it.
Never: goes wrong of itself; the test switches it.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import ClassVar

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription, RebalanceProtocol


class Mode(Enum):
    """How it does its work."""

    WELL = "well"
    RAISES = "raises"
    FORGETS_A_PARTITION = "forgets a partition"
    HANDS_OVER_TOO_EARLY = "hands over too early"


class SwitchedAssignor:
    """Divides like one of the built-in assignors while its mode says so.

    Args:
        like: name of that one.
    """

    name: ClassVar[str] = "switched"

    def __init__(self, like: str = "cooperative-sticky") -> None:
        self.supported_protocols: Sequence[RebalanceProtocol] = BUILT_IN[like].supported_protocols
        self.mode = Mode.WELL
        self.runs = 0
        self._like = BUILT_IN[like]

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        self.runs += 1
        match self.mode:
            case Mode.WELL:
                return self._like.assign(group)
            case Mode.RAISES:
                raise ZeroDivisionError("no capacity at all")
            case Mode.FORGETS_A_PARTITION:
                return _without_first(self._like.assign(group))
            case Mode.HANDS_OVER_TOO_EARLY:
                return _moved_on(self._like.assign(group))


def _without_first(right: GroupAssignment) -> GroupAssignment:
    """Take one partition from the member that has most."""
    given = dict(right.partitions)
    fullest = max(given, key=lambda member_id: len(given[member_id]))
    given[fullest] = given[fullest][1:]
    return replace(right, partitions=given)


def _moved_on(right: GroupAssignment) -> GroupAssignment:
    """Give each member what the one before it has or would get, and hold nothing back."""
    given = [list(partitions) for partitions in right.partitions.values()]
    places = {member_id: place for place, member_id in enumerate(right.partitions)}
    for partition, member_id in right.withheld.items():
        if member_id is not None:
            given[places[member_id]].append(partition)
    return GroupAssignment(dict(zip(right.partitions, (given[-1], *given[:-1]), strict=True)))
