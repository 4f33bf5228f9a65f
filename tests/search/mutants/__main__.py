"""`make search ARGS=mutants`: faults, each planted in memory, each to be found by simulation alone.

    make search ARGS="mutants lease --schedules 1000"

Names are parts of mutants' names; without any, all are tried. Ends with status 1 when a mutant
survives that does not say why simulation has not found it so far.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from tests.search.mutants.hunting import FOREVER, SAVED, Finding, hunt, replay_saved
from tests.search.mutants.listed import ALL
from tests.search.mutants.mutant import Mutant

_SCHEDULES = 10_000
_FIRST = "seed of the first schedule; 0 plays those, too, of which only the plans were looked at"


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; default: all mutants")
    parser.add_argument("--schedules", type=int, default=_SCHEDULES, help="at most, for each")
    parser.add_argument("--first", type=int, help=_FIRST)
    parser.add_argument("--seconds", type=float, default=FOREVER, help="at most, for each")
    parser.add_argument("--processes", type=int, default=2, help="at once")
    parser.add_argument("--without", action="append", default=[], help="oracle to switch off")
    parser.add_argument("--list", action="store_true", help="only say which there are")
    parser.add_argument("--saved", action="store_true", help=f"replay {SAVED.name}, hunt nothing")
    return parser.parse_args(arguments)


def wanted_of(names: Sequence[str]) -> tuple[Mutant, ...]:
    """Return the mutants that are meant.

    Raises:
        SystemExit: a name is no part of any mutant's.
    """
    for name in names:
        if not any(name in mutant.name for mutant in ALL):
            raise SystemExit(f"no mutant's name contains {name!r}; --list says which there are")
    return tuple(
        mutant for mutant in ALL if not names or any(name in mutant.name for name in names)
    )


def describe(mutant: Mutant) -> str:
    """Say what a mutant is: where, and which lines become which."""
    lines = [f"{mutant.name}  [{mutant.module}, level {mutant.level.value}, {mutant.mode.value}]"]
    for change in mutant.changes:
        lines += [f"  - {line}" for line in change.old.splitlines()]
        lines += [f"  + {line}" for line in change.new.splitlines()]
    return "\n".join(lines)


def verdict(finding: Finding) -> str:
    """Say what became of a mutant, in a line."""
    name, after = finding.mutant.name, f"{finding.needed:>6} {finding.seconds:>7.1f} s"
    if finding.noisy:
        name += f" [{finding.noisy} not counted: broken without it, too]"
    if not finding.played:
        return f"UNPLAYED {after}  {name}: its schedules begin at {finding.first}"
    if not finding.killed:
        why = f" (eludes: {finding.mutant.eludes})" if finding.mutant.eludes else ""
        return f"SURVIVED {after}  {name}{why}"
    asked = "" if finding.mutant.rule in finding.rules else f" (expected {finding.mutant.rule})"
    by = f"{', '.join(finding.rules)} ({', '.join(finding.oracles)})"
    return f"killed   {after}  {name}: {by}{asked}"


def main(arguments: Sequence[str]) -> int:
    wanted = options(arguments)
    mutants = wanted_of(wanted.names)
    if wanted.list:
        sys.stdout.write("".join(f"{describe(each)}\n" for each in mutants))
        return 0

    if wanted.saved:
        return replay_saved(mutants, wanted.processes)

    def one(mutant: Mutant) -> Finding:
        return hunt(
            mutant,
            wanted.schedules,
            without=wanted.without,
            first=wanted.first,
            seconds=wanted.seconds,
        )

    findings = []
    with ThreadPoolExecutor(wanted.processes) as pool:
        for done in as_completed([pool.submit(one, each) for each in mutants]):
            findings.append(done.result())
            sys.stderr.write(f"{len(findings):>3}/{len(mutants)} {verdict(findings[-1])}\n")
    survivors = [each for each in findings if not each.killed and not each.mutant.eludes]
    killed = sum(each.killed for each in findings)
    sys.stderr.write(f"{killed} of {len(findings)} mutants killed\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
