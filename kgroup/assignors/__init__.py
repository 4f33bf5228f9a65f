"""From the description of a group to its assignment: built-in assignors and the plug-in API.

- `conformance`: The conformance kit: what every assignor has to keep, held against one of them
- `simulator`: A simulated group: what each assignor would do to it, event by event
- `api`: What an assignor is: two facts and one pure function
- `assignment`: The result of an assignor: what each member gets, and what is withheld for now
- `claims`: What members hold before an assignment: their claims, and which of them are believed
- `cooperative_sticky`: Cooperative sticky: the same target as sticky, reached without stopping
  anybody
- `group`: The group as an assignor sees it
- `leader`: The leader's side of a round: from the members' bytes to a group, and back to bytes
- `member`: One member of the group and one partition's racks, as an assignor sees them
- `numbering`: All partitions of a group as numbers from 0, and selections of them that look like
  partitions
- `peers`: Assignors that were written for aiokafka or kafka-python, wrapped to work here
- `range`: Range: of each topic, every subscriber gets one contiguous stretch
- `registry`: What assignors there are, and how a configured list of names and instances is
  resolved
- `roundrobin`: Round-robin: all partitions in order, dealt to the members in turn
- `sticky`: Sticky: balanced, and members keep what they had
- `sticky_balance`: The best balance of an unequal group: how many partitions each member gets,
  give or take one
- `sticky_census`: What is interchangeable in a group: kinds of members, classes of partitions
- `sticky_deal`: From counts to partitions: which ones a member keeps, and which ones it takes
- `sticky_equal`: The sticky target when all members subscribe to the same topics: linear, and
  exact
- `sticky_flow`: A flow of least cost, found by sending what is in the wrong place along the
  cheapest ways
- `sticky_moves`: The cheapest way to settle one level: fewest moves, then most partitions near
  their replicas
- `sticky_opening`: The first and cheapest steps to settle a level
- `sticky_shares`: What the members of a level have, in counts, and which of two ways to share is
  the worse
- `sticky_target`: The target that both sticky assignors aim at: balanced first, then with the
  fewest moves
- `verify`: The leader's last look at an assignment, whichever assignor made it
"""

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
