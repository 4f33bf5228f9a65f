"""The leader's errand: from the members' subscriptions to the bytes of SyncGroup.

Decides: which metadata the assignment is made from, and what of the work leaves the event loop.
Never: keeps an assignment; the machine says what is remembered of the last one.
KIPs: 429, 814 (a returning static leader only watches the group's topics), 881 (racks).
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Event, Thread
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from kgroup.assignors import (
    Assignor,
    GroupAssignment,
    GroupSubscription,
    Member,
    PartitionRacks,
    SentAssignment,
    TopicsMetadata,
    common_protocol,
    divide,
    encode_group_assignment,
    read_members,
    subscribed_topics,
)
from kgroup.backends.classic.interest import TopicInterest
from kgroup.backends.classic.looking_back import assigned_counts
from kgroup.errors import AssignorError, GroupError, KGroupError
from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.metadata import PartitionInfo
from kgroup.types import RebalanceProtocol
from kgroup.values import dataclass
from kgroup.wire.partition_runs import runs_of

T = TypeVar("T")

_LOOK_AGAIN: Final = 0.05


class OffLoop:
    """A place for one computation at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises, without holding up the loop.

        Cancellation ends the wait at once; `work` goes on and nobody hears what becomes of it.
        """
        # The thread cannot ring: it may end after the loop that started it.
        while self._thread is not None and self._thread.is_alive():  # noqa: ASYNC110
            await anyio.sleep(_LOOK_AGAIN)
        if self._limiter is None:  # of its own: the application may have all other threads at work
            self._limiter = anyio.CapacityLimiter(1)
        results: list[T] = []
        errors: list[BaseException] = []
        ended = Event()

        def working() -> None:
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                errors.append(error)
            self._thread = None
            ended.set()

        self._thread = Thread(target=working, name="kgroup assignor", daemon=True)
        self._thread.start()
        try:
            await anyio.to_thread.run_sync(
                ended.wait, abandon_on_cancel=True, limiter=self._limiter
            )
        finally:
            ended.set()  # a cancelled errand gives back what was lent
        if errors:
            raise errors[0]
        return results[0]


# -- leading ---------------------------------------------------------------------------------------


log = logging.getLogger(__name__)


_MANY_BYTES: Final = 16_384
_MANY_PARTITIONS: Final = 2_000
_MANY_CHOICES: Final = 10_000
"""What costs more than about 5 ms, so that heartbeats and fetching would notice, leaves the loop:
so many bytes of subscriptions (reading 250 members, or 4,000 owned partitions), so many partitions
(describing them), or so many pairs of a member and a partition (a plain assignor looks at each)."""

_NO_RACKS: Final = PartitionRacks()


@dataclass(frozen=True, slots=True)
class _Readings:
    """What the members said.

    Args:
        members: each of them.
        wanted: topics that any of them subscribes to.
        owned: those of them that members own partitions of.
    """

    members: tuple[Member, ...]
    wanted: frozenset[str]
    owned: frozenset[str]


class Leading:
    """Runs assignors for one member.

    Args:
        cluster: for the metadata of all the group's topics.
        interest: learns which topics the group has.
        settings: of the member.
    """

    def __init__(
        self, cluster: Cluster, interest: TopicInterest, settings: MembershipSettings
    ) -> None:
        self._cluster = cluster
        self._interest = interest
        self._settings = settings
        self._off_loop = OffLoop()
        self._present: anyio.CancelScope | None = None
        self._reported: frozenset[tuple[str, str | None]] = frozenset()

    async def run(self, effect: RunAssignor) -> AssignorDone | AssignorFailed:
        """Compute the assignment, bounded by the rebalance timeout; never raises an `Exception`.

        The errand before is given up: no one waits for the result of a round that is over.
        """
        if self._present is not None:
            self._present.cancel()
        with anyio.CancelScope() as present:
            self._present = present
            try:
                with anyio.move_on_after(self._settings.rebalance_timeout):
                    return await self._run(effect)
                return AssignorFailed(effect.ticket, self._endless(effect))
            except Exception as error:  # noqa: BLE001 - an assignor is foreign code: the round fails
                return AssignorFailed(effect.ticket, error)
        return AssignorFailed(effect.ticket, TimeoutError("another round has begun"))

    def _endless(self, effect: RunAssignor) -> AssignorError:
        """Say that a round's time is over; metadata is waited for in a part of it."""
        limit = self._settings.rebalance_timeout
        words = f"was not done after {limit:g} s, which is as long as a round waits"
        return AssignorError(effect.protocol_name, [f"{words} (max_poll_interval)"])

    async def _run(self, effect: RunAssignor) -> AssignorDone:
        if effect.unasked:
            return await (self._look(effect) if effect.follows else self._watch(effect))
        assignor = next(
            each for each in self._settings.assignors if each.name == effect.protocol_name
        )
        protocol = _assumed(assignor)
        many_bytes = sum(len(each.metadata) for each in effect.members) >= _MANY_BYTES
        read = await self._compute(lambda: _read(effect, protocol), many=many_bytes)
        self._report(read.members)
        view = await self._learn(read.wanted, owned=read.owned)
        count = sum(len(view.topics[each].partitions) for each in read.wanted & view.topics.keys())
        many = many_bytes or count >= _MANY_PARTITIONS or count * len(read.members) >= _MANY_CHOICES
        now = self._cluster.ports.wall()
        racks = self._interest.racks
        racks.lead(read.members, read.wanted)
        places = racks.places(view)

        def work() -> tuple[GroupAssignment, dict[str, bytes], SentAssignment | None]:
            topics = _metadata(view, read.wanted)
            group = GroupSubscription(read.members, topics, now, effect.generation_id)
            assignment = divide(assignor, group, protocol)
            encoded = encode_group_assignment(group, assignment)
            sent = None  # eager members hold nothing when they join, so nothing of theirs
            if protocol is RebalanceProtocol.COOPERATIVE:
                sent = SentAssignment.of(
                    effect.generation_id, group.members, encoded, effect.sent, assignment.withheld
                )
            return assignment, encoded, sent

        assignment, encoded, sent = await self._compute(work, many=many)
        return AssignorDone(
            effect.ticket,
            tuple(encoded.items()),
            _watched(view, read.wanted),
            rejoin_after=assignment.rejoin_after,
            sent=sent,
            places=places,
            places_now=racks.places(self._cluster.view),
        )

    async def _compute(self, work: Callable[[], T], *, many: bool) -> T:
        return await self._off_loop.run(work) if many else work()

    def _report(self, members: Iterable[Member]) -> None:
        """Say once of each member that cannot be read what becomes of it."""
        unreadable = [each for each in members if each.unreadable is not None]
        for member in unreadable:
            if (member.member_id, member.unreadable) in self._reported:
                continue
            log.warning(
                "group=%s gives nothing to member=%r instance=%r and holds back its %d partitions; "
                "stop it or upgrade its client: %s",
                self._settings.group_id,
                member.member_id,
                member.group_instance_id,
                len(member.owned),
                member.unreadable,
            )
        self._reported = frozenset((each.member_id, each.unreadable) for each in unreadable)

    async def _look(self, effect: RunAssignor) -> AssignorDone:
        """Find out what was given out, for a follower that may have come back to it."""
        if effect.node_id is None:
            raise GroupError("the coordinator is not known")
        group_id, patience = self._settings.group_id, self._settings.recall_timeout
        counts = await assigned_counts(self._cluster, effect.node_id, group_id, timeout=patience)
        return AssignorDone(effect.ticket, (), counts or {})

    async def _watch(self, effect: RunAssignor) -> AssignorDone:
        """Find out which topics a leader that came back has to watch, and from which counts on."""
        counts: Mapping[str, int] | None = None
        if effect.node_id is not None:
            try:
                counts = await assigned_counts(
                    self._cluster,
                    effect.node_id,
                    self._settings.group_id,
                    timeout=self._patience(),
                )
            except (KGroupError, TimeoutError) as error:
                log.debug("group=%s cannot look back: %s", self._settings.group_id, error)
        if counts is not None:
            await self._learn(frozenset(counts))
            return AssignorDone(effect.ticket, (), counts)
        if not effect.members:
            raise GroupError("the group's topics cannot be known")
        protocol = common_protocol(self._settings.assignors)
        wanted = _read(effect, protocol).wanted
        return AssignorDone(effect.ticket, (), _watched(await self._learn(wanted), wanted))

    async def _learn(
        self, wanted: frozenset[str], *, owned: frozenset[str] = frozenset()
    ) -> ClusterView:
        """Return a view with the group's topics, as far as the cluster can say in time.

        A topic that stays unknown is left out now, and begins a round when it appears.

        Args:
            wanted: topics the group subscribes to.
            owned: those of them that members own partitions of.

        Raises:
            TimeoutError: no broker can say anything about one that is owned. Leaving it out would
                take it from its owners because of this leader's ignorance: another round, then.
        """
        self._interest.lead(wanted)
        lacking = wanted - self._cluster.view.topics.keys()
        lacking |= _vague(self._cluster.view, owned)
        with anyio.move_on_after(self._patience()), suppress(TimeoutError):
            while lacking:
                lacking = _vague(await self._cluster.refresh(self._patience()), owned)
        needed = sorted(lacking & owned)
        if needed:
            raise TimeoutError(f"no metadata of {', '.join(needed[:5])}, which members own")
        return self._cluster.view

    def _patience(self) -> float:
        """Wait for metadata in a part of the time the round has."""
        return min(self._settings.request_timeout, self._settings.rebalance_timeout / 4)


def _assumed(assignor: Assignor) -> RebalanceProtocol:
    """Return what the members are taken to follow: what any of them may, with this assignor.

    1. The leader lists an eager assignor beside the chosen one, and so is eager; 2. another member
    lists the chosen one alone, is cooperative, and joins with what it holds (KIP-429, the second
    restart); 3. what the leader follows itself says nothing about that one.
    """
    cooperates = RebalanceProtocol.COOPERATIVE in assignor.supported_protocols
    return RebalanceProtocol.COOPERATIVE if cooperates else RebalanceProtocol.EAGER


def _read(effect: RunAssignor, protocol: RebalanceProtocol) -> _Readings:
    members = read_members(_joined(effect), protocol, effect.sent)
    wanted = subscribed_topics(members)
    owned = frozenset(topic for member in members for topic, _ in runs_of(member.owned))
    return _Readings(members, wanted, owned & wanted)


def _joined(effect: RunAssignor) -> list[tuple[str, str | None, bytes]]:
    return [
        (each.member_id, each.group_instance_id, bytes(each.metadata)) for each in effect.members
    ]


def _watched(view: ClusterView, wanted: frozenset[str]) -> dict[str, int]:
    """Count partitions; a topic that is not there yet is watched too, as having none."""
    return dict.fromkeys(wanted, 0) | partition_counts(view, wanted)


def _vague(view: ClusterView, topics: frozenset[str]) -> frozenset[str]:
    """Return topics of which the brokers could not say for now which partitions they have."""
    known = topics & view.topics.keys()
    return frozenset(topic for topic in known if view.topics[topic].is_uncertain)


def partition_counts(view: ClusterView, topics: Iterable[str]) -> dict[str, int]:
    """Return topic -> partition count; topics without metadata are left out."""
    return {topic: len(view.topics[topic].partitions) for topic in topics if topic in view.topics}


def _metadata(view: ClusterView, topics: frozenset[str]) -> TopicsMetadata:
    """Describe the topics to the assignor; a topic without metadata is left out.

    Equal racks are one object: a million partitions have few different ones, mostly none at all.
    """
    known = {topic: view.topics[topic].partitions for topic in topics & view.topics.keys()}
    if all(broker.rack is None for broker in view.brokers.values()):
        return {topic: dict.fromkeys(numbers, _NO_RACKS) for topic, numbers in known.items()}
    made: dict[tuple[int | None, tuple[int, ...]], PartitionRacks] = {}

    def racks(partition: PartitionInfo) -> PartitionRacks:
        place = partition.leader, partition.replicas
        found = made.get(place)
        if found is None:
            found = made[place] = PartitionRacks(
                leader=_rack(view, partition.leader),
                replicas=frozenset(
                    rack for node in partition.replicas if (rack := _rack(view, node)) is not None
                ),
            )
        return found

    return {
        topic: {number: racks(partition) for number, partition in numbers.items()}
        for topic, numbers in known.items()
    }


def _rack(view: ClusterView, node_id: int | None) -> str | None:
    broker = None if node_id is None else view.brokers.get(node_id)
    return None if broker is None else broker.rack
