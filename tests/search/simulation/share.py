"""The share of the search that `make search` does: its numbers, slices, and known failures.

Decides: which seeds of which level and mode are played, one contiguous range each, and how many are
played in one test, so that it ends within three minutes on a slow machine, too.
Never: plays saved picks: a seed, its level and its mode say everything about a run here, so that a
failure can be known by name.

`python -m tests.search.simulation.share` plays it all and says what each part costs.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tests.search.simulation.campaign import Found, play_all, quieten
from tests.search.simulation.schedule import Level, Mode, Schedule

KNOWN: Final = Path(__file__).parent / "known_failures.json"
"""Runs that are known to break something: level, mode, backend, seed, and why that is so."""


@dataclass(frozen=True, slots=True)
class Share:
    """Some seeds of one kind of group.

    Args:
        level: how much of the real thing takes part.
        mode: which groups are drawn.
        schedules: how many.
        seed: of the first; the others follow.
        backend: for level B.
    """

    level: Level
    mode: Mode
    schedules: int
    seed: int = 0
    backend: str = "asyncio"

    def __str__(self) -> str:
        backend = f" {self.backend}" if self.level is Level.B else ""
        return f"{self.level.value}{backend} {self.mode.value}"


SHARES: Final = (
    Share(Level.A, Mode.MIXED, 500),
    Share(Level.A, Mode.EAGER, 200),
    Share(Level.A, Mode.COOPERATIVE, 200),
    Share(Level.A, Mode.STATIC, 200),
    Share(Level.A_BYTES, Mode.MIXED, 20),
    Share(Level.B, Mode.MIXED, 50),
    Share(Level.B, Mode.MIXED, 50, backend="trio"),
)
"""When measured last, a run took 50 ms of processor time at levels A and A', 350 ms at level B."""

_AT_ONCE: Final = {Level.A: 100, Level.A_BYTES: 100, Level.B: 10}
"""Schedules of one test: five seconds on an idle core, a minute or two on a very busy one."""


class Slice(NamedTuple):
    """What one test plays.

    Args:
        share: of which it is a part.
        first: seed.
        number: of seeds.
    """

    share: Share
    first: int
    number: int

    def __str__(self) -> str:
        return f"{self.share} {self.first} to {self.first + self.number - 1}"

    @property
    def seeds(self) -> range:
        """The seeds of it."""
        return range(self.first, self.first + self.number)


def slices() -> Iterator[Slice]:
    """Yield every slice; the slowest kind first, so that no process is left alone with it."""
    for share in sorted(SHARES, key=lambda share: _AT_ONCE[share.level]):
        step, end = _AT_ONCE[share.level], share.seed + share.schedules
        yield from (Slice(share, at, min(step, end - at)) for at in range(share.seed, end, step))


def play_slice(part: Slice) -> Found:
    """Play a slice in this process, and nothing of it twice."""
    share = part.share
    return play_all(
        Schedule(share.level, share.mode, seed, backend=share.backend) for seed in part.seeds
    )


def known_failures(part: Slice) -> frozenset[int]:
    """Return the seeds of a slice that are known to break something."""
    kind = part.share.level.value, part.share.mode.value, part.share.backend
    return frozenset(seed for seed in part.seeds if (*kind, seed) in _listed())


@cache
def _listed() -> frozenset[tuple[str, str, str, int]]:
    rows = json.loads(KNOWN.read_text(encoding="utf-8"))
    return frozenset((row["level"], row["mode"], row["backend"], row["seed"]) for row in rows)


def main() -> None:
    """Play every slice, and tell what it costs and what is broken."""
    quieten()
    for part in slices():
        began = time.process_time()
        found = play_slice(part)
        took = time.process_time() - began
        sys.stdout.write(f"{part}: {took:.1f} s, {1000 * took / part.number:.1f} ms each\n")
        for failure in found.failures:
            said = failure.text.strip().splitlines()
            sys.stdout.write(f"  {failure.schedule.seed} {failure.rules}: {said[-1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
