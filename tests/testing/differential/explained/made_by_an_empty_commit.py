"""A group that the new coordinator has in memory and not in its log.

1. an OffsetCommit of no generation makes a simple group; 2. none of its offsets is stored, so
nothing is written; 3. DescribeGroups reads memory as of the last record of the partition, finds no
group, and says Dead; 4. the next record of any group in that partition brings it to light as Empty.
"""

from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.wire.messages import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from tests.testing.differential.judging import Difference
from tests.testing.differential.replay import Turn
from tests.testing.differential.stage import kind_of


def describes_what_an_empty_commit_made(difference: Difference) -> bool:
    """Whether Dead is said of a group that a refused commit made and nobody has written since."""
    turn = difference.turn
    if kind_of(difference.played.trace.version) is not CoordinatorKind.NEW:
        return False
    if _state(turn.real.answer) != "Dead" or _state(turn.answer) in ("", "Dead"):
        return False
    asked = [
        each
        for each in difference.played.turns[: difference.number]
        if not isinstance(each.real.request, DescribeGroupsRequest)
    ]
    made = max((n for n, each in enumerate(asked) if each.phase == "none"), default=None)
    if made is None or not _stores_nothing(asked[made]):
        return False
    return not any(_writes(each) for each in asked[made:])


def _stores_nothing(turn: Turn) -> bool:
    if not isinstance(turn.real.request, OffsetCommitRequest):
        return False
    if not isinstance(turn.real.answer, OffsetCommitResponse):
        return False
    return all(row.error_code for topic in turn.real.answer.topics for row in topic.partitions)


def _writes(turn: Turn) -> bool:
    """Whether a request may have put a record of the group into the log."""
    match turn.real.request:
        case OffsetCommitRequest():
            return not _stores_nothing(turn)
        case SyncGroupRequest():
            return getattr(turn.real.answer, "error_code", 0) == 0
        case JoinGroupRequest() | HeartbeatRequest() | OffsetFetchRequest():
            return False
        case _:
            return True


def _state(answer: object) -> str:
    return answer.groups[0].group_state if isinstance(answer, DescribeGroupsResponse) else ""
