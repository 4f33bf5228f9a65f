"""Reads the coordination partitions of a group's topics, each to its end and on.

Decides: which partitions are read, from which broker and when; that what was read is lost when
the log is not what it was: overtaken by retention, cut off by an unclean election, made anew.
Never: judges what a record does; shares a connection with the application's records. A partition
that fails waits by itself, with growing pauses.
KIPs: 101 and 320 (truncation), 516 (topic ids), 951 (new leaders named at once).

How a log that lost its tail is noticed: 1. records up to 20 are read; 2. the leader dies, and a
replica that only has 10 is elected; 3. others write 10 more. A fetch at 20 finds nothing wrong. So
it names the epoch of what was read last, and before anything is fetched under another leader that
leader is asked where this epoch ends in its log.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kgroup.backends.marshal.coordination_topic import CoordinationTopic
from kgroup.backends.marshal.followed_log import FollowedLog, LogEvent, Stage
from kgroup.backends.marshal.log_fetch import (
    LogFetch,
    LogQuestion,
    LogQuestions,
    ReaderSettings,
    cut_off,
    fetch_log,
    says_something,
)
from kgroup.backends.marshal.recalling import Recalling
from kgroup.codes import ApiKey, error_name
from kgroup.errors import (
    BrokerError,
    KGroupError,
    ProtocolError,
    TransportError,
)
from kgroup.machine.backoff import Backoff
from kgroup.machine.reactions import Reaction, reaction
from kgroup.marshal.plan import coordination_partition
from kgroup.marshal.view import DAMAGED, LogView
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Notifier
from kgroup.net.retrying import Leadership, learn_leader
from kgroup.net.verdict import refusal
from kgroup.types import TopicPartition
from kgroup.wire.messages import PartitionData

__all__ = ["LogReader", "ReaderSettings"]

log = logging.getLogger(__name__)

_LOOK_AGAIN: Final = 30.0
_SHORT_WAIT: Final = 0.02


class LogReader:
    """Reads on for as long as it runs.

    Args:
        settings: as above.
        cluster: connections, clock; not owned.
        tell: hears what is read; called between two awaits, must not block.
    """

    def __init__(
        self, settings: ReaderSettings, cluster: Cluster, tell: Callable[[LogEvent], None]
    ) -> None:
        # Short intervals are for claims that move soon, by whatever number of partitions there is.
        look_every = min(settings.interval / 2, _LOOK_AGAIN)
        self.topic = CoordinationTopic(cluster, settings.topic, look_every=look_every)
        self._settings = settings
        self._cluster = cluster
        self._tell = tell
        self._topics: frozenset[str] = frozenset()
        self._logs: dict[int, FollowedLog] = {}
        self._busy: set[int] = set()
        self._failures: dict[int, Backoff] = {}
        self._questions = LogQuestions(cluster, self.topic)
        self._recalling = Recalling(cluster, self._questions, settings.compat)
        self._work = Notifier()
        self._fatal: KGroupError | None = None

    # -- what is wanted, and what there is -------------------------------------------------

    def follow(self, topics: frozenset[str]) -> None:
        """Read the partitions that these topics hash to, and no others."""
        self._topics = topics
        if self.topic.partitions:
            self._place()
        self._work.notify()

    def partition_of(self, topic: str) -> int | None:
        """Return the coordination partition of a topic; None before their number is known."""
        count = self.topic.partitions
        return coordination_partition(topic, count) if count else None

    async def recall(self, tp: TopicPartition, timeout: float) -> int | None:
        """Return the position that a key had before what was read of its log, None without one.

        Args:
            tp: the key; its topic is followed.
            timeout: seconds.

        Raises:
            KGroupError: the log may not be read.
            TimeoutError: not in time, or nobody reads it at present; what was read is kept.
        """
        number = self.partition_of(tp.topic)
        followed = None if number is None else self._logs.get(number)
        if followed is None:
            raise TimeoutError(f"{tp}: its coordination partition is not read")
        return await self._recalling.position(followed, tp, timeout)

    def expect(self, *, append_time: bool | None) -> None:
        """Read by the broker's time, or the senders', from the start; None: not known.

        Before `run`: records correct it later, for which the log is read a second time.
        """
        if append_time is not None:
            self._settings = replace(self._settings, append_time=append_time)

    @property
    def views(self) -> Mapping[int, LogView]:
        """What is known of each partition that was read to its end."""
        open_ = (each for each in self._logs.values() if each.stage is Stage.OPEN)
        return {each.tp.partition: each.view for each in open_ if each.view is not None}

    @property
    def is_caught_up(self) -> bool:
        """Whether all that was there when it was last asked for has been read."""
        return all(each.is_caught_up for each in self._logs.values())

    @property
    def rejects(self) -> Mapping[str, int]:
        """How many records were no messages, by reason; batches that could not be read at all."""
        found = Counter[str]()
        for each in self._logs.values():
            found.update(each.rejects())
            if each.damaged:
                found[DAMAGED] += each.damaged
        return found

    # -- life ------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Read until cancelled.

        Raises:
            CoordinationTopicError: the topic is missing, or is not what it was.
            BrokerError: it may not be read.
            TimeoutError: it was not found in time.
        """
        await self.topic.begin(self._cluster.settings.request_timeout)
        self._place()
        task_status.started()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            tasks.start_soon(self._hear_news)
            tasks.start_soon(self._recalling.run)
            while self._fatal is None:
                # One instant for both: what is not due in the look must count in the wait.
                now = self._cluster.ports.clock()
                self._start_due(tasks, now)
                with anyio.move_on_after(self._until_next(now)):
                    await self._work.wait()
            tasks.cancel_scope.cancel()
        if self._fatal is not None:
            raise self._fatal

    async def _watch(self) -> None:
        try:
            await self.topic.watch()
        except KGroupError as error:
            self._fail_all(error)

    def _fail_all(self, error: KGroupError) -> None:
        self._fatal = error
        self._work.notify()

    async def _hear_news(self) -> None:
        while True:
            with anyio.move_on_after(_LOOK_AGAIN):
                await self.topic.news.wait()
            self._work.notify()

    def _place(self) -> None:
        """Begin with partitions that are wanted now, and leave those that are not any more."""
        wanted: dict[int, set[str]] = {}
        for topic in self._topics:
            wanted.setdefault(coordination_partition(topic, self.topic.partitions), set()).add(
                topic
            )
        for number in self._logs.keys() - wanted.keys():
            self._logs.pop(number).leave()
        for number, topics in wanted.items():
            known = self._logs.get(number)
            if known is None:
                known = self._logs[number] = self._new_log(number)
                known.topics = frozenset(topics)
            elif known.topics != topics:
                known.again(frozenset(topics), self._cluster.ports.clock())

    def _new_log(self, partition: int) -> FollowedLog:
        settings, net = self._settings, self._cluster.settings
        return FollowedLog(
            self.topic.tp(partition),
            settings.group_id,
            settings.compat,
            self._tell,
            Backoff(net.retry_backoff, net.retry_backoff_max),
            append_time=settings.append_time,
            whole=settings.whole,
            wall=self._cluster.ports.wall if settings.writes else None,
        )

    # -- which broker to ask ---------------------------------------------------------------

    def _until_next(self, now: float) -> float:
        pauses = (each.retry_at - now for each in self._logs.values() if not each.busy)
        return min((pause for pause in pauses if pause > 0), default=_LOOK_AGAIN)

    def _start_due(self, tasks: TaskGroup, now: float) -> None:
        by_node: dict[int, list[FollowedLog]] = {}
        for each in self._logs.values():
            if each.busy or each.retry_at > now:
                continue
            leader = self.topic.view.leader(each.tp)
            if leader is None:
                self._put_off(each, "nobody leads it")
                self.topic.moved()
            elif each.stage is Stage.SEEKING:
                each.busy = True
                tasks.start_soon(self._seek, each)
            elif self._is_doubtful(each):
                each.busy = True
                tasks.start_soon(self._validate, each, leader)
            elif leader not in self._busy:
                by_node.setdefault(leader, []).append(each)
        for node_id, logs in by_node.items():
            self._busy.add(node_id)
            for each in logs:
                each.busy = True
            tasks.start_soon(self._serve, node_id, logs, self._max_wait(node_id, logs, now))

    def _max_wait(self, node_id: int, logs: list[FollowedLog], now: float) -> float:
        """Return how long a broker may wait: not long if more of it is about to be asked for."""
        rest = (each for each in self._logs.values() if each not in logs and each.retry_at <= now)
        leader = self.topic.view.leader
        late = any(each.stage is not Stage.OPEN or leader(each.tp) == node_id for each in rest)
        return min(_SHORT_WAIT, self._settings.max_wait) if late else self._settings.max_wait

    def _is_doubtful(self, each: FollowedLog) -> bool:
        """Tell whether another leader than before must confirm the position first."""
        epoch = self.topic.view.leader_epoch(each.tp)
        if each.read_epoch is None or epoch is None:
            each.under = epoch
        return each.under != epoch

    def _put_off(self, each: FollowedLog, why: str) -> None:
        each.backoff = each.backoff.failed()
        ports = self._cluster.ports
        pause = each.backoff.pause(ports.dice_for(f"log {each.tp}").uniform(0, 1))
        each.retry_at = ports.clock() + pause
        log.debug("coordination partition=%s put off: %s", each.tp, why)

    def _free(self, each: FollowedLog) -> None:
        each.busy = False
        self._work.notify()

    async def _seek(self, each: FollowedLog) -> None:
        """Find out where to begin."""
        try:
            await self._questions.begin(each, self._settings.interval)
            if each.position >= each.end:
                each.caught_up(self._cluster.ports.clock())
        except (TransportError, ProtocolError, TimeoutError) as error:
            self._put_off(each, str(error))
        except KGroupError as error:
            if isinstance(error, BrokerError) and error.retriable:
                self._put_off(each, str(error))
            else:
                self._fail_all(error)
        finally:
            self._free(each)

    async def _validate(self, each: FollowedLog, node_id: int) -> None:
        """Ask a new leader whether its log still holds what was read."""
        try:
            lost = await self._questions.confirm(each, node_id)
        except (TransportError, ProtocolError, TimeoutError) as error:
            self.topic.moved()
            self._put_off(each, str(error))
        except KGroupError as error:
            self._fail_all(error)
        else:
            if lost is not None:
                self._lose(each, lost)
        finally:
            self._free(each)

    def _lose(self, each: FollowedLog, reason: str) -> None:
        log.warning("coordination partition=%s %s; it is read anew", each.tp, reason)
        each.lose(reason)
        self._put_off(each, reason)

    # -- reading ---------------------------------------------------------------------------

    async def _serve(self, node_id: int, logs: list[FollowedLog], max_wait: float) -> None:
        net = self._cluster.settings
        failed = self._failures.get(node_id) or Backoff(net.retry_backoff, net.retry_backoff_max)
        try:
            await self._fetch(node_id, logs, max_wait)
            self._failures.pop(node_id, None)
        except (TransportError, ProtocolError, TimeoutError) as error:
            log.debug("reading claims from node=%d failed: %s", node_id, error)
            self._failures[node_id] = failed.failed()
            self.topic.moved()
            dice = self._cluster.ports.dice_for(f"logs of {node_id}")
            await anyio.sleep(self._failures[node_id].pause(dice.uniform(0, 1)))
        except KGroupError as error:
            self._fail_all(error)
        finally:
            self._busy.discard(node_id)
            for each in logs:
                self._free(each)

    async def _fetch(self, node_id: int, logs: list[FollowedLog], max_wait: float) -> None:
        view, settings = self.topic.view, self._settings
        fetch = LogFetch(settings.topic, list(self._asked(logs)), max_wait, settings.max_bytes)
        sent_at = self._cluster.ports.clock()
        timeout = self._cluster.settings.request_timeout
        code, found = await fetch_log(self._cluster, node_id, view, fetch, timeout=timeout)
        if code:
            raise TransportError(f"FETCH: {error_name(code)}")
        is_empty = not any(says_something(data) for data in found.values())
        waited = self._cluster.ports.clock() - sent_at >= max_wait / 2
        if is_empty and not waited and not _ends(logs, found):
            raise ProtocolError("it answered without waiting, with nothing of what was asked")
        for each in logs:
            data = found.get(each.tp.partition)
            if data is not None and not each.dropped:
                await self._take(each, data, view.leader_epoch(each.tp), nothing=is_empty)

    def _asked(self, logs: list[FollowedLog]) -> Iterator[LogQuestion]:
        # A broker fills its answer in this order: the log that came last is first.
        for each in sorted(logs, key=lambda each: each.reported_at):
            epoch = self.topic.view.leader_epoch(each.tp)
            yield LogQuestion(each.tp.partition, each.position, epoch, each.read_epoch)

    async def _take(
        self, each: FollowedLog, data: PartitionData, leader_epoch: int | None, *, nothing: bool
    ) -> None:
        now = self._cluster.ports.clock()
        diverging = data.diverging_epoch
        if data.error_code:
            await self._fail(each, data)
        elif diverging.end_offset >= 0 or diverging.epoch >= 0:
            self._lose(each, cut_off(each.position, max(diverging.end_offset, 0)))
        elif not await each.take(data, leader_epoch, now):
            self._put_off(each, "a batch is damaged")
        else:
            each.backoff = each.backoff.reset()
            if each.position >= each.end or nothing:
                each.caught_up(now)
            if each.is_caught_up and now - each.reported_at >= self._settings.sign_interval:
                each.quiet(now)

    async def _fail(self, each: FollowedLog, data: PartitionData) -> None:
        code = data.error_code
        match reaction(ApiKey.FETCH, code):
            case Reaction.OUT_OF_RANGE:
                self._lose(each, await self._questions.why_out_of_range(each))
            case Reaction.REFRESH:
                named = data.current_leader
                leadership = Leadership(named.leader_id, named.leader_epoch)
                learn_leader(self._cluster, each.tp, leadership)
                self.topic.moved()
                self._put_off(each, error_name(code))
            case Reaction.CORRUPT if each.meets_damage():
                pass
            case Reaction.RETRY | Reaction.CORRUPT:
                self._put_off(each, error_name(code))
            case _:
                raise refusal(ApiKey.FETCH, code, (self._settings.topic,))


def _ends(logs: list[FollowedLog], found: Mapping[int, PartitionData]) -> bool:
    """Tell whether an empty answer says of something that it was read to its end."""
    return any(each.stage is Stage.CATCHING_UP and each.tp.partition in found for each in logs)
