"""A backend that finds out first which protocol the brokers speak: `group_protocol="auto"`.

Decides: which of two backends coordinates the group, once, before anything is sent for it.
Never: coordinates; every call goes to the one that was chosen. Changes its mind.
KIPs: 848.

Until it is chosen nothing is owned: there is nothing to deliver or to commit.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

import anyio
from anyio.abc import TaskStatus

from kgroup.backends.backend import GroupBackend, PulsingBackend, QueueingBackend
from kgroup.codes import ErrorCode
from kgroup.errors import KGroupError, UnsupportedVersionError
from kgroup.net.cluster import Cluster
from kgroup.observe.vitals import Pulse
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    Generation,
    Leave,
    Membership,
    MemberState,
    OffsetAndMetadata,
    OwnershipChange,
    PartitionOutcome,
    Subscription,
    TopicPartition,
)
from kgroup.wire.messages import ConsumerGroupHeartbeatRequest

log = logging.getLogger(__name__)

_NOBODY = "nobody"
_GONE = -1


async def offers_consumer_protocol(cluster: Cluster, group_id: str, *, timeout: float) -> bool:
    """Ask until a broker says whether it speaks KIP-848; the caller bounds the time.

    It is told that a member goes whom nobody knows: a broker that speaks it says so.

    Args:
        cluster: running.
        group_id: name of the group.
        timeout: seconds for one question.
    """
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id, member_id=_NOBODY, member_epoch=_GONE
    )
    while True:
        try:
            answer = await cluster.send_any(request, timeout=timeout)
        except UnsupportedVersionError:
            return False
        except (KGroupError, TimeoutError) as error:
            log.debug("group=%s the brokers' protocols are not known yet: %s", group_id, error)
            await anyio.sleep(cluster.settings.retry_backoff)
        else:
            return answer.error_code != ErrorCode.UNSUPPORTED_VERSION


class ChoosingBackend:
    """One member of a group whose protocol is not known yet; implements `backend.GroupBackend`.

    Args:
        group_id: name of the group.
        choose: finds out which backend it is to be, and makes it.
    """

    def __init__(self, group_id: str, choose: Callable[[], Awaitable[GroupBackend]]) -> None:
        self._group_id = group_id
        self._choose = choose
        self._chosen: GroupBackend | None = None
        self._known = anyio.Event()
        self._wanted: Subscription | None = None
        self._choosing: anyio.CancelScope | None = None
        self._left = False

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Choose, then do that backend's background work until the member has left.

        Raises:
            GroupError: the membership ended for good.
            BrokerError: the coordinator refused for good.
        """
        task_status.started()
        with anyio.CancelScope() as self._choosing:
            if not self._left:
                self._chosen = await self._choose()
        chosen = self._chosen
        self._known.set()
        if chosen is None:
            return  # it left before
        if self._wanted is not None:
            chosen.subscribe(self._wanted)
        await chosen.run(task_status=anyio.TASK_STATUS_IGNORED)

    async def leave(self, mode: Leave, reason: str, *, timeout: float) -> bool:
        """Give everything up and leave; one that is not chosen yet never joined."""
        if self._chosen is not None:
            return await self._chosen.leave(mode, reason, timeout=timeout)
        self._left = True
        if self._choosing is not None:
            self._choosing.cancel()
        return False

    def subscribe(self, subscription: Subscription | None) -> None:
        """Ask for topics or a pattern; None gives everything up."""
        self._wanted = subscription
        if self._chosen is not None:
            self._chosen.subscribe(subscription)

    async def next_change(self) -> OwnershipChange:
        """Wait for the next change; the same one until it is settled. Cancel-safe."""
        return await (await self._backend()).next_change()

    def settled(self, change: OwnershipChange, *, failed: bool = False) -> None:
        """Say that the listener has returned."""
        if self._chosen is not None:
            self._chosen.settled(change, failed=failed)

    def drained(self, claim: Claim) -> None:
        """Say that no record of this claim is in the application's hands any more."""
        if self._chosen is not None:
            self._chosen.drained(claim)

    def taken(self, claim: Claim) -> None:
        """Say that records of this claim are now in the application's hands."""
        if self._chosen is not None:
            self._chosen.taken(claim)

    def note_poll(self) -> None:
        """Say that the application has asked for records."""
        if self._chosen is not None:
            self._chosen.note_poll()

    def may_deliver(self, claim: Claim) -> bool:
        """Tell whether records may be handed out under this claim now."""
        return self._chosen is not None and self._chosen.may_deliver(claim)

    def token(self, claim: Claim) -> Generation | None:
        """Return the identity under which records of this claim are handed out."""
        return None if self._chosen is None else self._chosen.token(claim)

    async def admit(self, claim: Claim, until: int) -> bool:
        """Ask before records below `until` are handed out."""
        return self._chosen is not None and await self._chosen.admit(claim, until)

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        """Commit positions under their claims, in order of submission."""
        return await (await self._backend()).commit(offsets)

    def submit_commit(
        self,
        offsets: Mapping[Claim, OffsetAndMetadata],
        heard: Callable[[CommitOutcome], None],
    ) -> None:
        """Queue positions under their claims; see `backend.QueueingBackend`."""
        chosen: object = self._chosen
        if isinstance(chosen, QueueingBackend):
            chosen.submit_commit(offsets, heard)
            return
        reason = "the member is in no group yet"
        heard(
            CommitOutcome(
                {
                    claim.tp: PartitionOutcome(CommitStatus.REFUSED, offset, None, reason)
                    for claim, offset in offsets.items()
                }
            )
        )

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float, whole: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed positions; None where nothing is committed.

        Raises:
            BrokerError: the coordinator refused.
            TimeoutError: no coordinator answered in time.
        """
        backend = await self._backend()
        return await backend.committed(partitions, timeout=timeout, whole=whole)

    def enforce_rebalance(self, reason: str) -> None:
        """Ask for a new round; before the choice there is none to redo."""
        if self._chosen is not None:
            self._chosen.enforce_rebalance(reason)

    @property
    def takes_partitions(self) -> bool:
        """Whether exact partitions are asked of the group: neither protocol does."""
        return False

    def pulse(self) -> Pulse:
        """Return what the chosen backend can prove of its membership; nothing before the choice."""
        chosen: object = self._chosen
        return chosen.pulse() if isinstance(chosen, PulsingBackend) else Pulse()

    @property
    def trouble(self) -> Exception | None:
        """What is not permitted at present."""
        return None if self._chosen is None else self._chosen.trouble

    @property
    def membership(self) -> Membership:
        """The present snapshot."""
        if self._chosen is not None:
            return self._chosen.membership
        return Membership(self._group_id, self._state())

    async def membership_changed(self, seen: Membership) -> Membership:
        """Wait until the snapshot differs from `seen`; may return earlier, with an equal one."""
        if self._chosen is None and self.membership == seen:
            await self._known.wait()
            return self.membership
        if self._chosen is None:
            return self.membership
        return await self._chosen.membership_changed(seen)

    def _state(self) -> MemberState:
        if self._left:
            return MemberState.LEFT
        return MemberState.UNSUBSCRIBED if self._wanted is None else MemberState.FINDING

    async def _backend(self) -> GroupBackend:
        await self._known.wait()
        while self._chosen is None:  # it left: nothing will come any more
            await anyio.sleep_forever()
        return self._chosen
