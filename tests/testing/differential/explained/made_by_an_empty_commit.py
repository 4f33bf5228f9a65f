"""A group that the new coordinator has in memory and not in its log.

1. an OffsetCommit of no generation makes a simple group; 2. none of its offsets is stored, so
nothing is written; 3. DescribeGroups reads memory as of the last record of the partition, finds no
group, and says Dead; 4. the next record of any group in that partition brings it to light as Empty.
"""

from kgroup.testing.broker.release import CoordinatorKind
from kgroup.wire.messages import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from tests.testing.differential.judging import Difference
from tests.testing.differential.replay import Turn
from tests.testing.differential.stage import kind_of

__all__ = ["describes_what_an_empty_commit_made"]

_READ_ONLY = {"DescribeGroups", "OffsetFetch", "Heartbeat", "SyncGroup", "LeaveGroup"}


def describes_what_an_empty_commit_made(difference: Difference) -> bool:
    """Whether Dead is said of an Empty group that only refused commits have touched."""
    turn = difference.turn
    if kind_of(difference.played.trace.version) is not CoordinatorKind.NEW:
        return False
    if [name for name, _, _ in difference.fields] != ["group_state"]:
        return False
    if (_state(turn.real.answer), _state(turn.answer)) != ("Dead", "Empty"):
        return False
    asked = [
        each
        for each in difference.played.turns[: difference.number]
        if not isinstance(each.real.request, DescribeGroupsRequest)
    ]
    made = max((n for n, each in enumerate(asked) if each.phase == "none"), default=None)
    if made is None or not _stores_nothing(asked[made]):
        return False
    return all(_stores_nothing(each) or _reads(each) for each in asked[made:])


def _stores_nothing(turn: Turn) -> bool:
    if not isinstance(turn.real.request, OffsetCommitRequest):
        return False
    if not isinstance(turn.real.answer, OffsetCommitResponse):
        return False
    return all(row.error_code for topic in turn.real.answer.topics for row in topic.partitions)


def _reads(turn: Turn) -> bool:
    return type(turn.real.request).__name__.removesuffix("Request") in _READ_ONLY


def _state(answer: object) -> str:
    return answer.groups[0].group_state if isinstance(answer, DescribeGroupsResponse) else ""
