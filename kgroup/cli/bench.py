"""`kgroup bench`: what clients and rebalances cost, measured, compared and shown.

Decides: the options, how progress is shown, and the exit codes: 1 when a client was wrong or the
guard found a loss, 130 after Ctrl-C, with what was finished kept.
Never: measures or judges itself; `kgroup.bench` does.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from kgroup.bench import running
from kgroup.bench.adapters import BUILT_IN, Adapters, read_own
from kgroup.bench.compare import check_machines, two_results
from kgroup.bench.guard import TOLERANCE, guarded, ratios, read_ratios
from kgroup.bench.machine import environment
from kgroup.bench.result import commit, entries_of, read
from kgroup.bench.scenario import CLUSTERS, Scenario, built_in, find, sized
from kgroup.cli.bench_progress import shown_progress
from kgroup.cli.bench_shown import (
    clear_report,
    figures_of,
    ratio_of,
    row_json,
    show,
    write_report,
)
from kgroup.cli.tables import make_table, print_whole, screen
from kgroup.errors import ArgumentError, ConfigError
from kgroup.values import dataclass

_INTERRUPTED: Final = 130
_QUICK_RUNS: Final = 3
_QUICK: Final = ("quick-consume", "quick-rebalance")
_FULL: Final = (
    *("commit", "start", "latency", "rebalance", "restart", "scale", "failover", "swarm-delayed"),
)
"""What `docs/performance.md` shows besides reading; within 45 minutes on two cores."""
_RESULT: Final = "result.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What `kgroup bench list` takes."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What `kgroup bench run` takes.

    Args:
        scenarios: names, or paths of TOML files.
        quick: whether a little is measured, roughly.
        full: whether all is measured that is about groups.
        clients: names of adapters, with commas between.
        jobs: of the scenario, with commas between.
        adapters: `NAME=COMMAND` of adapters of one's own.
        runs: measured runs of each cell.
        seconds: how long one run takes, roughly.
        seed: of the values of records.
        bootstrap: brokers to use.
        brokers: of a new Kafka, None for as many as the scenario says.
        out: folder for results.
        resume: whether an interrupted run in that folder goes on.
        overwrite: whether results in that folder are replaced.
        as_json: whether the result is printed.
    """

    scenarios: Annotated[
        list[str] | None, typer.Argument(help="Names of scenarios, or .toml files.")
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="A little of two scenarios, in two minutes; rough.")
    ] = False
    full: Annotated[bool, typer.Option("--full", help="What is about groups, in 45 minutes.")] = (
        False
    )
    clients: Annotated[
        str | None, typer.Option(help="Some clients alone: kgroup,aiokafka; the first one leads.")
    ] = None
    jobs: Annotated[
        str | None, typer.Option(help="Some of a scenario's jobs alone: join,crash.")
    ] = None
    adapters: Annotated[
        list[str] | None,
        typer.Option("--adapter", metavar="NAME=COMMAND", help="A client of your own."),
    ] = None
    runs: Annotated[int | None, typer.Option(min=1, max=100, help="Runs of each cell.")] = None
    seconds: Annotated[
        float | None, typer.Option(min=0.1, max=600, help="Roughly how long one run takes.")
    ] = None
    seed: Annotated[int | None, typer.Option(help="Of the values of records.")] = None
    bootstrap: Annotated[
        str | None, typer.Option(help="Brokers to use; without it a new Kafka of this machine.")
    ] = None
    brokers: Annotated[
        int | None, typer.Option(min=1, max=3, help="Of a new Kafka: 1 or 3; else the scenario's.")
    ] = None
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results are kept.")] = Path(
        "bench-results"
    )
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what was interrupted in that folder.")
    ] = False
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results in that folder.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """What `kgroup bench compare` takes.

    Args:
        one: the newer result.
        other: what it is compared with.
        other_machine: whether they may be of two machines.
        as_json: whether JSON is printed.
    """

    one: Annotated[Path, typer.Argument(help="A result, the newer one.")]
    other: Annotated[Path, typer.Argument(help="The result it is compared with.")]
    other_machine: Annotated[
        bool, typer.Option("--other-machine", help="Compare results of two machines, too.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What `kgroup bench report` takes.

    Args:
        result: a result.
        out: folder for page and pictures, None for that of the result.
    """

    result: Annotated[Path, typer.Argument(help="A result.")]
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where page and pictures go.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarding:
    """What `kgroup bench guard` takes.

    Args:
        against: committed ratios.
        result: a result to judge, None to measure.
        tolerance: share by which committed intervals are widened.
        write: whether the ratios are written instead of judged.
        as_json: whether JSON is printed.
    """

    against: Annotated[Path, typer.Argument(help="Committed ratios.")]
    result: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Judge this result; measure nothing.")
    ] = None
    tolerance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share by which intervals are widened.")
    ] = TOLERANCE
    write: Annotated[
        bool, typer.Option("--write", help="Write the ratios that are found; judge nothing.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False


def listing(asked: Listing) -> None:
    """List scenarios, and clients that are here or absent."""
    adapters, known = Adapters(), built_in()
    reasons = {name: adapters.absent(name) for name in adapters.names}
    absent = {name: reason for name, reason in reasons.items() if reason}
    if asked.as_json:
        scenarios = {name: {"about": each.about, "jobs": each.jobs} for name, each in known.items()}
        print(json.dumps({"scenarios": scenarios, "clients": [*reasons], "absent": absent}))
        return
    print_whole(make_table(("scenario", ""), ((name, each.about) for name, each in known.items())))
    print()
    rows = ((name, f"absent: {absent[name]}" if name in absent else "here") for name in reasons)
    print_whole(make_table(("client", ""), rows))


def run(asked: Measuring) -> None:
    """Measure scenarios; keep results as JSON, and a page of them."""
    own = read_own(asked.adapters or [])
    adapters = Adapters(own)
    clients = _words(asked.clients)
    adapters.check(clients)
    if asked.brokers not in {None, *CLUSTERS}:
        raise ArgumentError("--brokers", asked.brokers, "1 or 3")
    names = asked.scenarios or (_QUICK if asked.quick else _FULL if asked.full else ())
    if not names:
        raise ArgumentError(
            "SCENARIO", "nothing", f"some of {', '.join(built_in())}, --quick, --full"
        )
    plans = [_plan(asked, name, clients, adapters) for name in names]
    _check_folders(asked, [plan.scenario.name for plan in plans])
    documents = []
    with running.Kafkas() as kafkas:
        for plan in plans:
            documents.append(_measured(asked, plan, kafkas))
            if not documents[-1]["complete"]:
                break
    if asked.as_json:
        print(json.dumps(documents[0] if len(documents) == 1 else documents))
    if not all(document["complete"] for document in documents):
        raise typer.Exit(_INTERRUPTED)
    bad = {cell["status"] for each in documents for cell in each["cells"]} & {"wrong", "failed"}
    raise typer.Exit(1 if bad else 0)


def compare(asked: Comparing) -> None:
    """Say how one result differs from another, and where that is more than noise."""
    one, other = read(asked.one), read(asked.other)
    if not asked.other_machine:
        check_machines(one, other)
    rows = two_results(one, other)
    if not rows:
        raise ConfigError("result", str(asked.other), "a result that has a cell of the first one")
    if asked.as_json:
        print(json.dumps([row_json(row) for row in rows]))
        return
    lines = [(row.cell, *figures_of(row)) for row in rows]
    heads = ("cell", "figure", "now", "before", "ratio", "interval", "chance", "is")
    print_whole(make_table(heads, lines))


def report(asked: Reporting) -> None:
    """Show a result as tables, and write a page of HTML with its pictures."""
    document = read(asked.result)
    show(document)
    for path in write_report(document, asked.out or asked.result.parent):
        screen(stderr=True).print(f"written: {path}", markup=False)


def guard(asked: Guarding) -> None:
    """Say whether kgroup, beside aiokafka, has become worse; exit code 1 if it has."""
    then = {} if asked.write else read_ratios(asked.against)
    document = read(asked.result) if asked.result else _guarding()
    now = ratios(document)
    if not document.get("complete", True) or not now:
        raise ConfigError("result", document.get("scenario"), "a whole run, of aiokafka too")
    if asked.write:
        asked.against.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
        return
    found = guarded(now, then, asked.tolerance)
    worse = [each for each in found if each.worse]
    if asked.as_json:
        told = [{"name": each.name, "now": each.now, "then": each.then, "worse": each.worse}
                for each in found]  # fmt: skip
        print(json.dumps(told))
    else:
        heads = ("ratio kgroup / aiokafka", "now", "interval", "then", "interval then", "")
        lines = (
            (each.name, *ratio_of(each.now), *ratio_of(each.then), "WORSE" if each.worse else "")
            for each in found
        )
        print_whole(make_table(heads, lines))
    raise typer.Exit(1 if worse else 0)


# -- measuring -------------------------------------------------------------------------------------


def _plan(asked: Measuring, name: str, clients: Sequence[str], adapters: Adapters) -> running.Run:
    """Return what is to be measured of a scenario, when it can be."""
    scenario = _sized(asked, find(name))
    own = [name for name in adapters.names if name not in BUILT_IN]
    plan = running.Run(
        scenario=scenario,
        clients=clients,
        adapters=adapters,
        bootstrap=asked.bootstrap,
        brokers=asked.brokers or scenario.brokers,
        keep=asked.out / scenario.name / _RESULT,
    )
    running.check(plan)
    # A client of one's own takes part in whatever is measured.
    return replace(plan, clients=[*dict.fromkeys((*(clients or scenario.clients), *own))])


def _check_folders(asked: Measuring, names: Sequence[str]) -> None:
    """Refuse to mix results, or to write over them.

    Raises:
        ArgumentError: two scenarios have one name, or the folder has results of one.
    """
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ArgumentError("SCENARIO", name, "scenarios whose names differ: one folder each")
        kept = asked.out / name / _RESULT
        if kept.exists() and not (asked.resume or asked.overwrite):
            expected = "a folder without results; --resume goes on with them, --overwrite replaces"
            raise ArgumentError("--out", str(kept), f"{expected} them")


def _sized(asked: Measuring, scenario: Scenario) -> Scenario:
    runs = asked.runs or (_QUICK_RUNS if asked.quick else None)
    return sized(
        scenario,
        runs=runs,
        seconds=asked.seconds,
        seed=asked.seed,
        jobs=_words(asked.jobs),
    )


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _guarding() -> dict[str, Any]:
    scenario = find("guard")
    plan = running.Run(scenario=scenario, clients=(), adapters=Adapters())
    with shown_progress() as progress:
        return running.measured(plan, progress)


def _measured(asked: Measuring, plan: running.Run, kafkas: running.Kafkas) -> dict[str, Any]:
    kept = asked.out / plan.scenario.name / _RESULT
    kept.parent.mkdir(parents=True, exist_ok=True)
    if asked.overwrite:
        clear_report(kept.parent)
    before = _before(kept, plan.scenario) if asked.resume and kept.exists() else None
    if before is not None and running.is_whole(plan, before):
        return before
    known = [] if before is None else entries_of(before)
    with shown_progress() as progress:
        document = running.measured(plan, progress, known, kafkas)
    if not asked.as_json:
        show(document)
        written = ", ".join(str(path) for path in (kept, *write_report(document, kept.parent)[:1]))
        screen(stderr=True).print(f"written: {written}", markup=False)
    return document


def _before(kept: Path, scenario: Scenario) -> dict[str, Any]:
    """Return what an interrupted run has left.

    Raises:
        ArgumentError: it was another one, or on another machine.
    """
    document = read(kept)
    check_machines({"environment": environment()}, document)
    if document["commit"] != commit():
        expected = f"a run of this kgroup ({commit()}); another --out begins anew"
        raise ArgumentError("--resume", f"{kept} of {document['commit']}", expected)
    sizes = [{**plan, "runs": 0} for plan in (document["plan"], asdict(scenario.plan))]
    if document["scenario"] != scenario.name or sizes[0] != sizes[1]:
        expected = "a run of the same scenario, sizes and seed; another --out begins anew"
        raise ArgumentError("--resume", str(kept), expected)
    return document
