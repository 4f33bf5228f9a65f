"""`make differential`: random scripts on a real broker and on the core.

    make differential ARGS="--scripts 1000 --version 4.3.1 --seed 1"

Ends with status 1 when something differs that nothing explains.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.testing.differential.campaign import Tally, broker_for, compare, draw_scripts
from tests.testing.differential.judging import Difference
from tests.testing.differential.minimise import minimise
from tests.testing.differential.planning import SETTINGS
from tests.testing.differential.report import describe, document_of, write_ledger
from tests.testing.differential.script import Setting
from tests.testing.differential.trace import save_traces

SAVED = Path(__file__).parent / "saved"

_VERSIONS = ("3.9.1", "4.3.1")
_DELAYED_SHARE = 4
_MINIMISED = 4


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make differential", description=__doc__)
    parser.add_argument("--scripts", type=int, default=200, help="how many for each version")
    parser.add_argument("--version", action="append", help=f"of Kafka; default {_VERSIONS}")
    parser.add_argument("--seed", type=int, default=1, help="of the first script")
    parser.add_argument("--concurrency", type=int, default=40, help="scripts at once")
    parser.add_argument("--save", type=int, default=0, help="traces to save for the replay test")
    parser.add_argument("--ledger", action="store_true", help="write the figures to the ledger")
    parser.add_argument(
        "--whole", action="store_true", help="do not make differing scripts smaller"
    )
    parser.add_argument("--json", action="store_true", help="figures to the standard output")
    return parser.parse_args(arguments)


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def one_version(version: str, wanted: argparse.Namespace) -> dict[Setting, Tally]:
    """Run all scripts of a version: a quarter of them with the second settings."""
    delayed = wanted.scripts // _DELAYED_SHARE
    counts = dict(zip(SETTINGS, (wanted.scripts - delayed, delayed), strict=True))
    tallies = {}
    for setting, count in counts.items():
        say(f"{version}, {setting}: drawing {count} scripts from seed {wanted.seed}")
        scripts = draw_scripts(range(wanted.seed, wanted.seed + count), setting, version)
        if not scripts:
            continue
        with broker_for(version, setting, say) as address:
            tally = compare(address, version, scripts, concurrency=wanted.concurrency, say=say)
            if not wanted.whole:
                show(tally, address)
        tallies[setting] = tally
        say(
            f"{version}, {setting}: {tally.scripts} scripts, {len(tally.differences)} "
            f"difference(s), {sum(tally.explained.values())} explained, "
            f"{tally.late + tally.stalled} run(s) discarded, {tally.given_up} given up"
        )
    return tallies


def show(tally: Tally, address: tuple[str, int]) -> None:
    """Print one difference of each kind, made smaller; the others by name."""
    kinds: dict[str, Difference] = {}
    for difference in tally.differences:
        kinds.setdefault(difference.signature, difference)
    for number, difference in enumerate(kinds.values()):
        small = minimise(address, difference, say) if number < _MINIMISED else difference
        sys.stderr.write(f"{describe(small)}\n")


def save(version: str, tallies: dict[Setting, Tally], count: int) -> None:
    """Save the first traces of each setting for the replay test."""
    delayed = count // _DELAYED_SHARE
    shares = (count - delayed, delayed)
    traces = []
    for share, setting in zip(shares, SETTINGS, strict=True):
        known = sorted(tallies[setting].traces, key=lambda trace: trace.script.seed)
        traces += known[:share]
    SAVED.mkdir(exist_ok=True)
    save_traces(SAVED / f"{version}.jsonl.gz", traces)


def main(arguments: Sequence[str]) -> int:
    wanted = options(arguments)
    documents = {}
    try:
        for version in wanted.version or _VERSIONS:
            tallies = one_version(version, wanted)
            documents[version] = document_of(tallies, wanted.seed)
            if wanted.ledger:
                write_ledger(version, documents[version])
            if wanted.save:
                save(version, tallies, wanted.save)
    except KeyboardInterrupt:
        say("stopped; the broker is gone")
        return 130
    finally:
        if wanted.json:
            sys.stdout.write(f"{json.dumps(documents, indent=1)}\n")
    # Nothing that differs is no success where nothing was compared.
    failed = [each for each in documents.values() if each["differences"] or not each["scripts"]]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
