"""`kgroup spark demo`: the demo's group and a Spark query, then every check there is.

Decides: the options, and which verbs the demo may call.
Never: imports the demo before it is asked for.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kgroup.cli import spark, spark_audit, spark_coordination, spark_report
from kgroup.cli.verbs import verb
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `kgroup spark demo` takes.

    Args:
        seconds: how long the group works.
        damage: whether something is broken before it is judged.
        out: folder for all that is made.
    """

    seconds: Annotated[float, typer.Option(min=10.0, help="How long the group works.")] = 30.0
    damage: Annotated[
        bool,
        typer.Option("--damage", help="Break something of each kind first: the checks are red."),
    ] = False
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep logs, tables, verdict and pages there."),
    ] = None


def demo(asked: Asked) -> None:
    """Disturb a group beside a Spark query, make tables of what happened, and judge all of it."""
    from kgroup.demo import with_spark  # noqa: PLC0415 - most verbs do not need it

    told = with_spark.Asked(seconds=asked.seconds, damage=asked.damage, out=asked.out)
    raise typer.Exit(with_spark.run_with_spark(told, _command))


def _command(words: Sequence[str]) -> int:
    """Run a verb of `kgroup spark` in this process; return its exit code."""
    app = typer.Typer(add_completion=False)
    app.command("verify")(verb(spark.verify_table))
    app.command("coordination")(verb(spark_coordination.make_tables))
    app.command("audit")(verb(spark_audit.audit_fleet))
    app.command("report")(verb(spark_report.make_report))
    code = app(list(words), standalone_mode=False)
    return code if isinstance(code, int) else 0
