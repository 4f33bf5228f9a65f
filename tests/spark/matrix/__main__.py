"""Strike a streaming query, or have an hour of coming and going, and judge the table.

`python -m tests.spark.matrix [CELL ...] [--list] [--again] [--seed N] [--ledger FILE]`
`python -m tests.spark.matrix soak [--minutes 60] [--rate 500] [--brokers 3] [--seed N]`

A cell is named `victim/moment/size`, such as `reader/mid-batch/three`; a part of a name, or a
pattern, names all it fits. Cells whose last run with this kgroup was clean are left out.

Decides: the options, and the order: all cells on one cluster, then all on the other.
Never: leaves a process behind, also when it is interrupted.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from random import SystemRandom

from kgroup.testing.kafka import DEFAULT_VERSION, RealKafka
from tests.spark.matrix import ledger
from tests.spark.matrix.cells import WHAT, WHEN, Cell, cells, chosen
from tests.spark.matrix.play import play
from tests.spark.matrix.program import session
from tests.spark.matrix.scene import Stage
from tests.spark.matrix.soak import Soak, Terms

_SOAK = "soak"


def say(text: str) -> None:
    print(text, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(words)
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell has what runs in its background ignore the first.
        signal.signal(number, signal.default_int_handler)
    if options.list:
        _list(options.ledger)
        return 0
    try:
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="kgroup-matrix-"))
            stack.callback(_remove_if_empty, folder)
            if options.cells == [_SOAK]:
                return _soak(options, folder)
            return _matrix(options, folder)
    except KeyboardInterrupt:
        say("interrupted; what was played stands in the ledger")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.spark.matrix",
        description="Strike a streaming query of kgroup, and judge the table it filled.",
    )
    parser.add_argument("cells", nargs="*", metavar="CELL", help="names or patterns, or: soak")
    parser.add_argument("--list", action="store_true", help="list the cells")
    parser.add_argument("--again", action="store_true", help="cells that were clean, too")
    parser.add_argument("--seed", type=int, help="of chance; the ledger has it")
    parser.add_argument("--ledger", type=Path, default=ledger.LEDGER, help="where lines are added")
    parser.add_argument("--kafka", default=DEFAULT_VERSION, help="version of the brokers")
    parser.add_argument("--minutes", type=float, default=60.0, help="of the soak")
    parser.add_argument("--rate", type=int, default=500, help="records/s of the soak")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=3, help="of the soak")
    parser.add_argument(
        "--restart-every",
        type=float,
        default=10.0,
        metavar="MINUTES",
        help="between two restarts of a broker in the soak; 0 for none",
    )
    return parser


def _list(path: Path) -> None:
    done = ledger.passed(path, ledger.code())
    for cell in cells():
        clean = "clean" if cell.name in done else ""
        say(f"{cell.name:32} {clean:6} {WHAT[cell.victim]}; {WHEN[cell.moment]}")


def _remove_if_empty(folder: Path) -> None:
    if not any(folder.glob("*")):
        shutil.rmtree(folder, ignore_errors=True)


# -- the matrix ------------------------------------------------------------------------------------


def _matrix(options: argparse.Namespace, folder: Path) -> int:
    try:
        wanted = chosen(options.cells)
    except ValueError as error:
        say(str(error))
        return 2
    done = set() if options.again else ledger.passed(options.ledger, ledger.code())
    left = [cell for cell in wanted if cell.name not in done]
    say(f"{len(wanted)} cells, {len(wanted) - len(left)} of them clean before")
    if not left:
        return 0
    spark = session("local[2,4]", "the judge of the matrix")
    try:
        failed = [
            name
            for brokers, same in groupby(left, key=lambda cell: cell.brokers)
            for name in _on_one_cluster(options, (spark, folder), brokers, list(same))
        ]
    finally:
        spark.stop()
    say(f"{len(left) - len(failed)} of {len(left)} clean" + "".join(f"\n  {f}" for f in failed))
    return 1 if failed else 0


def _on_one_cluster(
    options: argparse.Namespace, judge: tuple[object, Path], brokers: int, same: Sequence[Cell]
) -> list[str]:
    """Play cells; return the names of those that were not clean."""
    spark, folder = judge
    failed: list[str] = []
    with RealKafka.start(options.kafka, brokers, progress=say) as kafka:
        for number, cell in enumerate(same, 1):
            seed = SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
            kafka.heal()
            line = play(Stage(kafka, spark, folder), cell, seed)
            ledger.note(options.ledger, line)
            word = "clean" if line["clean"] else "NOT CLEAN"
            say(f"[{number}/{len(same)}] {cell.name}: {word} in {line['seconds']:.0f} s")
            for problem in line["problems"]:
                say(f"    {problem}")
            failed += [] if line["clean"] else [cell.name]
    return failed


# -- the soak --------------------------------------------------------------------------------------


def _soak(options: argparse.Namespace, folder: Path) -> int:
    terms = Terms(
        minutes=options.minutes,
        rate=options.rate,
        seed=SystemRandom().randrange(1 << 31) if options.seed is None else options.seed,
        restart_every=options.restart_every if options.brokers == 3 else 0,
    )
    say(f"a soak of {terms.minutes:g} minutes, seed {terms.seed}")
    with RealKafka.start(options.kafka, options.brokers, progress=say) as kafka:
        line = Soak(kafka, folder, terms, say).run()
    ledger.note(options.ledger, line)
    for problem in line["problems"]:
        say(f"    {problem}")
    say(f"soak: {'clean' if line['clean'] else 'NOT CLEAN'}, {line['records']:,} records")
    if line["clean"]:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if line["clean"] else 1


if __name__ == "__main__":
    sys.exit(main())
