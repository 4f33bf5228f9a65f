"""What one run is: its processes, how bad the network and the clocks are, what happens when.

Decides: everything that is drawn before a run begins.
Never: looks at how the run goes.
"""

from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final

STORM: Final = 1200.0
"""Seconds during which things go wrong; after them nothing does any more."""


class Trouble(Enum):
    """Something that happens once."""

    RESTART = "a process dies, and another one starts under its client id"
    REPLACE = "a process dies, and one with another client id starts"
    TWIN = "another process starts under the client id of one that lives on"
    PAUSE_GROUP = "an admin pauses the group"
    TRUNCATE = "the log loses its last records to an unclean election"
    CLOCK_BACK = "the clock of the next leader is behind that of the one before"
    DEAF = "a process writes, but reads nothing for a while"


class Omission(Enum):
    """A safeguard that is left out, to see that the model notices."""

    COMMITTED = "the start is the offset in the log, whatever was committed"
    READ_BACK = "records are handed out before their heartbeat was read back"


@dataclass(frozen=True, slots=True)
class Plan:
    """One run; times in seconds.

    Args:
        at_most_once: the guarantee that all clients keep.
        append_time: whether records carry the broker's time.
        clients: processes at the beginning, each with a client id of its own.
        headerless: how many more there are of the original library; at-least-once only.
        keys: partitions that all of them want.
        skew: of a process's clock, at most, to either side.
        window: how far back a later process begins to read; None: at the beginning of the log.
        delayed: share of messages that are late, by up to 200 s.
        doubled: share of messages that are appended once more, later.
        pause: share of a process's steps that are followed by a pause of up to 300 s.
        intervals: between heartbeats, of which each process says one.
        troubles: what happens when.
    """

    at_most_once: bool
    append_time: bool
    clients: int
    headerless: int
    keys: int
    skew: int
    window: float | None
    delayed: float
    doubled: float
    pause: float
    intervals: tuple[int, ...]
    troubles: tuple[tuple[float, Trouble], ...]

    @property
    def ends_at(self) -> float:
        """When everybody must have come to rest: clocks that are ahead are waited for."""
        return STORM + 900.0 + 2 * self.skew

    @property
    def is_exclusive(self) -> bool:
        """Whether leases keep two clients from handing out the same partition at once.

        At-most-once asks the log alone, and not even its own clock: an owner that is late hands out
        what was its own when its heartbeat was appended.
        """
        truncated = any(each is Trouble.TRUNCATE for _, each in self.troubles)
        leased = self.append_time and not self.at_most_once
        return leased and not self.headerless and not truncated


def draw(dice: Random, *, at_most_once: bool | None = None) -> Plan:
    """Draw a run; `at_most_once`: None when that is drawn, too."""
    once = dice.random() < 0.6 if at_most_once is None else at_most_once
    kinds = tuple(Trouble)
    often = (Trouble.RESTART,) * 3
    happens = sorted(dice.uniform(60, STORM - 60) for _ in range(dice.randrange(8)))
    return Plan(
        at_most_once=once,
        append_time=dice.random() < 0.5,
        clients=dice.choice((3, 4)),
        headerless=0 if once else dice.choice((0, 0, 1)),
        keys=dice.choice((1, 1, 2)),
        skew=dice.choice((0, 5, 90, 600)),
        window=dice.choice((None, 120.0, 240.0, 240.0, 3600.0)),
        delayed=dice.choice((0.05, 0.2, 0.4)),
        doubled=dice.choice((0.0, 0.1, 0.3)),
        pause=dice.choice((0.0, 0.02, 0.05)),
        intervals=dice.choice(((60,), (60,), (20, 60), (20 if once else 5, 60))),
        troubles=tuple((at, dice.choice(kinds + often)) for at in happens),
    )
