"""Feeds a target and keeps the score.

Decides: when an input is a finding: a promise is broken, anything escapes that no reader may raise,
or reading takes more time or memory than the target allows. Time over the bound counts only if it
is the processor's, each of several times again, so that a busy machine breaks no promise.
Never: stops at a finding; of each kind the first few inputs are kept.

Memory is traced for one input in `SAMPLED`; what libraries allocate by themselves is not seen.
"""

import signal
import threading
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.search.fuzz.mutation import inputs
from tests.search.fuzz.target import Broken, Target

BATCH: Final = 250
SAMPLED: Final = 200
HANGS: Final = 30
"""Seconds of processor time after which the input at hand is taken to hang its batch."""

_AGAIN: Final = 3
_KEPT: Final = 2
_ROOT: Final = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that an input breaks.

    Args:
        target: its name.
        kind: what tells it from other findings: what was raised, and where.
        said: the error and where it came from.
        data: the input.
    """

    target: str
    kind: str
    said: str
    data: bytes


@dataclass(slots=True)
class Score:
    """What a run did.

    Args:
        target: its name.
        seed: of the run.
        inputs: judged so far.
        accepted: of those, how many were read as something.
        seconds: spent, making the corpus not included.
        processor: seconds of those that were the processor's.
        bytes: of all inputs.
        sampled: inputs whose memory was measured.
        findings: the first few of each kind.
        kinds: kind of finding -> inputs.
    """

    target: str
    seed: int
    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    bytes: int = 0
    sampled: int = 0
    findings: list[Finding] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Inputs per second."""
        return self.inputs / self.seconds if self.seconds else 0.0

    def document(self) -> dict[str, Any]:
        """Return the figures, for JSON."""
        return {
            "target": self.target,
            "seed": self.seed,
            "inputs": self.inputs,
            "accepted": self.accepted,
            "seconds": round(self.seconds, 2),
            "inputs_per_second": round(self.rate),
            "processor_seconds": round(self.processor, 2),
            "bytes": self.bytes,
            "memory_sampled": self.sampled,
            "findings": dict(self.kinds),
        }

    def note(self, finding: Finding) -> bool:
        """Count a finding; tell whether it is one of the first of its kind."""
        self.kinds[finding.kind] += 1
        if self.kinds[finding.kind] > _KEPT:
            return False
        self.findings.append(finding)
        return True


# -- one input ---------------------------------------------------------------------------------


class Judge:
    """Judges inputs of one target, one by one.

    Args:
        target: what is fed.
        score: where the verdicts are counted.
        found: called with the first findings of each kind.
    """

    def __init__(
        self, target: Target, score: Score, found: Callable[[Finding], object] = lambda _: None
    ) -> None:
        self._target = target
        self._score = score
        self._found = found

    def judge(self, data: bytes) -> None:
        """Judge one input."""
        target, score = self._target, self._score
        score.inputs += 1
        score.bytes += len(data)
        began = time.perf_counter()
        try:
            score.accepted += target.check(data)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a library's panic is no Exception
            self._note(error, data)
            return
        took = time.perf_counter() - began
        if took > target.patience(data):
            self._judged(_slow, data)
        if target.room is not None and score.inputs % SAMPLED == 0:
            score.sampled += 1
            self._judged(_large, data)

    def _judged(self, measure: Callable[[Target, bytes], str | None], data: bytes) -> None:
        excess = measure(self._target, data)
        if excess is not None:
            self._note(Broken(excess), data)

    def _note(self, error: BaseException, data: bytes) -> None:
        finding = Finding(self._target.name, _kind(error), _said(error), data)
        if self._score.note(finding):
            self._found(finding)


def replay(target: Target, data: bytes) -> None:
    """Judge a saved input: whatever is wrong with it is raised."""
    target.check(data)
    for measure in (_slow, _large):
        excess = measure(target, data)
        if excess is not None:
            raise Broken(excess)


def _slow(target: Target, data: bytes) -> str | None:
    """Say by how much reading is too slow, even the quickest of several times."""
    best = min(_processor_seconds(target, data) for _ in range(_AGAIN))
    allowed = target.patience(data)
    if best <= allowed:
        return None
    return f"slow: {len(data)} bytes take {best:.3f} s of processor time, not {allowed:.3f}"


def _processor_seconds(target: Target, data: bytes) -> float:
    began = time.process_time()
    with suppress(Exception):
        target.read(data)
    return time.process_time() - began


def _large(target: Target, data: bytes) -> str | None:
    """Say by how much reading needs too much memory, even the least of several times."""
    if target.room is None:
        return None
    allowed = target.room(data)
    peak = 0
    for _ in range(_AGAIN):
        peak = _peak(target, data)
        if peak <= allowed:
            return None
    return f"large: reading {len(data)} bytes allocates {peak}, not {allowed}"


def _peak(target: Target, data: bytes) -> int:
    tracemalloc.start(1)
    try:
        with suppress(Exception):
            target.read(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _kind(error: BaseException) -> str:
    """Name a finding by what was raised and the last place of ours it passed."""
    text = str(error).split(":")[0] if isinstance(error, Broken) else ""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _is_ours(frame.filename)]
    place = f" at {_short(ours[-1].filename)}:{ours[-1].name}" if ours and not text else ""
    return f"{type(error).__name__}{place}{' ' if text else ''}{text[:80]}"


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(_ROOT) or filename.startswith("<")


def _short(filename: str) -> str:
    path = Path(filename)
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else filename


def _said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)).replace(f"{_ROOT}/", "")


# -- many inputs -------------------------------------------------------------------------------


def run(
    target: Target,
    count: int,
    seed: int,
    *,
    start: int = 0,
    bred: bool = False,
    corpus: Sequence[bytes] = (),
    found: Callable[[Finding], object] = lambda _: None,
    progress: Callable[[Score], object] = lambda _: None,
) -> Score:
    """Judge `count` inputs; an interrupt ends the run with what was done.

    Args:
        target: what is fed.
        count: of inputs.
        seed: the same one gives the same inputs.
        start: inputs of that seed that are skipped, because another run judges them.
        bred: whether the corpus itself is left out, because another run judges it.
        corpus: more inputs to begin with, beside the target's own.
        found: called with the first findings of each kind.
        progress: called after each batch.
    """
    score = Score(target.name, seed)
    supply = inputs([*corpus, *target.corpus()], seed, tokens=target.tokens, batch=BATCH, bred=bred)
    judge = Judge(target, score, found).judge
    began, began_processor = time.perf_counter(), time.process_time()
    with suppress(KeyboardInterrupt):
        for batch in _slice(supply, start, count):
            _judge_all(batch, judge)
            score.seconds = time.perf_counter() - began
            progress(score)
    score.seconds = time.perf_counter() - began
    score.processor = time.process_time() - began_processor
    return score


def _judge_all(batch: list[bytes], judge: Callable[[bytes], None]) -> None:
    with _watched():
        for data in batch:
            judge(data)


def _slice(supply: Iterator[list[bytes]], start: int, count: int) -> Iterator[list[bytes]]:
    at, end = 0, start + count
    for batch in supply:
        if at >= end:
            return
        wanted = batch[max(start - at, 0) : end - at]
        if wanted:
            yield wanted
        at += len(batch)


@contextmanager
def _watched() -> Iterator[None]:
    """Interrupt an input that does not end; possible in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    over = False

    def wake(_signal: int, _frame: object) -> None:
        if over:
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, HANGS)
        raise Broken(f"no end: not within {HANGS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, wake)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANGS)
    try:
        # 1. the input comes to its end, 2. it rings: in the inner one it still raises, and what
        # is outside of it still sees to it that nothing rings in the code of others.
        try:
            yield
        finally:
            over = True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
