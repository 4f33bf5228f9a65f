"""`make search ARGS=fuzz`: arbitrary bytes against whatever reads bytes.

    make fuzz
    make search ARGS="fuzz T2 --inputs 1000000 --seed 7"

Ends with status 1 when a promise was broken; the inputs that break it are saved as crashers.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.search.fuzz.loop import Finding, Score, run
from tests.search.fuzz.target import CRASHERS, Target, save
from tests.search.fuzz.targets import TARGETS

_EVERY = 5.0
_ALL = "all"
_INTERRUPTED = 130


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("target", nargs="?", default=_ALL, help="T1 to T12; default: one by one")
    parser.add_argument("--inputs", type=int, default=100_000, help="how many for each target")
    parser.add_argument("--seed", type=int, default=1, help="the same one gives the same inputs")
    parser.add_argument("--corpus", type=Path, help="a folder of more inputs to begin with")
    parser.add_argument("--json", action="store_true", help="figures to the standard output")
    parser.add_argument("--crashers", type=Path, default=CRASHERS, help="where to save findings")
    return parser.parse_args(arguments)


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


class Teller:
    """Tells how a run goes, now and then, and of each finding at once.

    Args:
        wanted: of inputs.
        folder: where inputs are saved that break a promise.
    """

    def __init__(self, wanted: int, folder: Path) -> None:
        self._wanted = wanted
        self._folder = folder
        self._printed_at = time.monotonic()

    def progress(self, score: Score) -> None:
        now = time.monotonic()
        if now - self._printed_at < _EVERY:
            return
        self._printed_at = now
        share = 100 * score.inputs // max(self._wanted, 1)
        say(f"{score.target}: {score.inputs} inputs ({share} %), {score.rate:.0f}/s")

    def found(self, finding: Finding) -> None:
        path = save(finding.target, finding.data, self._folder)
        say(f"{finding.target}: {finding.kind}; saved as {path.name}\n{finding.said}")

    def end(self, score: Score) -> None:
        share = 100 * score.accepted // max(score.inputs, 1)
        broken = f"{len(score.kinds)} kind(s) of findings" if score.kinds else "no finding"
        say(
            f"{score.target}: {score.inputs} inputs from seed {score.seed} in {score.seconds:.1f} s"
            f" ({score.rate:.0f}/s; {score.processor:.1f} s of the processor's),"
            f" {share} % accepted, {broken}"
        )


def chosen(name: str) -> list[Target]:
    if name == _ALL:
        return list(TARGETS.values())
    if name.upper() not in TARGETS:
        raise SystemExit(f"there is no target {name!r}: {', '.join(TARGETS)}, or {_ALL}")
    return [TARGETS[name.upper()]]


def one_by_one(targets: list[Target], wanted: argparse.Namespace, corpus: list[bytes]) -> int:
    scores = []
    for target in targets:
        teller = Teller(wanted.inputs, wanted.crashers)
        score = run(
            target, wanted.inputs, wanted.seed,
            corpus=corpus, found=teller.found, progress=teller.progress,
        )  # fmt: skip
        teller.end(score)
        scores.append(score)
        if score.inputs < wanted.inputs:
            break
    report(scores, wanted)
    if any(score.kinds for score in scores):
        return 1
    return 0 if all(score.inputs >= wanted.inputs for score in scores) else _INTERRUPTED


def report(scores: Sequence[Score], wanted: argparse.Namespace) -> None:
    if wanted.json:
        documents: list[dict[str, Any]] = [score.document() for score in scores]
        sys.stdout.write(f"{json.dumps(documents, indent=1)}\n")


def main(arguments: Sequence[str]) -> int:
    wanted = options(arguments)
    folder = sorted(wanted.corpus.iterdir()) if wanted.corpus else []
    corpus = [path.read_bytes() for path in folder if path.is_file()]
    return one_by_one(chosen(wanted.target), wanted, corpus)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
