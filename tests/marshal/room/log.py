"""The log that all members of a room share, and what each record of it came to at its place.

Decides: the time of a record, and what a reader without any delay makes of it.
Never: is read by a member except through its own view.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.marshal.events import KeyRead
from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import Message, encode
from kgroup.marshal.rules import Compat, WorldRules
from kgroup.marshal.view import LogRow, LogView
from kgroup.types import TopicPartition

WALL: Final = 1_700_000_000.0
"""What a right clock says at instant 0, seconds."""

GROUP: Final = "g"


@dataclass(frozen=True, slots=True)
class Fact:
    """What one record came to.

    Args:
        at: instant of its appending.
        read: of it, by a reader without delay.
    """

    at: float
    read: KeyRead


class RoomLog:
    """One coordination partition.

    Args:
        append_time: whether its records carry the broker's time.
        compat: how everybody reads it.
    """

    def __init__(self, *, append_time: bool, compat: Compat = Compat.AUTO) -> None:
        self.append_time, self._compat = append_time, compat
        self.rows: list[LogRow] = []
        self.facts: list[Fact] = []
        self.generation = 0
        """Counts truncations, as leader epochs let a reader notice."""
        self.behind = 0.0
        """Seconds that the broker's clock is behind."""
        self._view = self.view()

    def view(self) -> LogView:
        """Return what a reader begins with."""
        rules = WorldRules(self.append_time, complete=True, compat=self._compat)
        return LogView(0, GROUP, rules)

    def clock(self, now: float) -> float:
        """Return what the broker's clock says."""
        return WALL + now - self.behind

    def append(
        self, now: float, message: Message, headers: tuple[tuple[str, bytes], ...] = ()
    ) -> None:
        """Append a message."""
        timestamp = message.time * 1000 if headers else -1
        if self.append_time:
            timestamp = int(self.clock(now) * 1000)
        row: LogRow = (len(self.rows), timestamp, None, encode(message), headers)
        self.rows.append(row)
        read = self._view.read([row], len(self.rows))
        self.facts += [Fact(now, each) for each in read.reads]

    def truncate(self, count: int) -> None:
        """Lose the last records to an unclean election."""
        del self.rows[max(len(self.rows) - count, 0) :]
        self.generation += 1
        self._view = self.view()
        self._view.read(self.rows, len(self.rows))

    def state(self, tp: TopicPartition) -> KeyState:
        """Return what the whole log says about a key."""
        keys: Mapping[Key, KeyState] = self._view.world.keys
        return keys.get(Key(GROUP.encode(), tp.topic.encode(), tp.partition), KeyState())

    def skipped_until(self) -> int:
        """Return the log time until which somebody is not waited for, milliseconds; 0: nobody."""
        read = self._view.read((), len(self.rows))
        waits = [wait for clients in read.waits.values() for wait in clients.values()]
        return max((wait.skipped_until for wait in waits), default=0)

    @property
    def time(self) -> int:
        """Latest log time, milliseconds."""
        return self._view.world.time
