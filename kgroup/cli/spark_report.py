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
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `kgroup spark report` takes.

    Args:
        tables: folder of the tables.
        group: that is looked at.
        begin: of the span, None for the first moment that anything is known of.
        end: the moment behind the span, None for the last.
        verdict: folder of a fleet's verdict, None without one.
        out: file for the page, None for none.
        as_json: whether programs read the answer.
    """

    tables: Annotated[
        Path, typer.Argument(help="Folder that `kgroup spark coordination --out` has made.")
    ]
    group: Annotated[str, typer.Option(help="Group that is looked at.")]
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Begin, such as 2026-11-27T22:00:00Z; all by default."
        ),
    ] = None
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="The moment behind the end.")
    ] = None
    verdict: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="What `kgroup spark audit --out` found is shown, too."),
    ] = None
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page of HTML.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False


def make_report(asked: Asked) -> None:
    """Say what happened to a group: who had what, rebalances, lag; exit code 1 for findings."""
    span = _moment("--from", asked.begin), _moment("--to", asked.end)
    found = gathered(asked.tables, asked.group, span, asked.verdict)
    if asked.out is not None:
        asked.out.write_text(page(found), encoding="utf-8")
    if asked.as_json:
        print(json.dumps(report_json(found), indent=2))
    else:
        _show(found, asked.out)
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
