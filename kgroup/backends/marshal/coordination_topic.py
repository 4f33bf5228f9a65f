"""The coordination topic as metadata shows it, and whether it still is the one it was.

Decides: that another topic of the same name, another number of partitions, or none at all is the
end: claims are placed by that number, and a member that went on would claim where nobody looks.
Never: believes one answer: a broker that was away for a while tells of what was. The same word
must come three times, with growing pauses.
KIPs: 516 (topic ids).
"""

from typing import Final

import anyio

from kgroup.codes import ApiKey
from kgroup.errors import (
    BrokerError,
    CoordinationTopicError,
    DecodeError,
    TransportError,
)
from kgroup.machine.backoff import Backoff
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.metadata import EMPTY_VIEW, TopicInfo
from kgroup.net.ports import Notifier
from kgroup.net.verdict import refusal
from kgroup.types import TopicPartition

_TIMES: Final = 3
"""So often the same word against the topic must come."""


class CoordinationTopic:
    """Knows the leaders of one topic, and watches that it stays the same.

    Args:
        cluster: connections; not owned.
        name: of the topic.
        look_every: seconds between two looks while nothing is amiss.
    """

    def __init__(self, cluster: Cluster, name: str, *, look_every: float = 30.0) -> None:
        self.name = name
        self.view = EMPTY_VIEW
        """What is known of it and of the brokers; nothing before `begin`."""
        self.news = Notifier()
        """Fired when `view` was replaced."""
        self._cluster = cluster
        self._look_every = look_every
        self._first: TopicInfo | None = None
        self._wake = Notifier()
        self._asked = False
        self._against = 0
        self._last: Exception | None = None

    @property
    def partitions(self) -> int:
        """How many it has, since `begin`; 0 before."""
        return 0 if self._first is None else len(self._first.partitions)

    def tp(self, partition: int) -> TopicPartition:
        """Name one of its partitions."""
        return TopicPartition(self.name, partition)

    def moved(self) -> None:
        """Look again soon: a broker was not the right one."""
        self._asked = True
        self._wake.notify()

    async def begin(self, timeout: float) -> None:
        """Find it.

        Args:
            timeout: seconds.

        Raises:
            CoordinationTopicError: there is none.
            UnauthorizedError, BrokerError: it may not be seen.
            TimeoutError: no broker could tell in time; the text says what stood in the way last.
        """
        dice, backoff = self._cluster.ports.dice_for("look at the log"), self._patience()
        with anyio.move_on_after(timeout):
            while not await self._found():
                backoff = backoff.failed()
                await anyio.sleep(backoff.pause(dice.uniform(0, 1)))
        if self._first is None:
            because = "" if self._last is None else f"; last: {self._last}"
            text = f"coordination topic {self.name!r}: not found within {timeout:g} s{because}"
            raise TimeoutError(text) from self._last

    async def _found(self) -> bool:
        try:
            await self._look()
        except (TransportError, DecodeError, TimeoutError) as error:
            self._last = error
        except BrokerError as error:
            self._last = error
            if not error.retriable:
                raise
        return self._first is not None

    async def watch(self) -> None:
        """Look again and again until cancelled.

        Raises:
            CoordinationTopicError: it is not what it was.
        """
        dice, backoff = self._cluster.ports.dice_for("look at the log"), self._patience()
        while True:
            pause = backoff.pause(dice.uniform(0, 1))
            if pause:
                await anyio.sleep(pause)
            elif not self._asked:
                with anyio.move_on_after(self._look_every):
                    await self._wake.wait()
            self._asked = False
            try:
                await self._look()
            except (TransportError, DecodeError, TimeoutError, BrokerError):
                backoff = backoff.failed()
                continue
            lacking = any(self.view.leader(tp) is None for tp in self._all())
            # After a word against it, and while a leader is missing, the pauses grow.
            backoff = (
                backoff.failed() if lacking or self._against or self._asked else self._patience()
            )

    def _all(self) -> list[TopicPartition]:
        return [self.tp(number) for number in range(self.partitions)]

    def _patience(self) -> Backoff:
        settings = self._cluster.settings
        return Backoff(settings.retry_backoff, settings.retry_backoff_max)

    async def _look(self) -> None:
        timeout = self._cluster.settings.request_timeout
        view = await self._cluster.look_up(frozenset({self.name}), timeout=timeout)
        found = view.topics.get(self.name)
        if found is None or found.is_uncertain:
            return
        if found.is_refused:
            raise refusal(ApiKey.METADATA, found.error, (self.name,))
        fault = self._fault(found)
        if fault is None:
            self._against = 0
            self._first = self._first or found
            self.view = self._newest(view)
            self.news.notify()
            return
        self._against += 1
        if self._against >= _TIMES:
            raise CoordinationTopicError(self.name, fault)

    def _fault(self, found: TopicInfo) -> str | None:
        """Say what is wrong with it, None when it can be used."""
        first = self._first
        if found.is_gone or not found.partitions:
            if first is None:
                return "there is none; `kgroup marshal init` makes it"
            return "it was deleted; all members must stop before it is made anew"
        if first is None:
            return None
        if None not in (first.topic_id, found.topic_id) and first.topic_id != found.topic_id:
            return "it was deleted and made anew; all members must start again"
        if len(found.partitions) != len(first.partitions):
            return (
                f"it has {len(found.partitions)} partitions and had {len(first.partitions)} when "
                "this member started; claims are placed by that number, so all members must stop "
                "and start again"
            )
        return None

    def _newest(self, view: ClusterView) -> ClusterView:
        """Keep what is known while a broker that is behind tells of an older leader (KIP-320)."""
        pairs = ((self.view.leader_epoch(tp), view.leader_epoch(tp)) for tp in self._all())
        behind = any(old is not None and new is not None and new < old for old, new in pairs)
        return self.view if behind else view
