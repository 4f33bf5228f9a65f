"""Members that speak to the pure core of a broker, one request at a time.

    club = Club()                      # one group `g` of one cluster
    a = club.member("A")
    a.enter(); club.gather(a)          # JoinGroup of all, then SyncGroup of all: Stable
    b = club.member("B"); b.enter()    # parked
    a.beat()                           # 27

Decides: nothing; a member remembers the id and the generation that its last good answer gave it.
"""

from dataclasses import dataclass, field
from typing import Any

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.consumer_protocol import MemberSubscription, encode_subscription
from kgroup.wire.messages import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.testing.broker.driver import Call, Raw, asking

NEW, OLD = CoordinatorKind.NEW, CoordinatorKind.OLD
GROUP = "g"


class Club:
    """One group and the clients that want to be in it.

    Args:
        kind: rules of the group coordinator.
        settings: of the broker; sessions from 1 s on unless given.
    """

    def __init__(self, kind: CoordinatorKind = NEW, **settings: Any) -> None:
        chosen = BrokerSettings(**{"min_session_timeout": 1.0, **settings})
        self.raw: Raw = asking(kind=kind, settings=chosen)

    def member(self, name: str, **habits: Any) -> "Person":
        """Bring a client that has not joined; see `Person`."""
        return Person(self.raw, name, **habits)

    def gather(self, *people: "Person") -> None:
        """Let all of these join and sync; there are no others, so the group is Stable then."""
        joins = [person.join() for person in people]
        self.raw.run(0)
        for person, join in zip(people, joins, strict=True):
            person.adopt(join)
        for person in people:
            person.sync()
        assert self.phase is Phase.STABLE

    @property
    def group(self) -> Group:
        """The group as its coordinator has it."""
        return self.raw.core.coordinators.shard_of(GROUP).groups[GROUP]

    @property
    def phase(self) -> Phase:
        """Where the group stands; Dead if it does not exist."""
        groups = self.raw.core.coordinators.shard_of(GROUP).groups
        return groups[GROUP].phase if GROUP in groups else Phase.DEAD

    @property
    def state(self) -> str:
        """Where the group stands, as DescribeGroups says."""
        asked = self.raw.ask(1, DescribeGroupsRequest(groups=(GROUP,)), version=5)
        return asked.now.groups[0].group_state

    def move(self, node_id: int | None) -> None:
        """Let another broker have the group, the former one having died."""
        coordinators = self.raw.core.coordinators
        partition = coordinators.shard_of(GROUP).partition
        coordinators.take_over(partition, node_id, resigned=False)


@dataclass(slots=True)
class Person:
    """A client that may be a member.

    Args:
        raw: the brokers to ask.
        name: client id.
        instance: group.instance.id; None = dynamic.
        session: session timeout, seconds.
        rebalance: rebalance timeout, seconds.
        offers: assignors, the best first.
        data: subscription bytes of each assignor.
        member_id: as the broker gave it.
        generation: as the last good answer said.
    """

    raw: Raw
    name: str
    instance: str | None = None
    session: float = 10.0
    rebalance: float = 5.0
    offers: tuple[str, ...] = ("range",)
    data: bytes = field(default=encode_subscription(MemberSubscription(topics=("t",))), repr=False)
    member_id: str = ""
    generation: int = -1

    def join(self) -> Call[JoinGroupResponse]:
        """Send JoinGroup, and once more with the id that is asked for, if one is."""
        call = self.join_once()
        if call.answer is not None and call.answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = call.answer.member_id
            call = self.join_once()
        return call

    def join_once(self, version: int = 9) -> Call[JoinGroupResponse]:
        """Send JoinGroup."""
        rows = tuple(
            JoinGroupRequestProtocol(name=each, metadata=self.data) for each in self.offers
        )
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=int(self.session * 1000),
            rebalance_timeout_ms=int(self.rebalance * 1000),
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=rows,
        )
        return self.raw.ask(1, request, version=version, client=self.name)

    def adopt(self, join: Call[JoinGroupResponse]) -> JoinGroupResponse:
        """Take id and generation out of an answer that must be there and good."""
        answer = join.now
        assert answer.error_code == ErrorCode.NONE, answer
        self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def enter(self) -> JoinGroupResponse:
        """Join a group in which nobody else has to join again."""
        join = self.join()
        self.raw.run(0)
        return self.adopt(join)

    def sync(self, **parts: bytes) -> Call[SyncGroupResponse]:
        """Send SyncGroup, with parts for members by id."""
        rows = tuple(
            SyncGroupRequestAssignment(member_id=member_id, assignment=part)
            for member_id, part in parts.items()
        )
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            assignments=rows,
        )
        return self.raw.ask(1, request, version=4, client=self.name)

    def beat(self) -> int:
        """Send a heartbeat and return its code."""
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        return self.raw.ask(1, request, client=self.name).now.error_code

    def leave(self, *others: "Person") -> int:
        """Leave, together with others; return the first member's code, or that of the whole."""
        rows = tuple(MemberIdentity(member_id=each.member_id) for each in (self, *others))
        answer = self.raw.ask(1, LeaveGroupRequest(group_id=GROUP, members=rows)).now
        return answer.error_code or answer.members[0].error_code
