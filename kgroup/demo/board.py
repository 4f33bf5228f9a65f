"""What is known of the group at one moment: an immutable board, and how news change it.

Decides: which member owns what, how far behind a partition is, and which news are worth a line.
Never: talks to a process or draws.
"""

import json
from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from types import MappingProxyType

from kgroup.values import dataclass


class Condition(Enum):
    """How a member's process is."""

    STARTING = "starting"
    RUNNING = "running"
    CLOSING = "closing"
    CLOSED = "closed"
    KILLED = "killed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a member says of itself, one JSON line each.

    Args:
        state: its place in the protocol, as `MemberState` spells it.
        generation: of the group, None while it has none.
        leader: whether it computes the assignment.
        partitions: what it owns.
        positions: partition -> next offset to be handled.
        records: how many it was given.
        cause: why the latest rebalance began, None before the first.
    """

    state: str
    generation: int | None = None
    leader: bool = False
    partitions: tuple[int, ...] = ()
    positions: Mapping[int, int] = field(default_factory=dict)
    records: int = 0
    cause: str | None = None

    def line(self) -> str:
        """Return it as one line of JSON."""
        return json.dumps(
            {
                "state": self.state,
                "generation": self.generation,
                "leader": self.leader,
                "partitions": self.partitions,
                "positions": self.positions,
                "records": self.records,
                "cause": self.cause,
            }
        )


def parse_status(line: str) -> Status:
    """Read one line of a member.

    Raises:
        ValueError: it is not a status.
    """
    row = json.loads(line)
    state = row.get("state") if isinstance(row, dict) else None
    if state is None:
        raise ValueError(f"not a status: {line!r}")
    return Status(
        state=str(state),
        generation=row.get("generation"),
        leader=bool(row.get("leader")),
        partitions=tuple(row.get("partitions", ())),
        positions={int(p): offset for p, offset in row.get("positions", {}).items()},
        records=row.get("records", 0),
        cause=row.get("cause"),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One member.

    Args:
        label: its name.
        instance: static identity, None for a dynamic member.
        condition: of its process.
        status: what it said last, None before it spoke.
    """

    label: str
    instance: str | None = None
    condition: Condition = Condition.STARTING
    status: Status | None = None

    @property
    def owned(self) -> tuple[int, ...]:
        """What it owns, as far as it can still tell."""
        live = self.condition in (Condition.RUNNING, Condition.CLOSING)
        return self.status.partitions if live and self.status is not None else ()


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of the chronicle.

    Args:
        at: seconds since the group began to work.
        text: what happened.
    """

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The group at one moment.

    Args:
        partitions: how many the topic has.
        at: seconds since the group began to work.
        rows: members in order of appearance.
        ends: partition -> offset after the last record produced.
        handled: partition -> highest position any member has reported.
        generation: highest generation any member has reported.
        happenings: in order of time.
        reasons: what was done to members since that generation, and makes the next one.
    """

    partitions: int
    at: float = 0.0
    rows: tuple[Row, ...] = ()
    ends: Mapping[int, int] = field(default_factory=dict)
    handled: Mapping[int, int] = field(default_factory=dict)
    generation: int | None = None
    happenings: tuple[Happening, ...] = ()
    reasons: tuple[str, ...] = ()

    def row(self, label: str) -> Row | None:
        """Return a member's row, None for an unknown one."""
        return next((row for row in self.rows if row.label == label), None)

    def owners(self, partition: int) -> tuple[str, ...]:
        """Return the members that say they own a partition; one, unless it is on its way."""
        return tuple(row.label for row in self.rows if partition in row.owned)

    def lag(self, partition: int) -> int | None:
        """Return how many records of a partition wait, None while nobody has read any.

        An owner that was given nothing yet has no position; then the highest reported one counts.
        """
        reported = [
            row.status.positions[partition]
            for row in self.rows
            if row.status is not None
            and partition in row.owned
            and partition in row.status.positions
        ]
        position = min(reported, default=self.handled.get(partition))
        return None if position is None else max(0, self.ends.get(partition, 0) - position)

    @property
    def settled(self) -> bool:
        """Whether every partition has exactly one owner, and all running members are in one round.

        A member that still says STABLE of an older generation has not heard of the new one yet.
        """
        running = [row for row in self.rows if row.condition is Condition.RUNNING]
        return (
            bool(running)
            and all(len(self.owners(partition)) == 1 for partition in range(self.partitions))
            and all(
                row.status is not None
                and row.status.state == "stable"
                and row.status.generation == self.generation
                for row in running
            )
        )

    @property
    def drained(self) -> bool:
        """Whether every record produced so far has been handled."""
        return all(
            self.lag(partition) == 0 or not self.ends.get(partition)
            for partition in range(self.partitions)
        )

    # -- news ------------------------------------------------------------------------------

    def with_member(self, label: str, instance: str | None, text: str) -> "Board":
        """Note that a member's process was started, for the first time or again."""
        fresh = Row(label, instance)
        if self.row(label) is None:
            board = replace(self, rows=(*self.rows, fresh))
        else:
            board = self._with_row(fresh)
        if self.row(label) is None or instance is None:
            # A static member that comes back makes no new generation.
            board = board.with_reason(f"{label} joined")
        return board.with_happening(text)

    def with_condition(self, label: str, condition: Condition, text: str = "") -> "Board":
        """Note how a member's process is."""
        row = self.row(label)
        if row is None:
            return self
        board = self._with_row(replace(row, condition=condition))
        if condition is Condition.KILLED:
            board = board.with_reason(f"{label} was killed")
        elif condition is Condition.CLOSING and row.instance is None:
            board = board.with_reason(f"{label} left")
        return board.with_happening(text) if text else board

    def with_status(self, label: str, status: Status) -> "Board":
        """Note what a member says; the first word of a generation is worth a line."""
        row = self.row(label)
        if row is None:
            return self
        starting = row.condition is Condition.STARTING
        condition = Condition.RUNNING if starting else row.condition
        handled = dict(self.handled)
        for partition, position in status.positions.items():
            handled[partition] = max(position, handled.get(partition, 0))
        board = replace(
            self._with_row(replace(row, status=status, condition=condition)),
            handled=MappingProxyType(handled),
        )
        reported = status.generation
        if reported is None or (self.generation is not None and reported <= self.generation):
            return board
        said = () if status.cause is None else (status.cause,)
        why = "; ".join((*self.reasons, *said)) or "no cause given"
        board = replace(board, generation=reported, reasons=())
        return board.with_happening(f"generation {reported}: {why}")

    def with_ends(self, ends: Mapping[int, int]) -> "Board":
        """Note how far the producer is."""
        return replace(self, ends=MappingProxyType(dict(ends)))

    def with_time(self, at: float) -> "Board":
        """Note the time."""
        return replace(self, at=at)

    def with_happening(self, text: str) -> "Board":
        """Add a line to the chronicle."""
        return replace(self, happenings=(*self.happenings, Happening(self.at, text)))

    def with_reason(self, reason: str) -> "Board":
        """Note why the next generation comes."""
        return replace(self, reasons=(*self.reasons, reason))

    def _with_row(self, changed: Row) -> "Board":
        rows = tuple(changed if row.label == changed.label else row for row in self.rows)
        return replace(self, rows=rows)
