"""What is committed, of any partition: the log of claims, else the group coordinator.

Decides: that no position of a subscribed topic is given before its log was read: it counts more.
Never: commits; reads a log of its own.
"""

from collections.abc import Collection, Mapping

import anyio

from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.marshal.effects import MarshalConductor
from kgroup.backends.offset_reading import Asker, read_committed_offsets
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.rules import Compat
from kgroup.net.cluster import Cluster
from kgroup.offsets.reset import ResetRule
from kgroup.types import IsolationLevel, OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass


class Positions:
    """Answers what is committed.

    Args:
        conductor: has the member, which knows what the log says.
        cluster: connections and clock; not owned.
        group_id: the group whose positions are read.
        search: knows the coordinator.
    """

    def __init__(
        self,
        conductor: MarshalConductor,
        cluster: Cluster,
        group_id: str,
        search: CoordinatorSearch,
    ) -> None:
        self._conductor = conductor
        self._cluster = cluster
        self._group_id = group_id
        self._search = search

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float, whole: bool
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return the positions of the log; where it knows none, those of the group coordinator.

        Raises:
            BrokerError: the coordinator refused.
            TimeoutError: the log was not read, or no coordinator answered, in time.
        """
        clock = self._cluster.ports.clock
        deadline = clock() + timeout
        await self._log_read({tp.topic for tp in partitions}, timeout)
        member = self._conductor.member
        known = {tp: _logged(member, tp) for tp in partitions}
        found: dict[TopicPartition, OffsetAndMetadata | None] = {
            tp: OffsetAndMetadata(offset) for tp, offset in known.items() if offset is not None
        }
        rest = tuple(sorted(tp for tp in partitions if tp not in found))
        if rest:
            asked = read_committed_offsets(
                self._cluster,
                Asker(self._group_id),
                rest,
                self._search.asker(),
                whole=whole,
                timeout=max(deadline - clock(), 0.0),
            )
            found.update(await asked)
        return found

    async def _log_read(self, topics: Collection[str], timeout: float) -> None:
        """Wait until what the log says of topics is known, of those that are followed."""
        with anyio.move_on_after(timeout):
            while self._unread(topics):
                await self._conductor.moved()
            return
        names = ", ".join(sorted(self._unread(topics)))
        what = f"the claims of group {self._group_id!r} on {names} were not read"
        raise TimeoutError(f"{what} within {timeout:g} s: is the coordination topic available?")

    def _unread(self, topics: Collection[str]) -> frozenset[str]:
        if self._conductor.finished or self._conductor.failure is not None:
            return frozenset()
        member = self._conductor.member
        return (frozenset(topics) & member.wishes.of_topics()) - member.read_topics()


def _logged(member: MarshalMember, tp: TopicPartition) -> int | None:
    life = member.lives.get(tp)
    if life is not None and life.logged is not None:
        return life.logged
    return member.standing(tp).offset


# -- place -----------------------------------------------------------------------------------------
#
# Where a Marshal group coordinates, and what surrounds it.
#
# Decides: names and units; the values are the consumer's options.
# Never: stands with the settings of the member: that one knows of no brokers.


@dataclass(frozen=True, slots=True)
class MarshalPlace:
    """Where a group coordinates, and what surrounds it; times in seconds.

    Args:
        topic: name of the coordination topic.
        compat: how members of the original library are treated.
        reset_policy: where to begin when nobody knows a position.
        isolation: whether a log ends at its last stable offset.
        exclude_internal_topics: whether a pattern leaves out topics of the brokers.
        timeout: for requests.
        retry_backoff: pause between two tries.
    """

    topic: str
    compat: Compat
    reset_policy: ResetRule
    isolation: IsolationLevel
    exclude_internal_topics: bool
    timeout: float
    retry_backoff: float
