"""A sitting with a fuzz target: its next inputs.

Decides: the number of an input: each hundred thousand are mutated with a seed of their own, the
first as `make search ARGS=fuzz` does it; the corpus itself is judged among those only.
Never: counts inputs of which earlier ones are not judged: what was done is one range.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.search.campaign.ledger import Ledger, Sitting
from tests.search.fuzz.crashers import save
from tests.search.fuzz.loop import Score, run
from tests.search.fuzz.targets import TARGETS
from tests.search.simulation.campaign_ledger import circumstances

__all__ = ["Piece", "pieces", "sit_with_inputs"]

_SEED_OF: Final = 100_000
_WAITING: Final = 2
"""Pieces that wait for each process, so that none is idle."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Inputs that one process judges in one go.

    Args:
        target: its name.
        seed: of their mutations.
        start: how many of that seed come before.
        count: of inputs.
    """

    target: str
    seed: int
    start: int
    count: int


def pieces(target: str, first: int, count: int) -> Iterator[Piece]:
    """Yield the pieces of a range of inputs.

    Args:
        target: its name.
        first: number of the first input.
        count: of inputs.
    """
    size = _SEED_OF // TARGETS[target].costs
    at, end = first, first + count
    while at < end:
        block, start = divmod(at, _SEED_OF)
        upto = min(start - start % size + size, _SEED_OF, start + end - at)
        yield Piece(target, block + 1, start, upto - start)
        at += upto - start


def judge(piece: Piece) -> Score:
    """Judge a piece, in whichever process."""
    target = TARGETS[piece.target]
    return run(target, piece.count, piece.seed, start=piece.start, bred=piece.seed > 1)


def sit_with_inputs(
    target: str,
    count: int,
    ledger: Ledger,
    *,
    processes: int,
    crashers: Path,
    say: Callable[[str], object],
) -> Sitting:
    """Judge the next inputs of a target until all are or Ctrl-C, and write down what was done.

    Args:
        target: its name.
        count: of inputs.
        ledger: where it is written down.
        processes: how many judge.
        crashers: folder for inputs that break a promise.
        say: is told how it goes.
    """
    first, began = ledger.next_of(target), time.monotonic()
    sitting: Sitting = {"kind": target, "first": first, "count": 0, "processes": processes}
    sitting |= {"seconds": 0.0, "per_second": 0, "accepted": 0, "processor_seconds": 0.0}
    sitting |= {"findings": {}, **circumstances()}
    try:
        for score in _scores([*pieces(target, first, count)], processes):
            _add(sitting, score, time.monotonic() - began)
            for finding in score.findings:
                save(finding.target, finding.data, crashers)
            ledger.put(sitting)
            say(_told(sitting, count))
    except KeyboardInterrupt:
        if sitting["count"]:
            ledger.put(sitting)
        say(f"{target}: ended after {sitting['count']:,} inputs, which are written down")
    return sitting


def _add(sitting: Sitting, score: Score, seconds: float) -> None:
    sitting["count"] += score.inputs
    sitting["accepted"] += score.accepted
    sitting["processor_seconds"] = round(sitting["processor_seconds"] + score.processor, 1)
    sitting["seconds"] = round(seconds, 1)
    sitting["per_second"] = round(sitting["count"] / seconds) if seconds else 0
    for kind, number in score.kinds.items():
        sitting["findings"][kind] = sitting["findings"].get(kind, 0) + number


def _told(sitting: Sitting, count: int) -> str:
    return (
        f"{sitting['kind']}: {sitting['count']:,} of {count:,} inputs from {sitting['first']:,}, "
        f"{sitting['per_second']:,}/s, findings: {sitting['findings'] or 'none'}"
    )


def _scores(wanted: list[Piece], processes: int) -> Iterator[Score]:
    """Yield the score of each piece, in order."""
    with _pool(processes) as pool:
        waiting: list[Future[Score]] = []
        for piece in wanted:
            waiting.append(pool.submit(judge, piece))
            if len(waiting) > processes * _WAITING:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes to which Ctrl-C means nothing; those that are at something are ended."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, initializer=_deafen)
    try:
        yield pool
    finally:
        started = [*(pool._processes or {}).values()]
        pool.shutdown(wait=False, cancel_futures=True)
        for process in started:
            process.terminate()


def _deafen() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
