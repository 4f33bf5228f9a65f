"""What a program may ask of a Marshal group from outside: the verbs of `kgroup marshal`.

Decides: that each call stands for itself: it connects, reads the log of claims, does its work,
reads that back, and is gone. Nothing of it lasts, but what it wrote.
Never: is a member; holds logic of its own: the rooms beside this one do.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar, Unpack

import anyio

from kgroup.admin.marshal.claim_log import ClaimLog, claim_log
from kgroup.admin.marshal.group_pause import Say
from kgroup.admin.marshal.pauses import (
    held,
    pause_group,
    release_keys,
    resume,
)
from kgroup.admin.marshal.positions import (
    Asked,
    positions_now,
    set_positions,
)
from kgroup.admin.marshal.settings import (
    AdminSettings,
    admin_name,
    check_kept_pause,
    set_up,
)
from kgroup.admin.marshal.watching import (
    GroupChange,
    GroupChanges,
    Watching,
)
from kgroup.backends.coordinator_search import refusing
from kgroup.config import ConsumerConfig, ConsumerOptions
from kgroup.errors import ArgumentError, IllegalStateError
from kgroup.marshal.admin import KeyMove, Stage
from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_ports
from kgroup.types import TopicPartition

T = TypeVar("T")


class MarshalAdmin:
    """Looks at a Marshal group, pauses it and sets its positions, whether or not members run.

        admin = MarshalAdmin(config)
        await admin.pause(600)
        left = await admin.set_positions({TopicPartition("orders", 0): 40})
        await admin.resume()

    Each call reads back what it wrote. When it is interrupted, each position is set, unchanged, or
    reported. A call takes as long as reading the log takes, and a second or two. One object makes
    one change at a time, and refuses a second one at once. Only `resume` may be called while
    `pause` renews a pause.

    Args:
        config: options, None for the defaults; those about brokers, the group and the coordination
            topic count.
        name: of the caller, as the log has it. A pause binds everybody else; a later call under it
            goes on with what an earlier one left. Administrators that work at the same time
            need different names; None for a new one.
        timeout: seconds for each question, and for what was written to be read back.
        say: hears of progress, a line at a time.
        options: set single options on top of `config`; see `ConsumerConfig`.

    Raises:
        ConfigError: an option is not known, or its value cannot be used.
        ArgumentError: `name` or `timeout` cannot be used.
    """

    def __init__(
        self,
        config: ConsumerConfig | None = None,
        *,
        name: str | None = None,
        timeout: float = 10.0,
        say: Say = lambda _: None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        if not timeout > 0:
            raise ArgumentError("timeout", timeout, "seconds above 0")
        self._config = ConsumerConfig.of(options, config)
        topic = self._config.coordination_topic
        who = "kgroup-admin" if name is None else name
        self._settings = AdminSettings(self._config.group(), who, topic, timeout)
        self._has_name = name is not None
        self._say = say
        self._at_work: str | None = None
        self._ending = 0  # calls of `resume` beside `pause`

    # -- the log of claims -----------------------------------------------------------------

    async def init(self, partitions: int = 16) -> tuple[str, ...]:
        """Make the coordination topic unless it is there.

        Args:
            partitions: of a new topic; to change it later all members must stop.

        Returns:
            Warnings about the topic, in words; empty when it is fit.

        Raises:
            ArgumentError: `partitions` is below 1.
            CoordinationTopicError: the topic is there, and compacted.
            BrokerError: it may not be made, or not be seen.
            NoBrokerError, TimeoutError: not made, or not seen, in time.
        """
        async with refusing():
            if partitions < 1:
                raise ArgumentError("partitions", partitions, "1 or more")
        settings = self._settings
        work = partial(set_up, name=settings.topic, partitions=partitions, timeout=settings.timeout)
        check = (await self._connected(work)).check
        return () if check is None else tuple(each.text for each in check.warnings)

    async def owners(self, topics: Collection[str] | None = None) -> Mapping[TopicPartition, str]:
        """Return which client owns which partitions now, as the log says.

        Args:
            topics: only their partitions; None for all.

        Returns:
            Partition -> client id and instance id, a slash between.

        Raises:
            KGroupError, TimeoutError: the log cannot be read.
        """

        async def look(place: ClaimLog) -> dict[TopicPartition, str]:
            return {
                each.tp: f"{each.client_id}/{each.instance_id}"
                for each in held(place, None, _places(place, topics))
                if topics is None or each.tp.topic in topics
            }

        return MappingProxyType(await self._at_the_log(look))

    @asynccontextmanager
    async def watch(self, topics: Collection[str] | None = None) -> AsyncIterator[GroupChanges]:
        """Iterate over claims, takeovers, releases and pauses as they are read.

            async with admin.watch() as changes:
                async for change in changes:
                    print(change.kind, change.tp, change.client)

        What happened before is left out. Changes wait until you take them.

        Args:
            topics: only their partitions, and the pauses that reach them; None for all.

        Returns:
            An iterator without an end; it raises KGroupError or TimeoutError when the log cannot be
            read any more.

        Raises:
            KGroupError, TimeoutError: the log cannot be read.
        """
        names = None if topics is None else frozenset(topics)
        waiting: deque[GroupChange] = deque()
        hear = Watching(names, waiting.append).hear
        async with (
            self._cluster() as cluster,
            claim_log(cluster, self._settings, names, hear) as place,
        ):
            yield GroupChanges(place, waiting)

    # -- pauses ----------------------------------------------------------------------------

    async def pause(self, seconds: float, topics: Collection[str] | None = None) -> None:
        """Pause the group: its members let go of all partitions, and nobody claims any.

        It replaces any earlier pause, also one of another administrator.
        A pause of more than 3,000 s is renewed, and this call returns when less than that is left.
        If you cancel it earlier, the pause ends by itself.

        Args:
            seconds: how long, 1 to 604,800.
            topics: only these, and all that share a partition of the log with them; None for
                all.

        Raises:
            ArgumentError: `seconds` is out of bounds.
            GroupError: a member of the original library is alive; or somebody ended or replaced
                the pause while it began or was renewed: then it is over everywhere.
            KGroupError, TimeoutError: it was not written, or not read back, everywhere. It is then
                ended where it was, or `say` hears that this is unknown.
            IllegalStateError: another call of this object is at work for the group.
        """
        async with refusing():
            check_kept_pause(seconds)
        await self._alone(
            "pause", lambda place: pause_group(place, _places(place, topics), seconds, self._say)
        )

    async def resume(self, topics: Collection[str] | None = None) -> bool:
        """End the pause of the group, also one of another administrator; False without a pause.

        A pause that is only beginning ends everywhere; one not seen yet goes on everywhere.

        Raises:
            GroupError: a member of the original library is alive, or the group is paused again and
                again.
            KGroupError, TimeoutError: it was not written, or not read back, everywhere.
            IllegalStateError: another call of this object than `pause` is at work for the group.
        """

        async def work(place: ClaimLog) -> tuple[int, ...]:
            return await resume(place, _places(place, topics))

        if self._at_work != "pause":
            return bool(await self._alone("resume", work))
        # Which gives up then, as when anybody else ends its pause; this may outlast it.
        self._ending += 1
        try:
            return bool(await self._at_the_log(work))
        finally:
            self._ending -= 1

    async def release(
        self, topics: Collection[str] | None = None, *, patience: float = 150.0
    ) -> Mapping[TopicPartition, str]:
        """Have all members let go of their partitions, by a short pause; then they claim again.

        Args:
            topics: the topics whose partitions are waited for; None for all.
            patience: seconds to wait for members.

        Returns:
            Partition -> the client that has not let go, as in `owners`; empty when all have.

        Raises:
            GroupError: a member of the original library is alive, or another administrator is at
                work, who may have ended the pause, too.
            KGroupError, TimeoutError: the pause was not written, or not read back.
            IllegalStateError: another call of this object is at work for the group.
        """
        names = None if topics is None else frozenset(topics)
        left = await self._alone(
            "release",
            lambda place: release_keys(place, _places(place, topics), names, patience, self._say),
        )
        return MappingProxyType({each.tp: f"{each.client_id}/{each.instance_id}" for each in left})

    # -- positions -------------------------------------------------------------------------

    async def positions(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """Return where the group would go on with partitions: by the log, else as committed.

        Args:
            partitions: the ones to look up.

        Returns:
            Partition -> next offset to read, None where there is none.

        Raises:
            KGroupError, TimeoutError: the log or the coordinator did not answer in time.
        """
        found = await self._at_the_log(lambda place: positions_now(place, frozenset(partitions)))
        return MappingProxyType(found)

    async def set_positions(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        pause: float = 60.0,
        patience: float = 300.0,
    ) -> Mapping[TopicPartition, str]:
        """Set positions: the group is paused, the partitions claimed, committed and released.

        Args:
            offsets: partition -> next offset to read; its log must have it.
            pause: of the group, seconds; renewed while it is needed.
            patience: seconds to wait for members to let go.

        Returns:
            Partition -> why it is not set; empty when all are. Doing it again is harmless.

        Raises:
            ArgumentError, BrokerError, GroupError, TimeoutError: something prevents it;
                nothing was changed.
            IllegalStateError: another call of this object is at work for the group.
        """
        async with refusing():
            asked = Asked(pause, patience)

        async def work(place: ClaimLog) -> tuple[KeyMove, ...]:
            return await set_positions(place, dict(offsets), asked, self._say)

        moves = await self._alone("set_positions", work)
        left = (move for move in moves if move.stage is not Stage.SET)
        return MappingProxyType({move.tp: move.reason or move.stage.value for move in left})

    # -- each call by itself ---------------------------------------------------------------

    async def _alone(self, verb: str, work: Callable[[ClaimLog], Awaitable[T]]) -> T:
        """Work at the log unless another call of this object writes for the group.

        1. `set_positions` has paused the group, and works; 2. `resume` of the same name ends that
        pause; 3. what was asked for first takes what members claim now for what it left behind.
        Or 1. `resume` is about to end the pause of `pause`; 2. that one is cancelled; 3. the next
        call pauses the group; 4. the end of the first pause is read behind the second one.
        """
        async with refusing():
            other = self._at_work or ("resume" if self._ending else None)
            if other is not None:
                what = f"{verb}() while {other}() of this MarshalAdmin is at work"
                raise IllegalStateError(f"{what}: wait until that has returned, or cancel it")
        self._at_work = verb
        try:
            return await self._at_the_log(work)
        finally:
            self._at_work = None

    async def _at_the_log(self, work: Callable[[ClaimLog], Awaitable[T]]) -> T:
        async def sit(cluster: Cluster) -> T:
            if not self._has_name:
                name = admin_name(cluster.ports.dice)
                self._settings, self._has_name = replace(self._settings, client_id=name), True
            # All of it is read: a member of the original library may be about in any group.
            async with claim_log(cluster, self._settings) as place:
                return await work(place)

        return await self._connected(sit)

    async def _connected(self, work: Callable[[Cluster], Awaitable[T]]) -> T:
        async with self._cluster() as cluster:
            return await work(cluster)

    @asynccontextmanager
    async def _cluster(self) -> AsyncIterator[Cluster]:
        """Connect for one block; an error comes out as it is."""
        config = self._config
        cluster = Cluster(config.net(), config.ports or system_ports())
        try:
            async with anyio.create_task_group() as tasks:
                await tasks.start(cluster.run)
                await cluster.bootstrap(config.patience)
                yield cluster
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise _alone(group) from None


def _places(place: ClaimLog, topics: Collection[str] | None) -> tuple[int, ...]:
    return place.places(None if topics is None else frozenset(topics))


def _alone(error: BaseException) -> BaseException:
    """Return the error inside groups of one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
