"""A group that plays rounds with an assignor, as its members and a leader would."""

from dataclasses import dataclass, field

from kgroup.assignors import (
    Assignor,
    GroupAssignment,
    GroupSubscription,
    LastAssignment,
    Member,
    PartitionRacks,
    RebalanceProtocol,
    UserDataAssignor,
    divide,
)


@dataclass
class Player:
    """A member between rounds."""

    topics: frozenset[str]
    assignor: Assignor
    instance: str | None = None
    rack: str | None = None
    held: LastAssignment = field(default_factory=LastAssignment)
    generation_id: int | None = None


class Played:
    """A group of members that follow one protocol.

    Args:
        make: returns an assignor for each member.
        topics: topic -> partition count, or -> racks of the leaders.
    """

    def __init__(self, make, protocol=RebalanceProtocol.COOPERATIVE, **topics):
        self.make = make
        self.protocol = protocol
        self.players: dict[str, Player] = {}
        self.topics = topics
        self.generation_id = 0
        self.now = 1_000_000.0
        self.last = GroupAssignment({})

    def join(self, *names, topics="t", instance=None, rack=None, **making):
        for name in names:
            player = Player(frozenset(topics.split()), self.make(**making), instance, rack)
            self.players[name] = player

    def leave(self, *names):
        for name in names:
            del self.players[name]

    def round(self):
        """Play one round; return what was assigned."""
        group = self.described()
        leader = next(iter(self.players.values()))
        self.last = divide(leader.assignor, group, self.protocol)
        self.generation_id += 1
        for name, player in self.players.items():
            given = sorted(self.last.of(name))
            player.held = LastAssignment(given, self.last.user_data.get(name))
            player.generation_id = self.generation_id
        return self.last

    def settle(self, at_most=4):
        """Play rounds while somebody has to revoke something; return how many it took."""
        for rounds in range(1, at_most + 1):
            before = {name: set(player.held) for name, player in self.players.items()}
            self.round()
            if all(before[name] <= set(p.held) for name, p in self.players.items()):
                return rounds
        raise AssertionError(f"not settled after {at_most} rounds")

    def held(self):
        """Return member -> what it holds, sorted."""
        return {name: tuple(player.held) for name, player in self.players.items()}

    def sizes(self):
        return {name: len(player.held) for name, player in self.players.items()}

    def described(self):
        members = tuple(self._member(name, player) for name, player in self.players.items())
        topics = {
            topic: {
                number: PartitionRacks(rack, frozenset(() if rack is None else {rack}))
                for number, rack in enumerate([None] * racks if isinstance(racks, int) else racks)
            }
            for topic, racks in self.topics.items()
        }
        return GroupSubscription(members, topics, self.now)

    def _member(self, name, player):
        cooperative = self.protocol is RebalanceProtocol.COOPERATIVE
        user_data = player.held.user_data
        if isinstance(player.assignor, UserDataAssignor):
            user_data = player.assignor.encode_user_data(player.held, player.generation_id)
        return Member(
            member_id=name,
            topics=player.topics,
            group_instance_id=player.instance,
            rack=player.rack,
            owned=tuple(player.held) if cooperative else (),
            generation_id=player.generation_id,
            user_data=user_data,
        )
