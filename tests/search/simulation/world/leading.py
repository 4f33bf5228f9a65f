"""The leader's errand at this level: from the members' subscriptions to the bytes of SyncGroup.

Decides: nothing that `kgroup.assignors` does not, unless a fault spoils it; the metadata is the
cluster's, at once.
Never: keeps anything.
KIPs: 345, 429, 814 (a static leader that came back asks what was assigned).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from kgroup.assignors import (
    Assignor,
    GroupAssignment,
    GroupSubscription,
    LastAssignment,
    PartitionRacks,
    SentAssignment,
    divide,
    encode_group_assignment,
    read_members,
    subscribed_topics,
)
from kgroup.assignors.api import UserDataAssignor
from kgroup.errors import AssignorError, DecodeError, GroupError, KGroupError
from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.membership.group_description import (
    IN_DOUBT,
    Remembered,
    divided_topics,
    remembered_of,
    stable_members,
)
from kgroup.membership.value import GroupMember
from kgroup.testing.broker.agenda import Agenda
from kgroup.types import RebalanceProtocol
from tests.search.simulation.plan import Ploy

_NO_RACKS: Final = PartitionRacks()


def lead(
    effect: RunAssignor, assignors: tuple[Assignor, ...], counts: Mapping[str, int], now: float
) -> AssignorDone | AssignorFailed:
    """Compute the assignment of a round.

    Args:
        effect: the errand.
        assignors: of the member.
        counts: topic -> partitions, as the member knows them.
        now: instant, seconds.
    """
    assignor = next(each for each in assignors if each.name == effect.protocol_name)
    cooperates = RebalanceProtocol.COOPERATIVE in assignor.supported_protocols
    protocol = RebalanceProtocol.COOPERATIVE if cooperates else RebalanceProtocol.EAGER
    try:
        members = read_members(_joined(effect), protocol, effect.sent)
        watched = _counted(subscribed_topics(members), counts)
        topics = {
            topic: dict.fromkeys(range(count), _NO_RACKS)
            for topic, count in watched.items()
            if count
        }
        group = GroupSubscription(members, topics, now)
        assignment = divide(assignor, group, protocol)
    except KGroupError as error:
        return AssignorFailed(effect.ticket, error)
    encoded = encode_group_assignment(group, assignment)
    sent = None
    if protocol is RebalanceProtocol.COOPERATIVE:
        sent = SentAssignment.of(
            effect.generation_id, group.members, encoded, effect.sent, assignment.withheld
        )
    return AssignorDone(
        effect.ticket,
        tuple(encoded.items()),
        watched,
        rejoin_after=assignment.rejoin_after,
        sent=sent,
    )


def looked(
    effect: RunAssignor,
    member: GroupMember,
    answer: Any | None,  # of any version
    why: str,
) -> AssignorDone | AssignorFailed:
    """Return what the coordinator says was given out; without that, a leader looks at what is now.

    Args:
        effect: the errand.
        member: the one that runs it.
        answer: to DescribeGroups; None without one.
        why: there is none.
    """
    if answer is None or answer.groups[0].error_code:
        return _looked_around(effect, member, GroupError(why))
    standing = stable_members(answer.groups[0])
    if standing is None and not effect.follows:
        return _looked_around(effect, member, GroupError("no generation stands"))
    try:
        counts = {} if standing is None else divided_topics(standing)
        return AssignorDone(effect.ticket, (), counts)
    except DecodeError as error:
        return _looked_around(effect, member, error)


def _looked_around(
    effect: RunAssignor, member: GroupMember, error: KGroupError
) -> AssignorDone | AssignorFailed:
    if effect.follows or not effect.members:
        return AssignorFailed(effect.ticket, error)
    try:
        members = read_members(_joined(effect), member.protocol)
    except KGroupError as unreadable:
        return AssignorFailed(effect.ticket, unreadable)
    return AssignorDone(effect.ticket, (), _counted(subscribed_topics(members), member.counts))


def _joined(effect: RunAssignor) -> list[tuple[str, str | None, bytes]]:
    return [(m.member_id, m.group_instance_id, bytes(m.metadata)) for m in effect.members]


def _counted(topics: frozenset[str], counts: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType({topic: counts.get(topic, 0) for topic in sorted(topics)})


def recalled(answer: Any | None, instance_id: str | None) -> Remembered | None:
    """Return what the coordinator remembers of a static member; in doubt when it cannot be read.

    Args:
        answer: to DescribeGroups; None without one.
        instance_id: of the member.
    """
    if answer is None:
        return IN_DOUBT
    try:
        return remembered_of(answer.groups[0], instance_id)
    except DecodeError:
        return IN_DOUBT


# -- spoiling --------------------------------------------------------------------------------------


Led = AssignorDone | AssignorFailed

_UNREADABLE = b"\x00"
_SOON = 0.3


def spoilt(led: Led, ploy: Ploy) -> Led:
    """Return what an errand comes to instead.

    Args:
        led: what it would have come to.
        ploy: what is done to the assignor.
    """
    match ploy:
        case Ploy.FAIL:
            return AssignorFailed(led.ticket, AssignorError("ambush", ["raised on purpose"]))
        case Ploy.LATE:
            return AssignorFailed(led.ticket, TimeoutError("no metadata"))
        case Ploy.GARBLE if isinstance(led, AssignorDone):
            garbled = tuple((member_id, _UNREADABLE) for member_id, _ in led.assignments)
            return replace(led, assignments=garbled, sent=None)
        case Ploy.AGAIN if isinstance(led, AssignorDone):
            return replace(led, rejoin_after=_SOON)
        case _:
            return led


@dataclass(slots=True)
class Faltering:
    """An assignor like another, but its user data cannot be written for a time.

    Args:
        inner: that other.
        clock: of the run.
    """

    inner: Assignor
    clock: Agenda
    mute_until: float = field(default=-1.0)

    @property
    def name(self) -> str:
        """Of the other."""
        return self.inner.name

    @property
    def supported_protocols(self) -> tuple[RebalanceProtocol, ...]:
        """Of the other."""
        return self.inner.supported_protocols

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide as the other does."""
        return self.inner.assign(group)

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        """Return what the other sends, or raise."""
        if self.clock.now <= self.mute_until:
            raise AssignorError(self.name, ["cannot write user data, on purpose"])
        if isinstance(self.inner, UserDataAssignor):
            return self.inner.encode_user_data(owned, generation_id)
        return owned.user_data
