"""The leader's assignor in the small world: kgroup's own, from the members' bytes to SyncGroup's.

Decides: nothing.
"""

from kgroup.assignors import (
    GroupSubscription,
    PartitionRacks,
    SentAssignment,
    divide,
    encode_group_assignment,
    read_members,
)
from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.membership.value import GroupMember
from kgroup.types import RebalanceProtocol
from tests.search.exhaustive.scope import TOPIC

__all__ = ["assigned"]


def assigned(
    run: RunAssignor, member: GroupMember, standing: int | None
) -> AssignorDone | AssignorFailed:
    """Return what the assignor of a leader returns.

    Args:
        run: what it was asked.
        member: the leader.
        standing: how many partitions the coordinator has assigned, None while a round is on; told
            to a static leader that came back and only looks (KIP-814), or a follower that may have.
    """
    counts = dict(member.counts)
    if run.follows:
        return AssignorDone(run.ticket, (), {} if standing is None else {TOPIC: standing})
    if run.unasked:
        return AssignorDone(run.ticket, (), counts if standing is None else {TOPIC: standing})
    assignor = member.settings.assignors[0]
    cooperates = RebalanceProtocol.COOPERATIVE in assignor.supported_protocols
    protocol = RebalanceProtocol.COOPERATIVE if cooperates else RebalanceProtocol.EAGER
    joined = [
        (each.member_id, each.group_instance_id, bytes(each.metadata)) for each in run.members
    ]
    try:
        members = read_members(joined, protocol, run.sent)
        topics = {
            topic: dict.fromkeys(range(count), PartitionRacks()) for topic, count in counts.items()
        }
        group = GroupSubscription(members, topics)
        assignment = divide(assignor, group, protocol)
        encoded = encode_group_assignment(group, assignment)
    except Exception as error:  # noqa: BLE001 - as the real errand: the round fails
        return AssignorFailed(run.ticket, error)
    sent = None
    if protocol is RebalanceProtocol.COOPERATIVE:
        sent = SentAssignment.of(
            run.generation_id, group.members, encoded, run.sent, assignment.withheld
        )
    return AssignorDone(run.ticket, tuple(encoded.items()), counts, sent=sent)
