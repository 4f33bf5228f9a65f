"""Positions of keys in the part of a log of claims that was not read.

Decides: how much of it is asked for at a time. It decides nothing about a key: what stands
before the window is folded like the window itself, and the last position of each key is reported.
Never: makes an owner of what it finds; only the window shows the owner of a key. Reads the same
part of a log twice: a question that is not answered in time ends, the reading goes on, and the next
question finds it further on.

A claim of a key that is not in the window must not trust what is committed:
- At most once: 1. an owner that was superseded commits late, and moves the position back; 2. its
  successor stopped more than an hour ago; 3. a member that claims now would read from there again.
- At least once: 1. the group coordinator refuses commits; 2. all members stop for a night; 3. the
  reset policy skips what they have not read.
What the owner wrote is still in the log, further in front.
"""

from collections.abc import Mapping
from dataclasses import field
from itertools import islice
from typing import Final

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from kgroup.backends.marshal.followed_log import FollowedLog
from kgroup.backends.marshal.log_fetch import LogQuestions
from kgroup.errors import (
    BrokerError,
    DecodeError,
    KGroupError,
    ProtocolError,
    TransportError,
)
from kgroup.machine.backoff import Backoff
from kgroup.marshal.rules import Compat, WorldRules
from kgroup.marshal.view import LogView
from kgroup.net.cluster import Cluster
from kgroup.net.log_places import log_bounds
from kgroup.net.ports import Notifier
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import iter_batches

_FIRST_BYTES: Final = 1024 * 1024
_MOST_BYTES: Final = 8 * 1024 * 1024
_LEAST_BYTES: Final = 64 * 1024

_QUICK: Final = 1.0
_SLOW: Final = 3.0
"""Seconds for one fetch. What is written now is read over the same connection, behind it."""

_LOOK_AGAIN: Final = 30.0


@dataclass(slots=True, eq=False)
class _Reading:
    """What stands in front of one view of a log, as far as it was read.

    Args:
        log: the one that is read.
        view: what was read of it; another one belongs to another log.
        fold: what was read in front; None when all was.
        upto: where the view begins.
        at: next offset to fold.
        size: bytes to ask for.
        offsets: last position of each key; None while not all was read.
        refusal: why it cannot be read; None while it is tried.
        failure: what the last try met; None without.
        over: set when either is known.
        busy: whether it is being read.
    """

    log: FollowedLog
    view: LogView
    fold: LogView | None
    upto: int
    at: int = 0
    size: int = _FIRST_BYTES
    offsets: Mapping[TopicPartition, int] | None = None
    refusal: KGroupError | None = None
    failure: str = ""
    over: anyio.Event = field(default_factory=anyio.Event)
    busy: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it is to be read on."""
        unknown = self.offsets is None and self.refusal is None
        return unknown and self.log.view is self.view and not self.log.dropped

    def end(self, refusal: KGroupError | None = None) -> None:
        """Answer all callers that wait."""
        self.refusal = refusal
        if refusal is None and self.fold is not None:
            keys = self.fold.opened(frozenset(), self.upto).keys
            found = {tp: each.offset for tp, each in keys.items()}
            self.offsets = {tp: offset for tp, offset in found.items() if offset is not None}
            self.fold = None
        self.over.set()


class Recalling:
    """Reads what stands in front of windows, once for each.

    Args:
        cluster: running; not owned.
        questions: fetches; not owned.
        compat: what records without headers can do.
    """

    def __init__(self, cluster: Cluster, questions: LogQuestions, compat: Compat) -> None:
        self._cluster = cluster
        self._questions = questions
        self._compat = compat
        self._readings: dict[int, _Reading] = {}
        self._work = Notifier()

    async def position(self, log: FollowedLog, tp: TopicPartition, timeout: float) -> int | None:
        """Return the last position of a key in front of what was read, None without one.

        Args:
            log: of the key; read to its end.
            tp: the key.
            timeout: seconds; what was read by then is not read again for the next question.

        Raises:
            KGroupError: it may not be read.
            TimeoutError: not in time.
        """
        reading = self._reading_of(log)
        if reading.offsets is None:
            if reading.refusal is not None:
                reading.refusal, reading.over = None, anyio.Event()
            self._work.notify()
            with anyio.move_on_after(timeout):
                await reading.over.wait()
        if reading.refusal is not None:
            raise reading.refusal
        if reading.offsets is None:
            text = f"{log.tp}: what stands before the last hour is read up to {reading.at} of "
            failed = f"; {reading.failure}" if reading.failure else ""
            raise TimeoutError(f"{text}{reading.upto}, not all of it within {timeout:g} s{failed}")
        return reading.offsets.get(tp)

    async def run(self) -> None:
        """Read what is asked for until cancelled; begun again, it goes on where it was."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._start(tasks)
                with anyio.move_on_after(_LOOK_AGAIN):
                    await self._work.wait()

    def _start(self, tasks: TaskGroup) -> None:
        for reading in self._readings.values():
            if reading.is_open and not reading.busy:
                reading.busy = True
                tasks.start_soon(self._read, reading)

    def _reading_of(self, log: FollowedLog) -> _Reading:
        if log.view is None:
            raise TimeoutError(f"{log.tp}: it is being read anew")
        known = self._readings.get(log.tp.partition)
        if known is None or known.view is not log.view:
            rules = WorldRules(log.append_time, complete=True, compat=self._compat)
            fold = LogView(log.tp.partition, log.group_id, rules)
            known = _Reading(log, log.view, fold, log.start)
            self._readings[log.tp.partition] = known
        return known

    # -- reading ---------------------------------------------------------------------------

    async def _read(self, reading: _Reading) -> None:
        """Read one log on until its end, or until it is refused."""
        net = self._cluster.settings
        patience = backoff = Backoff(net.retry_backoff, net.retry_backoff_max)
        dice = self._cluster.ports.dice_for(f"recalling {reading.log.tp}")
        try:
            while reading.is_open:
                before = reading.at
                await self._try(reading)
                backoff = patience if reading.at > before else backoff
                if reading.is_open:
                    backoff = backoff.failed()
                    await anyio.sleep(backoff.pause(dice.uniform(0, 1)))
        finally:
            reading.busy = False

    async def _try(self, reading: _Reading) -> None:
        """Read on until something fails, or nothing is left."""
        try:
            if reading.at < reading.upto:
                await self._begin(reading)
            while await self._read_on(reading):
                pass
        except (TransportError, ProtocolError, TimeoutError) as error:
            reading.failure = str(error)
            reading.size = max(reading.size // 2, _LEAST_BYTES)
        except KGroupError as error:
            reading.failure = str(error)
            if not isinstance(error, BrokerError) or not error.retriable:
                reading.end(error)

    async def _begin(self, reading: _Reading) -> None:
        """Find out where the log begins: retention goes on while it is read."""
        tp, timeout = reading.log.tp, self._cluster.settings.request_timeout
        bounds = (await log_bounds(self._cluster, [tp], timeout=timeout))[tp]
        if bounds.error is not None:
            raise bounds.error
        reading.at = max(reading.at, bounds.begin or 0)

    async def _read_on(self, reading: _Reading) -> bool:
        """Fetch once and fold it; tell whether to go on."""
        clock = self._cluster.ports.clock
        if not reading.is_open or reading.fold is None:
            return False
        if reading.at >= reading.upto:
            reading.end()
            return False
        begun_at = clock()
        data = await self._questions.peek(reading.log.tp, reading.at, reading.size)
        took = clock() - begun_at
        if took < _QUICK:
            reading.size = min(reading.size * 2, _MOST_BYTES)
        elif took > _SLOW:
            reading.size = max(reading.size // 2, _LEAST_BYTES)
        await _fold(reading, reading.fold, data)
        return True


async def _fold(reading: _Reading, view: LogView, data: memoryview | bytes) -> None:
    """Fold what was fetched; a cancellation finds it between two batches."""
    begun, upto = reading.at, reading.upto
    if not len(data):
        reading.at = upto
        return
    try:
        for batch in iter_batches(data):
            at = reading.at
            if not batch.is_control and batch.next_offset > at:
                columns = batch.columns()
                first, last = columns.index_of(at), columns.index_of(upto)
                view.catch_up(columns, islice(columns.raw_rows(first), max(last - first, 0)))
            reading.at = max(at, batch.next_offset)
            await checkpoint()
    except DecodeError:
        pass  # what cannot be read is skipped: the offset behind it is tried
    if reading.at == begun:
        reading.at = begun + 1
