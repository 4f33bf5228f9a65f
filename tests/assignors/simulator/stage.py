"""Groups and assignors that tests of the simulator play."""

from typing import ClassVar

from kgroup.assignors import (
    BUILT_IN,
    Assignor,
    GroupAssignment,
    GroupSubscription,
    RebalanceProtocol,
)
from kgroup.assignors.simulator import (
    Event,
    Outcome,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    play,
)
from kgroup.types import TopicPartition

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
STICKY, COOPERATIVE_STICKY = BUILT_IN["sticky"], BUILT_IN["cooperative-sticky"]


def member(name: str, *topics: str, owned: range = range(0)) -> SimulatedMember:
    wanted = topics or ("t",)
    held = tuple(TopicPartition(wanted[0], number) for number in owned)
    return SimulatedMember(member_id=name, topics=frozenset(wanted), owned=held)


def group_of(count: int, *events: Event, partitions: int = 8) -> Scenario:
    members = tuple(member(f"m{n}") for n in range(count))
    return Scenario({"t": SimulatedTopic(partitions)}, members, events)


def last(scenario: Scenario, assignor: Assignor) -> Outcome:
    *_, outcome = play(scenario, assignor)
    return outcome


class Notebook:
    """Gives everything to the first member, and keeps what each of them sent."""

    name: ClassVar[str] = "notebook"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (EAGER,)

    def __init__(self) -> None:
        self.seen: list[dict[str, tuple[bytes | None, int | None]]] = []
        self.times: list[float] = []

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        self.seen.append({m.member_id: (m.user_data, m.generation_id) for m in group.members})
        self.times.append(group.now)
        given = dict.fromkeys((m.member_id for m in group.members), tuple[TopicPartition, ...]())
        given[group.members[0].member_id] = tuple(group.partitions)
        return GroupAssignment(given, user_data={name: f"to {name}".encode() for name in given})
