"""An administrator's place at the log of claims: reads it, writes to it, reads back.

Decides: what counts as written: what was read back. A batch of which nobody knows whether it was
stored is looked for by the nonces of its messages until the time is up.
Never: decides what is written; compresses; writes a key or a transaction.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import anyio

from kgroup.admin.marshal.settings import AdminSettings
from kgroup.backends.marshal.clock_check import BrokerClock
from kgroup.backends.marshal.followed_log import LogEvent
from kgroup.backends.marshal.log_fetch import WRITE_LANE
from kgroup.backends.marshal.log_reader import LogReader, ReaderSettings
from kgroup.backends.marshal.topic_check import TopicCheck, check_topic
from kgroup.errors import KGroupError
from kgroup.marshal.admin import Draft
from kgroup.marshal.events import KeyRead, LogLost, LogOpened, LogRead
from kgroup.marshal.key_state import Key, Pause
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.marshal.standing import standing_of
from kgroup.marshal.survey import free_at, names_everywhere
from kgroup.marshal.world import World
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import OffsetSpec, list_offsets
from kgroup.net.ports import Notifier
from kgroup.net.producer import Delivered, Producer, ProducerSettings
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord

_MS: Final = 1000
_LOOK_AGAIN: Final = 1.0


class Line(NamedTuple):
    """One message about a key."""

    tp: TopicPartition
    draft: Draft


class WrittenPause(NamedTuple):
    """A pause, or the end of one, that was read back.

    Args:
        until: log time until which it lasts at least, milliseconds.
        offset: where it stands; when that is not known, the last one that was read then.
    """

    until: int
    offset: int


class ClaimLog:
    """One administrator at the log of claims; made by `claim_log`.

    Args:
        cluster: running; not owned.
        settings: the administrator, the group, and the coordination topic.
        check: what the coordination topic was found to be.
        hear: called with everything that is read, between two awaits; None for nobody.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: AdminSettings,
        check: TopicCheck,
        hear: Callable[[LogEvent], None] | None = None,
    ) -> None:
        self.cluster = cluster
        self.settings = settings
        self.check = check
        reading = ReaderSettings(
            settings.group_id,
            settings.topic,
            append_time=check.append_time is not False,
            whole=settings.whole,
        )
        self.reader = LogReader(reading, cluster, self._tell)
        self._hear = hear
        self._producer = Producer(cluster, ProducerSettings(lane=WRITE_LANE))
        self._clock = BrokerClock(cluster)
        self._instance = f"{cluster.ports.dice.getrandbits(32):08x}"
        self._started = int(cluster.ports.wall() * _MS)
        self._opened: dict[int, LogOpened] = {}
        self._upto: dict[int, int] = {}  # next offset to read, by partition
        self._heard: dict[bytes, KeyRead] = {}
        self._tickets = 0
        self._news = Notifier()
        self._error: Exception | None = None

    # -- reading ---------------------------------------------------------------------------

    async def run(self) -> None:
        """Read until cancelled; a failure is raised in every task that waits."""
        try:
            await self.reader.run()
        except (KGroupError, TimeoutError) as error:
            self._error = error
            self._news.notify()

    def _tell(self, event: LogEvent) -> None:
        match event:
            case LogOpened():
                self._opened[event.partition] = event
                self._upto[event.partition] = event.next_offset
            case LogLost():
                self._opened.pop(event.partition, None)
            case LogRead():
                self._upto[event.partition] = event.next_offset
                for read in event.reads:
                    if read.nonce is not None and self._is_mine(read):
                        self._heard[read.nonce] = read
        if self._hear is not None:
            self._hear(event)
        self._news.notify()

    def _is_mine(self, read: KeyRead) -> bool:
        return (read.client_id, read.instance_id) == (self.who, self._instance.encode())

    @property
    def who(self) -> bytes:
        """The client id of this administrator, as in the log."""
        return self.settings.client_id.encode()

    @property
    def time(self) -> int:
        """A log time that no message written from now on comes before, milliseconds.

        So far as clocks are right: where they are not, a claim is refused, and made again.
        """
        return self._clock.message_time() * _MS

    @property
    def partitions(self) -> tuple[int, ...]:
        """The coordination partitions that were read to their ends."""
        return tuple(sorted(self._opened.keys() & self.reader.views.keys()))

    def world(self, number: int) -> World:
        """Return what is known of a coordination partition.

        Raises:
            TimeoutError: it is being read anew.
        """
        view = self.reader.views.get(number)
        if view is None:
            raise TimeoutError(f"{self.settings.topic}-{number} is being read anew; try again")
        return view.world

    def places(self, topics: frozenset[str] | None) -> tuple[int, ...]:
        """Return the coordination partitions of topics, in order; all for None."""
        return self.partitions if topics is None else tuple(sorted(set(map(self.place, topics))))

    def place(self, topic: str) -> int:
        """Return the coordination partition of a topic."""
        number = self.reader.partition_of(topic)
        assert number is not None, "it is known since the log was opened"
        return number

    def pause(self, number: int) -> Pause | None:
        """Return the pause of the group, as far as one coordination partition says."""
        return self.world(number).pause_of(self.settings.group_id.encode())

    def pause_ended_at(self, number: int) -> int:
        """Return the offset in a coordination partition where a pause was ended last, -1 without.

        Also where one stands behind that.
        """
        return self.world(number).pause_ended_at(self.settings.group_id.encode())

    def logged(self, tp: TopicPartition) -> int | None:
        """Return the position that the log has of a key, None without one."""
        state = self.world(self.place(tp.topic)).keys.get(self._key(tp))
        return None if state is None else standing_of(state).offset

    def _key(self, tp: TopicPartition) -> Key:
        return Key(self.settings.group_id.encode(), tp.topic.encode(), tp.partition)

    def free_at(self, tp: TopicPartition) -> int:
        """Return the log time from which a claim of a key is accepted, milliseconds."""
        number = self.place(tp.topic)
        opened = self._opened.get(number)
        world, key = self.world(number), self._key(tp)
        return free_at(world, key, complete=opened is not None and opened.complete)

    async def until(self, is_so: Callable[[], object], timeout: float) -> bool:
        """Wait until something is so; False when it is not so in time.

        Raises:
            KGroupError, TimeoutError: reading the log failed for good.
        """
        with anyio.move_on_after(timeout):
            while True:
                if self._error is not None:
                    raise self._error
                if is_so():
                    return True
                with anyio.move_on_after(_LOOK_AGAIN):
                    await self._news.wait()
        return bool(is_so())

    def is_open(self, numbers: Sequence[int]) -> bool:
        """Tell whether partitions were read to their ends."""
        return all(number in self.partitions for number in numbers) and self.reader.is_caught_up

    async def catch_up(self, numbers: Sequence[int]) -> None:
        """Read partitions up to where they end from now on: what was acknowledged to anybody.

        Raises:
            KGroupError: they may not be read.
            TimeoutError: not in time.
        """
        logs = {TopicPartition(self.settings.topic, each): OffsetSpec.LATEST for each in numbers}
        view, timeout = self.reader.topic.view, self.settings.timeout
        listed = (await list_offsets(self.cluster, logs, view=view, timeout=timeout)).all()
        ends = {tp.partition: found.offset for tp, found in listed.items() if found is not None}

        def is_read() -> bool:
            known = self.partitions
            return all(each in known and self._upto[each] >= end for each, end in ends.items())

        if not await self.until(is_read, timeout):
            what = f"coordination topic {self.settings.topic!r}"
            raise TimeoutError(f"{what} was not read to its end within {timeout:g} s")

    # -- writing ---------------------------------------------------------------------------

    async def write(
        self, number: int, lines: Sequence[Line], *, interval: int | None
    ) -> dict[TopicPartition, KeyRead | None]:
        """Write messages about keys, and read them back.

        Args:
            number: of the coordination partition of all of them.
            lines: one for each key, at least one.
            interval: between heartbeats, seconds: half of what a claim lasts; None for what a
                member of the original library takes for granted.

        Returns:
            What each did; None where that could not be read in time.

        Raises:
            KGroupError, TimeoutError: nothing was written.
        """
        nonces = [self._nonce() for _ in lines]
        pairs = zip(lines, nonces, strict=True)
        records = [self._record(line, nonce, interval) for line, nonce in pairs]
        await self._deliver(number, records)
        await self.until(lambda: all(one in self._heard for one in nonces), self.settings.timeout)
        return {
            line.tp: self._heard.pop(nonce, None) for line, nonce in zip(lines, nonces, strict=True)
        }

    async def write_pause(self, number: int, seconds: float) -> WrittenPause:
        """Pause the group, or end its pause, and read that back; more may stand behind it.

        Args:
            number: of the coordination partition.
            seconds: how long from now on; 0 ends it.

        Returns:
            Where it stands, and until when it lasts.

        Raises:
            KGroupError: it was not written.
            TimeoutError: it was not written, or not read back; the text says which.
        """
        time = self._clock.message_time()
        message = self._message(Kind.RELEASE_GROUP, ("", 0), round(time + seconds), time)
        headers = tuple(write_extension(Extension(started=self._started, nonce=self._nonce())))
        delivered = await self._deliver(
            number, [NewRecord(None, encode(message), headers, time * _MS)]
        )
        least = (delivered.append_time or time * _MS) + round(seconds) * _MS

        def came() -> bool:
            if number not in self.partitions:
                return False
            world, pause = self.world(number), self.pause(number)
            if delivered.offset is not None:
                # What somebody has written behind it is for the caller to judge.
                is_over = seconds and pause is None and world.time >= least
                return world.next_offset > delivered.offset and not is_over
            if not seconds:
                return pause is None
            return pause is not None and pause.client_id == self.who and pause.until >= least

        if not await self.until(came, self.settings.timeout):
            what = "pause" if seconds else "end of the pause"
            where = f"{self.settings.topic}-{number}"
            raise TimeoutError(
                f"the {what} of group {self.settings.group_id!r} was not read back from {where} "
                f"within {self.settings.timeout:g} s"
            )
        behind = self.world(number).next_offset
        return WrittenPause(least, behind - 1 if delivered.offset is None else delivered.offset)

    async def _deliver(self, number: int, records: Sequence[NewRecord]) -> Delivered:
        tp = TopicPartition(self.settings.topic, number)
        delivered = await self._producer.deliver(tp, records, timeout=self.settings.timeout)
        if delivered.append_time is not None:
            self._clock.heard(delivered.append_time)
        if delivered.error is not None and not delivered.maybe:
            raise delivered.error
        return delivered

    def _record(self, line: Line, nonce: bytes, interval: int | None) -> NewRecord:
        draft, time = line.draft, self._clock.message_time()
        message = self._message(draft.kind, line.tp, draft.tail, time)
        extension = Extension(draft.epoch, self._started, interval, nonce)
        headers = tuple(write_extension(extension))
        return NewRecord(None, encode(message), headers, time * _MS)

    def _message(self, kind: Kind, key: tuple[str, int], tail: int, time: int) -> Message:
        return Message(
            kind=kind,
            time=time,
            instance_id=self._instance.encode(),
            client_id=self.who,
            group_id=self.settings.group_id.encode(),
            topic=key[0].encode(),
            partition=key[1],
            tail=tail,
        )

    def _nonce(self) -> bytes:
        self._tickets += 1
        return b"%d" % self._tickets


@asynccontextmanager
async def claim_log(
    cluster: Cluster,
    settings: AdminSettings,
    topics: frozenset[str] | None = None,
    hear: Callable[[LogEvent], None] | None = None,
) -> AsyncIterator[ClaimLog]:
    """Have a place at the log for one block, once what is needed was read to its end.

    Args:
        cluster: running.
        settings: the administrator, the group, and the coordination topic.
        topics: the topics whose claims are needed; None for the whole coordination topic.
        hear: as in `ClaimLog`.

    Raises:
        CoordinationTopicError: the coordination topic is missing, or is not what it was.
        BrokerError: it may not be read.
        TimeoutError: it was not read in time.
    """
    check = await check_topic(cluster, settings.topic, timeout=settings.timeout)
    names = names_everywhere(check.partitions) if topics is None else topics
    place = ClaimLog(cluster, settings, check, hear)
    place.reader.follow(names)
    # A call that is cancelled ends what it began, and reads that back: reading outlasts the block.
    reading = anyio.CancelScope(shield=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, place, reading)
        try:
            await _opened(place, names)
            yield place
        finally:
            reading.cancel()


async def _read(place: ClaimLog, scope: anyio.CancelScope) -> None:
    with scope:
        await place.run()


async def _opened(place: ClaimLog, names: frozenset[str]) -> None:
    """Wait until all that is needed was read to its end."""

    def is_open() -> bool:
        numbers = [place.reader.partition_of(name) for name in names]
        known = [number for number in numbers if number is not None]
        return len(known) == len(names) and place.is_open(known)

    if not await place.until(is_open, place.settings.timeout):
        raise TimeoutError(
            f"coordination topic {place.settings.topic!r} was not read to its end within "
            f"{place.settings.timeout:g} s; a long log takes a longer --timeout"
        )
