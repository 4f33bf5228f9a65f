"""Members of an in-process group that are not clients: some always join, some never do.

A phantom reads the state of the group instead of answers. It joins every round at once, claims its
latest assignment, and never leads while a client is in the group.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgroup.testing import InProcessBroker
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import MemberSubscription, decode_assignment, encode_subscription
from kgroup.wire.messages import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from kgroup.wire.schema import Message, Request, replace

LONGEST_SESSION = 2e6
"""Seconds; a phantom sends no heartbeats, and its session must not end."""

_WITHOUT_A_DETOUR = 3
"""The last version of JoinGroup in which a member without an id is taken in at once."""
_LEAVE_VERSION = 5


@dataclass(slots=True, eq=False)
class Phantom:
    """A member that joins every round at once.

    Args:
        name: its client id.
        topics: what it subscribes to.
        assignor: its only one.
        instance_id: None for a dynamic one.
        member_id: "" before it has joined.
        partitions: what the latest assignment gave it.
        gone: it does not come back.
    """

    name: str
    topics: tuple[str, ...]
    assignor: str
    instance_id: str | None = None
    member_id: str = ""
    partitions: frozenset[TopicPartition] = frozenset()
    gone: bool = False

    def join(self, group: Group) -> JoinGroupRequest:
        """Ask to be taken in again, or for the first time."""
        subscription = MemberSubscription(
            topics=self.topics,
            owned=tuple(sorted(self.partitions)),
            generation_id=group.generation_id,
        )
        return _join(
            group.group_id,
            self.member_id,
            {self.assignor: encode_subscription(subscription)},
            instance_id=self.instance_id,
        )


def _join(
    group_id: str, member_id: str, protocols: Mapping[str, bytes], *, instance_id: str | None = None
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=int(LONGEST_SESSION * 1000),
        rebalance_timeout_ms=1000,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=tuple(
            JoinGroupRequestProtocol(name=name, metadata=blob) for name, blob in protocols.items()
        ),
    )


@dataclass(eq=False)
class Peers:
    """The members of a group that are not clients.

    Args:
        broker: the cluster; it must allow sessions of `LONGEST_SESSION`.
        group_id: the group.
    """

    broker: InProcessBroker
    group_id: str
    _phantoms: dict[str, Phantom] = field(default_factory=dict)
    _replaced: dict[str, bytes] = field(default_factory=dict)
    _expected: set[str] = field(default_factory=set)
    _seen: tuple[Phase, int, int] | None = None
    _acting: bool = False

    def __post_init__(self) -> None:
        self.broker.on_change(self._look)

    def __getitem__(self, name: str) -> Phantom:
        return self._phantoms[name]

    # -- phantoms --------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        *topics: str,
        assignor: str = "cooperative-sticky",
        instance_id: str | None = None,
    ) -> None:
        """Add a phantom; it joins as soon as a client is there."""
        self._phantoms[name] = Phantom(name, topics, assignor, instance_id)
        self._look_anew()

    def given(self, name: str) -> frozenset[TopicPartition]:
        """Return what the latest assignment gave a phantom."""
        return self._phantoms[name].partitions

    def name_of(self, member_id: str) -> str:
        """Return the name of the phantom with an id, or the id if there is none."""
        phantoms = self._phantoms.values()
        return next((each.name for each in phantoms if each.member_id == member_id), member_id)

    def end(self, name: str) -> None:
        """Let a phantom's session end; it does not come back."""
        phantom = self._phantoms[name]
        phantom.gone = True
        self.broker.group(self.group_id).expire(phantom.member_id)

    def restart(self, name: str) -> None:
        """Let a static phantom come back under another id, as after a restart of its process."""
        phantom = self._phantoms[name]
        phantom.member_id = ""
        self._look_anew()

    def replace_subscription(self, name: str, data: bytes | None) -> None:
        """Give leaders these bytes as the subscription of a phantom; None: its own again.

        A coordinator refuses a JoinGroup whose bytes it cannot read (B14).
        """
        if not self._replaced:
            self.broker.answers.rewrite(JoinGroupRequest, self._with_replaced, times=None)
        self._replaced.pop(name, None)
        if data is not None:
            self._replaced[name] = data

    def _with_replaced(self, _request: JoinGroupRequest, answer: JoinGroupResponse) -> Message:
        replaced = {self._phantoms[name].member_id: data for name, data in self._replaced.items()}
        return replace(
            answer,
            members=tuple(
                replace(row, metadata=replaced.get(row.member_id, row.metadata))
                for row in answer.members
            ),
        )

    # -- ids that never join ----------------------------------------------------------------------

    def expect_somebody(self) -> None:
        """Hand out an id that is never used to join: it delays every round but the first."""
        with self.broker.changing() as core:
            group = core.coordinators.shard_of(self.group_id).groups[self.group_id]
            before = {*group.pending}
            protocols = dict(next(iter(group.members.values())).protocols)
            request = _join(self.group_id, "", protocols)
            self._ask(core, "somebody", request, JoinGroupRequest.VERSIONS[-1])
            self._expected |= {*group.pending} - before

    def give_up(self) -> None:
        """Take back the ids that were never used to join."""
        leaving = tuple(MemberIdentity(member_id=each) for each in sorted(self._expected))
        self._expected.clear()
        with self.broker.changing() as core:
            request = LeaveGroupRequest(group_id=self.group_id, members=leaving)
            self._ask(core, "somebody", request, _LEAVE_VERSION)

    @property
    def pending(self) -> set[str]:
        """Ids that were handed out and not used to join yet."""
        return {
            *self.broker.core.coordinators.shard_of(self.group_id).groups[self.group_id].pending
        }

    # -- acting ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Act if the group has changed; called whenever it may have.

        No time passes meanwhile: the first round of a group would end before anybody else is in.
        """
        if not self._phantoms or self._acting or self._state() == self._seen:
            return
        self._acting = True
        core, acted = self.broker.core, False
        while sum(self._goes_on(core, each) for each in self._phantoms.values()):
            acted = True
        self._seen = self._state()
        self._acting = False
        if acted:
            self._have_it_seen()

    def _have_it_seen(self) -> None:
        with self.broker.changing():
            pass  # afterwards all that has an answer is on its way

    def _look_anew(self) -> None:
        self._seen = None
        self._have_it_seen()

    def _group(self, core: Core) -> Group | None:
        return core.coordinators.shard_of(self.group_id).groups.get(self.group_id)

    def _state(self) -> tuple[Phase, int, int] | None:
        group = self._group(self.broker.core)
        return None if group is None else (group.phase, group.generation_id, len(group.members))

    def _goes_on(self, core: Core, phantom: Phantom) -> bool:
        """Do the next thing, if there is one to do."""
        group = self._group(core)
        client = None if group is None else self._first_client(group)
        if group is None or client is None or phantom.gone:
            return False
        me = group.members.get(phantom.member_id)
        if me is None:
            return self._comes(core, group, phantom)
        match group.phase:
            case Phase.PREPARING if me.join is None:
                self._give_the_lead(group, client)
                self._ask(core, phantom.name, phantom.join(group))
                return True
            case Phase.COMPLETING if me.member_id in group.unsynced:
                self._ask(core, phantom.name, _sync(group, phantom))
                return True
            case Phase.STABLE:
                phantom.partitions = _partitions(me)
        return False

    def _first_client(self, group: Group) -> Member | None:
        ids = {each.member_id for each in self._phantoms.values()}
        return next((m for m in group.members.values() if m.member_id not in ids), None)

    def _give_the_lead(self, group: Group, client: Member) -> None:
        ids = {each.member_id for each in self._phantoms.values()}
        if group.leader_id in ids:
            group.leader_id = client.member_id

    def _comes(self, core: Core, group: Group, phantom: Phantom) -> bool:
        before = {*group.members}
        phantom.member_id = ""
        self._ask(core, phantom.name, phantom.join(group))
        new = {*group.members} - before
        phantom.member_id = next(iter(new), "")
        return bool(new)

    def _ask(
        self,
        core: Core,
        name: str,
        request: Request[Message],
        version: int = _WITHOUT_A_DETOUR,
    ) -> None:
        """Ask under no ticket: the answer goes nowhere."""
        shard = core.coordinators.shard_of(self.group_id)
        home = core.coordinators.homes[shard.partition]
        if home is not None:
            core.ask(Asked(0, home, 0, name, "/peer", version), request)


def _sync(group: Group, phantom: Phantom) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group.group_id,
        generation_id=group.generation_id,
        member_id=phantom.member_id,
        group_instance_id=phantom.instance_id,
        protocol_type="consumer",
        protocol_name=group.protocol_name,
        assignments=(),
    )


def _partitions(member: Member) -> frozenset[TopicPartition]:
    if not member.assignment:
        return frozenset()
    return frozenset(decode_assignment(member.assignment).partitions)
