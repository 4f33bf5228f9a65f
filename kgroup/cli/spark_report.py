"""`kgroup spark report`: what happened to one group, as a page and for programs.

Decides: the options, and the exit code: 0 only when there is nothing to look at.
Never: needs a Spark, or asks a broker; it reads tables that are there.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from kgroup.cli.printing import on_one_line
from kgroup.cli.tables import screen
from kgroup.errors import ArgumentError, ConfigError
from kgroup.spark.coordination.kept import Kept, problems_of
from kgroup.spark.coordination.page import page
from kgroup.spark.coordination.report import READ, Report, report, report_json

Tables = Annotated[
    Path, typer.Argument(help="Folder that `kgroup spark coordination --out` has made.")
]
Group = Annotated[str, typer.Option(help="Group that is looked at.")]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Begin, such as 2026-11-27T22:00:00Z; all by default."
    ),
]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="The moment behind the end.")]
Verdict = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="What `kgroup spark audit --out` found is shown, too."),
]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page of HTML.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def make_report(
    tables: Tables,
    group: Group,
    begin: From = None,
    end: To = None,
    verdict: Verdict = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Say what happened to a group: who had what, rebalances, lag; exit code 1 for findings."""
    found = gathered(tables, group, (_moment("--from", begin), _moment("--to", end)), verdict)
    if out is not None:
        out.write_text(page(found), encoding="utf-8")
    if as_json:
        print(json.dumps(report_json(found), indent=2))
    else:
        _show(found, out)
    raise typer.Exit(0 if found.clean else 1)


def gathered(
    tables: Path, group: str, span: tuple[int | None, int | None], verdict: Path | None = None
) -> Report:
    """Return what tables say of a group.

    Args:
        tables: their folder.
        group: its name.
        span: first moment and the one behind the last, milliseconds; None for all there is.
        verdict: folder of a fleet's verdict, None without one.

    Raises:
        ConfigError: there are no tables, or they do not know the group.
        MissingExtraError: pyarrow is not installed.
    """
    kept = Kept(tables)
    if not kept.batches:
        expected = "a folder that `kgroup spark coordination --out` has made"
        raise ConfigError("tables", str(tables), expected)
    rows = {table.name: kept.rows(table, group) for table in READ}
    if not any(rows.values()):
        known = ", ".join(sorted({name for table in READ for name in kept.groups(table)}))
        raise ConfigError("group", group, f"a group of the tables: {known or 'they have none'}")
    problems = [] if verdict is None else problems_of(verdict, group)
    return report(group, rows, first=span[0], end=span[1], problems=problems)


def _moment(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        expected = "a time such as 2026-11-27T22:00:00Z"
        raise ArgumentError(option, text, expected) from None


def _show(found: Report, out: Path | None) -> None:
    said = report_json(found)
    to = screen()
    names = ("partitions", "rebalances", "moved", "skipped_generations", "unowned_s")
    line = ", ".join(f"{said[name]:,} {name.replace('_', ' ')}" for name in names)
    to.print(on_one_line(f"{found.group}: {line}"), markup=False)
    for each in found.findings:
        text = f"FINDING {each.kind} {each.where}: {each.text}"
        to.print(on_one_line(f"{text} ({' '.join(each.proof)})"), markup=False, style="red")
    if out is not None:
        to.print(on_one_line(f"the page is {out}"), markup=False)
    count = len(found.findings)
    to.print(f"FINDINGS: {count:,}" if count else "NOTHING TO LOOK AT", markup=False)
