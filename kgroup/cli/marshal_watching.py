"""What `kgroup marshal watch` says of each change, for people and for programs.

Decides: the words.
Never: decides what is a change; `MarshalAdmin.watch` does.
"""

from datetime import UTC, datetime
from typing import Any, Final

from kgroup.admin.marshal.watching import GroupChange, GroupChangeKind
from kgroup.cli.formats import on_one_line

__all__ = ["change_json", "change_line"]

_MS: Final = 1000


def change_line(change: GroupChange) -> str:
    """Return the line for a person."""
    where = "group" if change.tp is None else str(change.tp)
    if change.kind is GroupChangeKind.LOST:
        where = f"coordination partition {change.partition}"
    words = [_at(change.time), where, change.kind.value]
    words += [f"by {change.client}"] if change.client else []
    words += [f"from {change.former}"] if change.former else []
    words += [f"at offset {change.offset}"] if change.offset is not None else []
    words += [f"epoch {change.epoch}"] if change.epoch is not None else []
    words += [f"until {_at(change.until)}"] if change.until is not None else []
    words += [change.reason] if change.reason else []
    return on_one_line("  ".join((words[0], " ".join(words[1:]))))


def change_json(change: GroupChange) -> dict[str, Any]:
    """Return the line for a program; times are milliseconds since the epoch."""
    tp = change.tp
    return {
        "what": change.kind.value.replace(" ", "_"),
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
