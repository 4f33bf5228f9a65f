"""What `kgroup marshal watch` tells of: claims, takeovers, releases and pauses as they are read.

Decides: which records are worth a line, and its words.
Never: reads the log itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from kgroup.cli.formats import on_one_line
from kgroup.consumer.coordination.marshal.followed_log import LogEvent
from kgroup.marshal.events import KeyRead, LogLost, LogOpened, LogRead
from kgroup.marshal.key_state import Pause
from kgroup.marshal.rules import Verdict
from kgroup.marshal.standing import Standing
from kgroup.types import TopicPartition

__all__ = ["Change", "Watching", "What", "change_json", "change_line"]

_MS: Final = 1000
_NEVER: Final = Standing()


class What(StrEnum):
    """What happened."""

    CLAIMED = "claimed"
    TAKEN_OVER = "taken over"
    RELEASED = "released"
    PAUSED = "paused"
    RESUMED = "resumed"
    LOST = "read anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line.

    Args:
        what: happened.
        partition: the coordination partition; of a pause the first, or the last, one.
        time: log time, milliseconds; -1 when there is none.
        tp: the key; None for the whole group.
        client: who did it, as client id and instance.
        former: who had the key before, None for nobody or the same.
        epoch: of a claim, None for none.
        offset: position of the key, None when nobody said.
        until: of a pause, log time in milliseconds.
        reason: why the log is read anew.
    """

    what: What
    partition: int
    time: int
    tp: TopicPartition | None = None
    client: str | None = None
    former: str | None = None
    epoch: int | None = None
    offset: int | None = None
    until: int | None = None
    reason: str | None = None


class Watching:
    """Remembers what was, to tell what changed.

    Args:
        topics: whose keys; None for all.
        show: takes the lines.
    """

    def __init__(self, topics: frozenset[str] | None, show: Callable[[Change], None]) -> None:
        self._topics = topics
        self._show = show
        self._standings: dict[TopicPartition, Standing] = {}
        self._pauses: dict[int, bytes] = {}

    def hear(self, event: LogEvent) -> None:
        """Take in what was read; what was there at the beginning is not told."""
        match event:
            case LogOpened():
                self._standings.update(event.keys)
                self._paused(event.partition, event.time, event.pause)
            case LogRead():
                for read in event.reads:
                    self._read(event, read)
                self._paused(event.partition, event.time, event.pause)
            case LogLost():
                lost = What.LOST
                self._show(
                    Change(what=lost, partition=event.partition, time=-1, reason=event.reason or "")
                )

    def _read(self, event: LogRead, read: KeyRead) -> None:
        before = self._standings.get(read.tp, _NEVER)
        self._standings[read.tp] = now = read.standing
        if self._topics is not None and read.tp.topic not in self._topics:
            return
        match read.verdict:
            case Verdict.ACCEPTED | Verdict.ADOPTED:
                had = _who(before) if before.owned else None
                former = None if had == _who(now) else had
                what = What.CLAIMED if former is None else What.TAKEN_OVER
                time = now.beat
            case Verdict.RELEASED:
                what, former, time = What.RELEASED, None, now.released_at
            case _:
                return
        self._show(
            Change(
                what=what,
                partition=event.partition,
                time=event.time if time is None else time,
                tp=read.tp,
                client=_who(now),
                former=former,
                epoch=now.epoch,
                offset=now.offset,
            )
        )

    def _paused(self, partition: int, time: int, pause: Pause | None) -> None:
        before = set(self._pauses.values())
        if pause is None:
            self._pauses.pop(partition, None)
        else:
            self._pauses[partition] = pause.client_id
        # A pause stands in many partitions, and is renewed: it is told when it begins and ends.
        if set(self._pauses.values()) == before:
            return
        if pause is None:
            self._show(Change(what=What.RESUMED, partition=partition, time=time))
            return
        client = pause.client_id.decode(errors="backslashreplace")
        paused = Change(
            what=What.PAUSED, partition=partition, time=time, client=client, until=pause.until
        )
        self._show(paused)


def _who(standing: Standing) -> str:
    return b"/".join((standing.client_id, standing.instance_id)).decode(errors="backslashreplace")


def change_line(change: Change) -> str:
    """Return the line for a person."""
    where = "group" if change.tp is None else str(change.tp)
    if change.what is What.LOST:
        where = f"coordination partition {change.partition}"
    words = [_at(change.time), where, change.what.value]
    words += [f"by {change.client}"] if change.client else []
    words += [f"from {change.former}"] if change.former else []
    words += [f"at offset {change.offset}"] if change.offset is not None else []
    words += [f"epoch {change.epoch}"] if change.epoch is not None else []
    words += [f"until {_at(change.until)}"] if change.until is not None else []
    words += [change.reason] if change.reason else []
    return on_one_line("  ".join((words[0], " ".join(words[1:]))))


def change_json(change: Change) -> dict[str, Any]:
    """Return the line for a program; times are milliseconds since the epoch."""
    tp = change.tp
    return {
        "what": change.what.value.replace(" ", "_"),
        "coordination_partition": change.partition,
        "time": None if change.time < 0 else change.time,
        "topic": None if tp is None else tp.topic,
        "partition": None if tp is None else tp.partition,
        "client": change.client,
        "former": change.former,
        "epoch": change.epoch,
        "offset": change.offset,
        "until": change.until,
        "reason": change.reason,
    }


def _at(time: int) -> str:
    if time < 0:
        return "-"
    try:
        moment = datetime.fromtimestamp(time / _MS, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time}ms"
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time % _MS:03}Z"
