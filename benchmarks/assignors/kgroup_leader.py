"""kgroup's leader, part by part.

Decides: nothing.
Never: keeps anything between runs but bytes: members, their topics and what they own are read
anew each time, so each member has strings and sequences of its own, as at a real leader.
"""

from collections.abc import Sequence
from importlib.metadata import version

from benchmarks.assignors.judging import Event, Result
from benchmarks.assignors.scenarios import Scenario
from kgroup.assignors import (
    BUILT_IN,
    Assignor,
    GroupAssignment,
    GroupSubscription,
    JoinedMember,
    LastAssignment,
    Member,
    PartitionRacks,
    TopicsMetadata,
    UserDataAssignor,
    common_protocol,
    encode_group_assignment,
    read_members,
    verify,
)
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.wire.consumer_protocol import MemberSubscription, encode_subscription


class KgroupLeader:
    """Assigns with kgroup's built-in assignors."""

    def __init__(self) -> None:
        self.versions = {"kgroup": version("kgroup")}
        self.assignors: Sequence[str] = tuple(BUILT_IN)
        self._scenario: Scenario
        self._generation_id: int
        self._topics: TopicsMetadata
        self._event: Event
        self._assignor: Assignor
        self._protocol: RebalanceProtocol
        self._joined: list[JoinedMember]
        self._members: tuple[Member, ...]
        self._group: GroupSubscription
        self._assignment: GroupAssignment

    def load(self, scenario: Scenario, generation_id: int) -> None:
        """Describe the topics as `Leading` does, on brokers without racks."""
        self._scenario, self._generation_id = scenario, generation_id
        self._topics = {
            name: {number: PartitionRacks() for number in range(count)}
            for name, count in scenario.topics
        }

    def begin(self, assignor: str, event: Event) -> None:
        """Write the members' subscriptions."""
        self._assignor, self._event = BUILT_IN[assignor], event
        self._protocol = common_protocol((self._assignor,))
        self._joined = [
            (member_id, None, self._subscription(place))
            for place, (member_id, _) in enumerate(self._scenario.members)
            if place != event.leaver
        ]

    def read(self) -> None:
        """Read the members' subscriptions."""
        self._members = read_members(self._joined, self._protocol)

    def assign(self) -> None:
        """Put the group together and divide its partitions."""
        self._group = GroupSubscription(self._members, self._topics)
        self._assignment = self._assignor.assign(self._group)

    def encode(self) -> Sequence[bytes]:
        """Check the assignment and write it."""
        verify(self._group, self._assignment, assignor=self._assignor.name, protocol=self._protocol)
        return tuple(encode_group_assignment(self._group, self._assignment).values())

    def result(self) -> Result:
        """Return it as numbers, one partition at a time."""
        starts = {
            name: start
            for (name, _), start in zip(
                self._scenario.topics, self._scenario.starts[:-1], strict=True
            )
        }
        places = {member_id: at for at, (member_id, _) in enumerate(self._scenario.members)}
        given = [
            [starts[tp.topic] + tp.partition for tp in self._assignment.of(member_id)]
            for member_id in places
        ]
        withheld = {
            starts[tp.topic] + tp.partition: places[receiver]
            for tp, receiver in self._assignment.withheld.items()
            if receiver is not None
        }
        return Result(given, withheld)

    def _subscription(self, place: int) -> bytes:
        """Return what a member sends: an eager one has handed back what it owned."""
        topics = tuple(self._scenario.topics[topic][0] for topic in self._scenario.topics_of(place))
        if self._event.previous is None:
            return encode_subscription(MemberSubscription(topics=topics))
        owned = self._owned(place)
        user_data = None
        if isinstance(self._assignor, UserDataAssignor):
            user_data = self._assignor.encode_user_data(owned, self._generation_id)
        cooperative = self._protocol is RebalanceProtocol.COOPERATIVE
        return encode_subscription(
            MemberSubscription(
                topics=topics,
                owned=owned if cooperative else (),
                generation_id=self._generation_id,
                user_data=user_data,
            )
        )

    def _owned(self, place: int) -> LastAssignment:
        assert self._event.previous is not None
        return LastAssignment(
            TopicPartition(name, number)
            for name, number in self._scenario.named(self._event.previous[place])
        )
