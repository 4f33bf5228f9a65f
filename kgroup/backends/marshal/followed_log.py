"""One coordination partition as it is read: position, state, and what stands in the way.

Decides: what of an answer is folded, in which pieces; that a position moves over marks, gaps and
what cannot be read, so that no record, or lack of one, stops it for ever.
Never: asks a broker. Passes over damage at once: it may be of this answer only.
KIPs: 74 (an answer with bytes holds a whole batch), 101 (leader epochs in batches).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field
from enum import Enum
from itertools import islice
from typing import Final

from anyio.lowlevel import checkpoint

from kgroup.backends.marshal.clock_check import ClockCheck
from kgroup.backends.marshal.window import Start
from kgroup.errors import (
    CoordinationTopicError,
    CorruptRecordError,
    DecodeError,
    UnsupportedCodecError,
)
from kgroup.machine.backoff import Backoff
from kgroup.marshal.events import LogLost, LogOpened, LogRead
from kgroup.marshal.rules import Compat, WorldRules
from kgroup.marshal.view import LogRow, LogView
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import PartitionData
from kgroup.wire.records import LogBatch, RecordColumns, TimestampType, iter_batches

LogEvent = LogOpened | LogRead | LogLost

_PIECE: Final = 500
"""Records folded at a time: a few milliseconds."""

_TRIES: Final = 3
"""Times that the same damage must come before it is skipped."""


class Stage(Enum):
    """How far reading is."""

    SEEKING = "where to begin is not known"
    CATCHING_UP = "read, and not yet to its end"
    OPEN = "read to its end, and on"


@dataclass(slots=True, eq=False)
class FollowedLog:
    """One partition that is read.

    Args:
        tp: the coordination partition.
        group_id: the group whose keys are reported.
        compat: what records without headers can do.
        tell: hears what is read.
        backoff: its pauses after failures.
        append_time: whether timestamps are the broker's, as far as is known.
        topics: subscribed topics whose claims it has.
        whole: whether it is read from its first record.
        wall: seconds since the epoch, None for a reader that does not write by its clock.

    Attributes to look at: `stage`, `start` (first offset read), `position` (next offset to read),
    `end` (of the log, as the last answer said), `read_epoch` (of the last batch), `under` (leader
    epoch in which the position is known to be good), `damaged` (batches skipped), `retry_at`,
    `busy` (it is being asked about by somebody), `reported_at`.
    """

    tp: TopicPartition
    group_id: str
    compat: Compat
    tell: Callable[[LogEvent], None]
    backoff: Backoff
    append_time: bool = False
    topics: frozenset[str] = frozenset()
    whole: bool = False
    wall: Callable[[], float] | None = None
    stage: Stage = Stage.SEEKING
    view: LogView | None = None
    start: int = 0
    position: int = 0
    end: int = 0
    read_epoch: int | None = None
    under: int | None = None
    damaged: int = 0
    retry_at: float = 0.0
    busy: bool = False
    dropped: bool = False
    reported_at: float = 0.0
    _rows: list[LogRow] = field(default_factory=list)
    _upto: int = 0
    _stamped: bool | None = None
    _tries: int = 0
    _passed: int = -1
    _since_pause: int = 0
    _clock_check: ClockCheck | None = None

    @property
    def is_caught_up(self) -> bool:
        """Whether everything was read that was there when it was last asked for."""
        return self.stage is Stage.OPEN and self.position >= self.end

    def begin(self, start: Start, under: int | None) -> None:
        """Read from an offset on."""
        rules = WorldRules(self.append_time, complete=start.complete, compat=self.compat)
        self.view = LogView(self.tp.partition, self.group_id, rules)
        self.stage, self.position, self.end = Stage.CATCHING_UP, start.offset, start.end
        self.start, self.read_epoch, self.under = start.offset, None, under
        self._stamped, self._tries, self.damaged = None, 0, 0
        self._clock_check = ClockCheck(self.tp.topic)

    def lose(self, reason: str) -> None:
        """Begin anew: what was read is not the log."""
        was_open = self.stage is Stage.OPEN
        self.stage, self.view = Stage.SEEKING, None
        if was_open and not self.dropped:
            self.tell(LogLost(self.tp.partition, reason))

    def leave(self) -> None:
        """Be read no more: what was read of it is soon out of date."""
        was_open, self.dropped = self.stage is Stage.OPEN, True
        if was_open:
            self.tell(LogLost(self.tp.partition, None))

    def caught_up(self, now: float) -> None:
        """Tell what was read, once there is no more; or begin anew by the other kind of time.

        Raises:
            CoordinationTopicError: this process's clock is not that of the others.
        """
        if self.stage is not Stage.CATCHING_UP or self.view is None:
            return
        if self._stamped is not None and self._stamped is not self.append_time:
            self.append_time = self._stamped
            self.lose("its timestamps are of another kind")
            return
        if not self._is_in_time(now):
            return
        self.stage = Stage.OPEN
        self.say(self.view.opened(self.topics, self.position), now)

    def again(self, topics: frozenset[str], now: float) -> None:
        """Report claims of other topics in it, too."""
        self.topics = topics
        if self.stage is Stage.OPEN and self.view is not None:
            self.say(self.view.opened(topics, self.position), now)

    def _is_in_time(self, now: float) -> bool:
        if self.append_time or self.wall is None or self.view is None or not self._clock_check:
            return True
        return self._clock_check.agrees(self.view.world.time, self.wall(), now)

    def quiet(self, now: float) -> None:
        """Tell that there was nothing to read."""
        if self.stage is Stage.OPEN and self.view is not None:
            self.say(self.view.read((), self.position), now)

    def say(self, event: LogEvent, now: float) -> None:
        """Hand an event on, unless nobody wants this partition any more."""
        self.reported_at = now
        if not self.dropped:
            self.tell(event)

    def rejects(self) -> Counter[str]:
        """Return how many records were no messages, or not believed, by reason."""
        found = Counter[str]()
        if self.view is not None:
            found.update({why.value: times for why, times in self.view.world.rejects.items()})
        return found

    # -- records ---------------------------------------------------------------------------

    async def take(self, data: PartitionData, leader_epoch: int | None, now: float) -> bool:
        """Fold what came; False when it is damaged and should be fetched once more.

        Args:
            data: of an answer, without an error code.
            leader_epoch: of the leader as it is known; no batch is of a later one.
            now: the clock.

        Raises:
            CoordinationTopicError: a batch is compressed in a way that cannot be read here.
        """
        self.end = max(data.high_watermark, 0)
        records = data.records or b""
        batch, begun, self._upto = None, self.position, self.position
        try:
            for batch in iter_batches(records):
                await self._gather(batch, leader_epoch, now)
                if self.stage is Stage.SEEKING or self.dropped:
                    return True
            if len(records) and self._upto == begun:
                what = f"the records from offset {begun} on"
                raise CorruptRecordError(what, f"{len(records)} bytes hold none of them")
        except DecodeError:
            self._fold(now)
            return self.meets_damage(batch)
        self._fold(now)
        self._tries = 0
        return True

    async def _gather(self, batch: LogBatch, leader_epoch: int | None, now: float) -> None:
        """Add the records of a batch to what is to be folded; fold it when that is a piece."""
        columns = self._columns(batch)
        if batch.next_offset <= self._upto:
            return
        if batch.next_offset > self.end:
            what = f"the batch at offset {batch.base_offset}"
            raise CorruptRecordError(what, f"the log ends at {self.end}")
        if columns is not None:
            if not self._keeps_time(batch, now):
                return
            first = columns.index_of(self._upto)
            if self.stage is Stage.OPEN:
                await self._pieces(columns.rows(first), now)
            else:
                await self._catch_up(columns, first)
        self._upto = batch.next_offset
        epoch = batch.leader_epoch
        known = epoch is not None and leader_epoch is not None and epoch <= leader_epoch
        self.read_epoch = epoch if known else None

    async def _pieces(self, rows: Iterator[LogRow], now: float) -> None:
        while piece := list(islice(rows, _PIECE - len(self._rows))):
            self._rows += piece
            self._upto = piece[-1][0] + 1
            if len(self._rows) >= _PIECE:
                self._fold(now)
                await checkpoint()

    async def _catch_up(self, columns: RecordColumns, first: int) -> None:
        """Fold the records of a batch at once: no reader hears of them one by one."""
        rows = columns.raw_rows(first)
        while self.view is not None and (piece := list(islice(rows, _PIECE))):
            self.view.catch_up(columns, piece)
            self.position = self._upto = piece[-1][0] + 1
            self._since_pause += len(piece)
            if self._since_pause >= _PIECE:
                self._since_pause = 0
                await checkpoint()

    def _fold(self, now: float) -> None:
        """Move the position behind what was gathered, and tell of it."""
        rows, self._rows = self._rows, []
        if self.view is None or self._upto == self.position:
            return
        self.position = self._upto
        if self.stage is Stage.OPEN:
            self.say(self.view.read(rows, self.position), now)

    def _columns(self, batch: LogBatch) -> RecordColumns | None:
        """Return the records of a batch, None for marks of transactions."""
        if batch.is_control:
            batch.verify()
            return None
        try:
            return batch.columns()
        except UnsupportedCodecError as error:
            reason = f"{error}; set compression.type=uncompressed on it"
            raise CoordinationTopicError(self.tp.topic, reason) from error

    def _keeps_time(self, batch: LogBatch, now: float) -> bool:
        """Note whose timestamps a batch has; False when that changed under an open log."""
        self._stamped = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
        if self.stage is Stage.OPEN and self._stamped is not self.append_time:
            self._fold(now)
            self.append_time = self._stamped
            self.lose("message.timestamp.type was changed; it is read anew by the other time")
            return False
        return True

    def meets_damage(self, batch: LogBatch | None = None) -> bool:
        """Have it fetched again, then pass over it: readers of one log all pass over the same.

        Args:
            batch: the one that cannot be read, None when not even its header can.

        Returns:
            Whether it was skipped; if not, it is to be fetched once more, after a pause.
        """
        self._tries += 1
        if self.position >= self.end or (self._tries < _TRIES and self.position != self._passed):
            return False
        self.damaged += 1
        if self.view is not None:
            self.view.skip(self.position)
        self._tries = 0
        self.position = self._passed = self._behind(batch)
        return True

    def _behind(self, batch: LogBatch | None) -> int:
        """Return where the next readable record may be."""
        if batch is not None:
            try:
                batch.check_figures()
            except DecodeError:
                return self.position + 1
            if batch.base_offset <= self.position < batch.next_offset <= self.end:
                return batch.next_offset
        return self.position + 1
