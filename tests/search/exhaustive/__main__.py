"""The command line of the exhaustive search.

Decides: words and exit codes: 0 nothing broken, 1 a promise broken, 2 wrong arguments, 130 stopped,
with the figures until then.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from kgroup.membership.step import step
from tests.membership.machine import Machine
from tests.search.exhaustive.report import as_json
from tests.search.exhaustive.scope import Fault, Mode, Scope
from tests.search.exhaustive.search import Found, Progress, Search
from tests.search.exhaustive.story import told
from tests.search.exhaustive.world import World

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None, steps: Machine = step) -> int:
    """Search one world and say what was found.

    Args:
        arguments: of the command line; None = those of the process.
        steps: the machine of all members.

    Returns:
        The exit code.
    """
    options = _parser().parse_args(arguments)
    try:
        scope = _scope(options)
    except ValueError as error:
        sys.stderr.write(f"wrong arguments: {error}\n")
        return 2
    world = World(scope, steps, reduced=not options.every_order)
    search = Search(world, limit=options.states)
    try:
        found = search.run(_show)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nstopped: {_words(search.progress)}\n")
        if options.json:
            sys.stdout.write(f"{json.dumps(as_json(search.so_far), indent=2)}\n")
        return 130
    sys.stderr.write("\n")
    figures = json.dumps(as_json(found), indent=2) if options.json else _summary(found)
    sys.stdout.write(f"{figures}\n")
    if found.broken is None:
        return 0
    stream = sys.stderr if options.json else sys.stdout
    stream.write(f"{told(found, world)}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    kinds = ", ".join(kind.value for kind in Fault)
    parser = argparse.ArgumentParser(prog="python -m tests.search.exhaustive", description=__doc__)
    parser.add_argument("--mode", choices=[mode.value for mode in Mode], default="cooperative")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--faults", type=int, default=1, help="how many happen at most")
    parser.add_argument("--kinds", help=f"which faults, with commas between: {kinds}")
    parser.add_argument("--closes", type=int, default=0, help="how many members close at most")
    parser.add_argument("--session", type=int, default=2, help="session timeout in ticks")
    parser.add_argument("--rebalance", type=int, default=2, help="rebalance timeout in ticks")
    parser.add_argument("--patience", type=int, default=1, help="debts an application may have")
    parser.add_argument("--late-requests", action="store_true", help="of closed connections")
    parser.add_argument("--every-order", action="store_true", help="leave no order of moves out")
    parser.add_argument("--states", type=int, default=10_000_000, help="stop at so many")
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")
    return parser


def _scope(options: argparse.Namespace) -> Scope:
    names = [kind.value for kind in Fault] if options.kinds is None else options.kinds.split(",")
    return Scope(
        Mode(options.mode),
        members=options.members,
        partitions=options.partitions,
        faults=options.faults,
        kinds=frozenset(Fault(name) for name in names if name),
        closes=options.closes,
        session=options.session,
        rebalance=options.rebalance,
        patience=options.patience,
        late_requests=options.late_requests,
    )


def _show(progress: Progress) -> None:
    sys.stderr.write(f"\r{_words(progress)}")
    sys.stderr.flush()


def _words(progress: Progress) -> str:
    rate = progress.expanded / progress.seconds if progress.seconds > 0 else 0.0
    return (
        f"{progress.states} states, {progress.states - progress.expanded} wait, "
        f"{progress.transitions} transitions, depth {progress.depth}, "
        f"{progress.seconds:.1f} s, {rate:.0f}/s  "
    )


def _summary(found: Found) -> str:
    end = "complete" if found.complete else "stopped"
    if found.broken is not None:
        end = "broken"
    rest = "" if found.rest_ticks is None else f"; at rest within {found.rest_ticks} ticks"
    figures = as_json(found)
    return (
        f"{found.scope}: {end}: {_words(found.progress).strip()}{rest}; "
        f"{figures['rows_fired']} of {figures['rows']} rows, "
        f"{figures['cells_fired']} of {figures['cells']} cells fired"
    )


if __name__ == "__main__":
    sys.exit(main())
