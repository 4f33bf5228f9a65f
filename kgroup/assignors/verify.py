"""The leader's last look at an assignment, whichever assignor made it.

Decides: whether it may be sent. A wrong one fails the round loudly, before SyncGroup.
Never: repairs anything, judges balance.
KIPs: 429 (nothing is handed over before it was revoked).
"""

from collections.abc import Iterable

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.errors import AssignmentError
from kgroup.types import RebalanceProtocol, TopicPartition

__all__ = ["verify"]

SHOWN = 5


def verify(
    group: GroupSubscription,
    assignment: GroupAssignment,
    *,
    assignor: str,
    protocol: RebalanceProtocol,
) -> None:
    """Check an assignment against the group it is for.

    Args:
        group: what the assignor was given.
        assignment: what it returned.
        assignor: its name, for the error.
        protocol: what the members of the group follow.

    Raises:
        AssignmentError: it names a stranger or a partition that was not given; gives one twice,
            to a member that does not subscribe to its topic, or to nobody without saying so; or,
            with COOPERATIVE, gives away what another member still holds.
    """
    _check_whole(group, assignment, assignor)
    if protocol is RebalanceProtocol.COOPERATIVE:
        _check_handover(group, assignment, assignor)


def _check_whole(group: GroupSubscription, assignment: GroupAssignment, assignor: str) -> None:
    topics = {member.member_id: member.topics for member in group.members}
    strangers = [
        member_id
        for member_id in (*assignment.partitions, *assignment.withheld.values())
        if member_id not in topics
    ]
    if strangers:
        raise AssignmentError(f"assignor {assignor!r} named {strangers[0]!r}, who is not a member")
    seen: set[TopicPartition] = set(assignment.withheld)
    count = len(seen)
    for member_id, partitions in assignment.partitions.items():
        foreign = [tp for tp in partitions if tp.topic not in topics[member_id]]
        if foreign:
            raise _error(assignor, f"gave {member_id!r} what it does not subscribe to", foreign)
        seen.update(partitions)
        count += len(partitions)
    invented = [tp for tp in seen if not group.has(tp)]
    if invented:
        raise _error(assignor, "gave what does not exist", invented)
    if len(seen) != count:
        raise _error(assignor, "gave more than once", _repeated(assignment))
    if count != len(group.partitions):
        missing = [tp for tp in group.partitions if tp not in seen]
        raise _error(assignor, "gave to nobody, and did not list as withheld,", missing)


def _check_handover(group: GroupSubscription, assignment: GroupAssignment, assignor: str) -> None:
    """Check that nothing is added to a member while another one's newest claim to it stands.

    A claim without a generation (before KIP-792) is taken to be as new as any other.
    """
    holders: dict[TopicPartition, list[tuple[int | None, str]]] = {}
    for member in group.members:
        for tp in member.owned:
            holders.setdefault(tp, []).append((member.generation_id, member.member_id))
    for member_id, partitions in assignment.partitions.items():
        for tp in partitions:
            claims = holders.get(tp)
            if claims is None or (len(claims) == 1 and claims[0][1] == member_id):
                continue
            newest = max((g for g, _ in claims if g is not None), default=None)
            holding = sorted({who for g, who in claims if g is None or g == newest})
            if member_id not in holding:
                raise AssignmentError(
                    f"assignor {assignor!r} gave {tp} to {member_id!r} while {holding[0]!r} still "
                    "holds it; a cooperative assignor has to withhold it until the next round"
                )


def _repeated(assignment: GroupAssignment) -> list[TopicPartition]:
    seen: set[TopicPartition] = set(assignment.withheld)
    repeated: list[TopicPartition] = []
    for partitions in assignment.partitions.values():
        for tp in partitions:
            if tp in seen:
                repeated.append(tp)
            seen.add(tp)
    return repeated


def _error(assignor: str, what: str, partitions: Iterable[TopicPartition]) -> AssignmentError:
    ordered = sorted(set(partitions))
    shown = ", ".join(str(tp) for tp in ordered[:SHOWN])
    more = f" and {len(ordered) - SHOWN} more" if len(ordered) > SHOWN else ""
    return AssignmentError(f"assignor {assignor!r} {what} {shown}{more}")
