"""Assignors written by users, good and bad."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription
from kgroup.membership.settings import MembershipSettings
from kgroup.types import RebalanceProtocol, TopicPartition
from tests.consumer.scene import settings

Body = Callable[[GroupSubscription], Any]

COOPERATIVE = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)


def good(group: GroupSubscription) -> GroupAssignment:
    return BUILT_IN["cooperative-sticky"].assign(group)


@dataclass(slots=True, eq=False)
class Foreign:
    """An assignor from outside; `body` may be exchanged while it is in use."""

    body: Body = good
    name: str = "foreign"
    supported_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)
    seen: list[GroupSubscription] = field(default_factory=list)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        self.seen.append(group)
        made: GroupAssignment = self.body(group)
        return made


def led_by(assignor: Foreign, **options: Any) -> MembershipSettings:
    """Return the settings of a member with one assignor from outside."""
    return settings(assignors=(assignor,), **options)


# -- what a bad one returns (the words that its error must have) -------------------------------


def raises(group: GroupSubscription) -> GroupAssignment:
    raise ValueError(f"I cannot divide {len(group.partitions)} partitions")


def times_out(group: GroupSubscription) -> GroupAssignment:
    raise TimeoutError("a foreign one")


def names_a_stranger(group: GroupSubscription) -> GroupAssignment:
    return GroupAssignment({**good(group).partitions, "stranger": ()})


def invents(group: GroupSubscription) -> GroupAssignment:
    extra = TopicPartition("t", 99)
    return _changed(group, lambda given: (*given, extra))


def gives_twice(group: GroupSubscription) -> GroupAssignment:
    return _changed(group, lambda given: (*given, *given))


def forgets_partitions(group: GroupSubscription) -> GroupAssignment:
    return _changed(group, lambda _: ())


def forgets_members(_: GroupSubscription) -> GroupAssignment:
    return GroupAssignment({})


def returns_nothing(_: GroupSubscription) -> None:
    return None


def returns_rubbish(group: GroupSubscription) -> GroupAssignment:
    rubbish: Any = (7, None)
    return GroupAssignment({member.member_id: rubbish for member in group.members})


def never_rests(group: GroupSubscription) -> GroupAssignment:
    return GroupAssignment(good(group).partitions, rejoin_after=0.0)


def _changed(
    group: GroupSubscription, change: Callable[[tuple[TopicPartition, ...]], Any]
) -> GroupAssignment:
    given = good(group).partitions
    return GroupAssignment({who: change(tuple(partitions)) for who, partitions in given.items()})


BAD_BODIES: dict[str, Body] = {
    "raised ValueError('I cannot divide 4 partitions')": raises,
    "raised TimeoutError('a foreign one')": times_out,
    "named 'stranger', who is not a member": names_a_stranger,
    "gave what does not exist t-99": invents,
    "gave more than once t-0": gives_twice,
    "gave to nobody, and did not list as withheld, t-0": forgets_partitions,
    "has no entry, not even an empty one, for 'kgroup-": forgets_members,
    "returned None, not a GroupAssignment": returns_nothing,
    "returned an assignment that cannot be read": returns_rubbish,
    "wants to rejoin after 0.0": never_rests,
}
