"""What of a process is measured: CPU of all its threads and children, clock, peak of memory.

Decides: that the clock is the machine's monotonic one, which the parent reads as well.
Never: counts the memory of the process that started this one, as `ru_maxrss` may.
"""

import resource
import time
from pathlib import Path
from typing import Any
from zlib import crc32

from kgroup.bench.clients.tally import Tally


def cpu() -> float:
    """Return the CPU seconds of this process since it began, children included."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in found)


def mark() -> dict[str, float]:
    """Return clock and CPU now."""
    return {"at": time.monotonic(), "cpu_s": cpu()}


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Pass:
    """One reading of a topic, begun when it is made.

    Args:
        group: its group.
        proof: whether values are summed by their contents.

    Attributes:
        group: the same.
        tally: sums so far.
    """

    def __init__(self, group: str, *, proof: bool) -> None:
        self.group = group
        self.tally = Tally(proof=proof)
        self._first_at: float | None = None
        self._first_records = 0
        self._ended: dict[str, float] | None = None
        self._began = mark()

    def is_late(self, limit: float) -> bool:
        """Return whether it has taken longer than so many seconds: what is missing was lost."""
        return time.monotonic() - self._began["at"] > limit

    def arrived(self, records: int) -> None:
        """So many were handed out; the first time counts."""
        if self._first_at is None:
            self._first_at = time.monotonic()
            self._first_records = records

    def complete(self) -> None:
        """The last record was seen; the consumer is not closed yet."""
        self._ended = mark()

    def result(self) -> dict[str, Any]:
        """Return the result's entry about this pass."""
        return {
            "began": self._began,
            "first_at": self._first_at,
            "first_records": self._first_records,
            "ended": self._ended,
            "seen": self.tally.seen(),
        }


class Commits:
    """Commits one after another: CPU of the whole loop, time of each commit.

    Args:
        count: how many are measured.
        warm_up: how many go before.
    """

    def __init__(self, count: int, warm_up: int) -> None:
        self.total = warm_up + count
        self._warm_up = warm_up
        self._began: dict[str, float] = {}
        self._times: list[float] = []

    def begin(self, number: int) -> None:
        """Commit `number`, counted from 0, is about to be read for and made."""
        if number == self._warm_up:
            self._began = mark()
            self._times.clear()

    def took(self, seconds: float) -> None:
        """One commit has been answered."""
        self._times.append(seconds)

    def result(self, committed: int) -> dict[str, Any]:
        """Return the result.

        Args:
            committed: what the group has committed, as its coordinator says.
        """
        ended, times = mark(), sorted(self._times)
        return {
            "commits": len(times),
            "committed": committed,
            "cpu_s": ended["cpu_s"] - self._began["cpu_s"],
            "wall_s": ended["at"] - self._began["at"],
            "p50_s": times[len(times) // 2],
            "p99_s": times[len(times) * 99 // 100],
            "max_s": times[-1],
        }


async def read_each(consumer: Any, run: Pass, expected: int) -> None:  # noqa: ANN401
    """Read record by record from a consumer that is iterated over asynchronously.

    Args:
        consumer: of a client; its records have `offset` and `value`.
        run: what is measured.
        expected: records until it ends.
    """
    proof = run.tally.proof
    records = offsets = size = crc = 0
    try:
        async for record in consumer:
            if not records:
                run.arrived(1)
            records += 1
            offsets += record.offset
            size += len(record.value)
            if proof:
                crc += crc32(record.value)
            if records == expected:
                break
    finally:
        run.tally.add(records, offsets, size, crc)  # when its time was up, too
