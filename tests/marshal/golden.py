"""The logs and states that were recorded from the original library.

Decides: how a scenario is read: its records, and what a reader concluded at a moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.vectors import HERE, document, load

SCENARIOS = tuple(
    sorted(path.name.removesuffix(".state.json.gz") for path in (HERE / "marshal").glob("*.state*"))
)


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record of a coordination partition; times in milliseconds."""

    offset: int
    timestamp: int
    seen: int
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class View:
    """What one reader concluded.

    Args:
        replay: when it read the whole log, seconds; None: it read live.
        now: whole second at which it was asked.
        until: it had seen all that was seen before, seconds.
        claims: as recorded.
        label: of the moment.
    """

    replay: float | None
    now: int
    until: float
    claims: tuple[dict[str, Any], ...]
    label: str

    def clock(self, record: LogRecord) -> int:
        """Return what the reader's clock said when it applied a record, whole seconds."""
        return int(record.seen // 1000 if self.replay is None else self.replay)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One recorded log."""

    records: tuple[LogRecord, ...]
    append_time: bool
    views: tuple[View, ...]

    @classmethod
    def read(cls, name: str) -> "Scenario":
        """Read a scenario by its name."""
        lines = load(f"marshal/{name}.records")
        states = document(f"marshal/{name}.state")["states"]
        append_time = lines[0]["timestamp_type"] == "LogAppendTime"
        return cls(tuple(map(_record, lines)), append_time, tuple(map(_view, states)))

    def seen(self, view: View) -> Iterator[LogRecord]:
        """Yield the records that a view contains."""
        return (each for each in self.records if each.seen / 1000 <= view.until)


def _record(line: dict[str, Any]) -> LogRecord:
    text = line.get("value")
    value = bytes.fromhex(line["value_hex"]) if "value_hex" in line else text and text.encode()
    if text == "":
        value = b""
    headers = tuple((key, word.encode("latin-1")) for key, word in line.get("headers", ()))
    return LogRecord(line["offset"], line["timestamp"], line["seen_ms"], value, headers)


def _view(state: dict[str, Any]) -> View:
    replay = state["read_at"] if state["reader"] == "replay" else None
    label = state.get("label", "")
    return View(replay, state["now"], state["log_read_until"], tuple(state["claims"]), label)
