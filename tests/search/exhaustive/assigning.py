"""The leader's assignor in the small world: kgroup's own, from the members' bytes to SyncGroup's.

Decides: nothing.
"""

from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.membership.value import GroupMember
from tests.search.exhaustive.scope import NOW, TOPIC
from tests.search.simulation.world.leading import lead

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
    try:
        return lead(run, member.settings.assignors, counts, NOW)
    except Exception as error:  # noqa: BLE001 - as the real errand: the round fails
        return AssignorFailed(run.ticket, error)
