"""From the description of a group to its assignment: built-in assignors and the plug-in API."""

from kgroup.assignors.api import (
    USER_DATA_LIMIT,
    Assignor,
    LastAssignment,
    UserDataAssignor,
    common_protocol,
)
from kgroup.assignors.assignment import Draft, GroupAssignment
from kgroup.assignors.cooperative_sticky import CooperativeStickyAssignor
from kgroup.assignors.group import Audience, GroupSubscription
from kgroup.assignors.leader import (
    JoinedMember,
    SentAssignment,
    describe_group,
    divide,
    encode_group_assignment,
    read_members,
    subscribed_topics,
)
from kgroup.assignors.member import Member, PartitionRacks, TopicsMetadata
from kgroup.assignors.numbering import Numbered, PartitionNumbering
from kgroup.assignors.range import RangeAssignor
from kgroup.assignors.registry import BUILT_IN, AssignorChoice, FoundAssignor, resolve
from kgroup.assignors.roundrobin import RoundRobinAssignor
from kgroup.assignors.sticky import StickyAssignor
from kgroup.assignors.verify import verify
from kgroup.errors import AssignmentError, AssignorError
from kgroup.types import RebalanceProtocol

__all__ = [
    "BUILT_IN",
    "USER_DATA_LIMIT",
    "AssignmentError",
    "Assignor",
    "AssignorChoice",
    "AssignorError",
    "Audience",
    "CooperativeStickyAssignor",
    "Draft",
    "FoundAssignor",
    "GroupAssignment",
    "GroupSubscription",
    "JoinedMember",
    "LastAssignment",
    "Member",
    "Numbered",
    "PartitionNumbering",
    "PartitionRacks",
    "RangeAssignor",
    "RebalanceProtocol",
    "RoundRobinAssignor",
    "SentAssignment",
    "StickyAssignor",
    "TopicsMetadata",
    "UserDataAssignor",
    "common_protocol",
    "describe_group",
    "divide",
    "encode_group_assignment",
    "read_members",
    "resolve",
    "subscribed_topics",
    "verify",
]
