"""The verbs of the `kgroup` command, put together.

Decides: which verbs are loaded: those a command line names; of the others it has one line each, for
the list; and how an error reaches a person: one line, exit code 1.
Never: does anything itself: every verb calls a function that a test can call; nor loads a room of
kgroup for `--help`, which is what people ask for first.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape

from kgroup.cli.verbs import forget_output, verb, with_list
from kgroup.errors import ArgumentError, ConfigError, KGroupError

_WRONG_USE: Final = 2


def run(arguments: Sequence[str]) -> int:
    """Run one verb and return the exit code: 0, 1 after an error, 2 for a wrong use."""
    words = with_list(arguments)
    return run_app(_app(words), words, "kgroup")


def run_app(app: typer.Typer, words: Sequence[str], name: str) -> int:
    """Run a command line and return the exit code: 0, 1 after an error, 2 for a wrong use.

    Args:
        app: the command.
        words: what follows its name.
        name: what usage messages call it.
    """
    try:
        app(args=list(words), prog_name=name)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except (KGroupError, TimeoutError) as error:
        _tell(error)
        return _WRONG_USE if isinstance(error, (ArgumentError, ConfigError)) else 1
    except OSError as error:
        # Nobody else raises it as it is: the disk behind standard output is full.
        forget_output()
        _tell(error)
        return 1
    return 0


def _tell(error: Exception) -> None:
    text = escape(str(error) or type(error).__name__)
    Console(stderr=True).print(f"[bold red]error:[/] {text}", soft_wrap=True, highlight=False)


def _app(words: Collection[str]) -> typer.Typer:
    """Return the command; a verb that is not among the words cannot be run, only listed."""
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.callback()(_only_verbs)
    for name, (purpose, load) in _VERBS.items():
        work = load(purpose) if name in words else _unnamed
        if isinstance(work, typer.Typer):
            app.add_typer(work, name=name)
        else:
            app.command(name, help=None if name in words else purpose)(work)
    return app


def _unnamed() -> None:
    """Stand in the list for a verb that no word names, and so never run."""


# -- each is loaded when it is named -------------------------------------------------------------


def _demo(_purpose: str) -> Callable[..., None]:
    from kgroup.cli import demo  # noqa: PLC0415

    return demo.demo


def _audit(_purpose: str) -> Callable[..., None]:
    from kgroup.cli import audit  # noqa: PLC0415

    return audit.verdict


def _consume(_purpose: str) -> Callable[..., None]:
    from kgroup.cli import consume  # noqa: PLC0415

    return verb(consume.print_records)


def _produce(_purpose: str) -> Callable[..., None]:
    from kgroup.cli import produce  # noqa: PLC0415

    return verb(produce.produce)


def _lag(_purpose: str) -> Callable[..., None]:
    from kgroup.cli import lag  # noqa: PLC0415

    return verb(lag.lag)


def _broker(purpose: str) -> typer.Typer:
    from kgroup.cli import broker  # noqa: PLC0415

    app = typer.Typer(help=purpose, no_args_is_help=True, add_completion=False)
    app.command("up")(broker.up)
    app.command("down")(broker.down)
    app.command("status")(broker.status)
    return app


def _groups(purpose: str) -> typer.Typer:
    from kgroup.cli import groups, groups_offers  # noqa: PLC0415

    app = typer.Typer(help=purpose, add_completion=False)
    app.command("list")(verb(groups.listing))
    app.command("show")(verb(groups.show))
    app.command("offers")(verb(groups_offers.offers))
    app.command("evict")(verb(groups.evict))
    app.command("delete")(verb(groups.delete))
    return app


def _topics(purpose: str) -> typer.Typer:
    from kgroup.cli import topics  # noqa: PLC0415

    app = typer.Typer(help=purpose, add_completion=False)
    app.command("list")(verb(topics.listing))
    app.command("create")(verb(topics.create))
    app.command("delete")(verb(topics.delete))
    return app


def _assignors(purpose: str) -> typer.Typer:
    from kgroup.cli import assignors, assignors_check  # noqa: PLC0415

    app = typer.Typer(help=purpose, add_completion=False)
    app.command("list")(verb(assignors.listing))
    app.command("simulate")(verb(assignors.simulate))
    app.command("check")(verb(assignors_check.check))
    return app


def _marshal(purpose: str) -> typer.Typer:
    from kgroup.cli import marshal, marshal_admin  # noqa: PLC0415

    app = typer.Typer(help=purpose, no_args_is_help=True, add_completion=False)
    app.command("init")(verb(marshal.init))
    app.command("state")(verb(marshal.state))
    app.command("watch")(verb(marshal.watch))
    app.command("release")(verb(marshal_admin.release))
    app.command("set-positions")(verb(marshal_admin.positions))
    app.command("pause")(verb(marshal_admin.pause))
    app.command("resume")(verb(marshal_admin.resume_group))
    return app


def _spark(purpose: str) -> typer.Typer:
    from kgroup.cli import (  # noqa: PLC0415
        spark,
        spark_audit,
        spark_coordination,
        spark_demo,
        spark_report,
    )

    app = typer.Typer(help=purpose, no_args_is_help=True, add_completion=False)
    app.callback()(_unnamed)
    app.command("verify")(verb(spark.verify_table))
    app.command("coordination")(verb(spark_coordination.make_tables))
    app.command("audit")(verb(spark_audit.audit_fleet))
    app.command("report")(verb(spark_report.make_report))
    app.command("demo")(verb(spark_demo.demo))
    return app


def _bench(purpose: str) -> typer.Typer:
    from kgroup.cli import bench  # noqa: PLC0415

    app = typer.Typer(help=purpose, no_args_is_help=True, add_completion=False)
    app.command("list")(verb(bench.listing))
    app.command("run")(verb(bench.run))
    app.command("compare")(verb(bench.compare))
    app.command("report")(verb(bench.report))
    app.command("guard")(verb(bench.guard))
    return app


class _Verb(NamedTuple):
    """One word of the list.

    Args:
        purpose: what the list says of it.
        load: returns the function of the verb, or the verbs below it.
    """

    purpose: str
    load: Callable[[str], Callable[..., None] | typer.Typer]


_VERBS: Final[dict[str, _Verb]] = {
    "demo": _Verb(
        "Run a consumer group through joins, a kill and restarts, and judge what happened.", _demo
    ),
    "audit": _Verb(
        "Say what a run lost, doubled, delivered out of order or too late; exit code 1 if "
        "anything.",
        _audit,
    ),
    "consume": _Verb(
        "Print the records of topics: one line each, or JSON lines with --json.", _consume
    ),
    "produce": _Verb(
        "Write the lines of standard input to a topic, one record each; say how many are stored.",
        _produce,
    ),
    "lag": _Verb(
        "Show how far a group is behind, partition by partition; a failed partition says why.", _lag
    ),
    "broker": _Verb("A real Kafka on this machine.", _broker),
    "groups": _Verb("Groups: list, show, what members offer, evict members, delete.", _groups),
    "topics": _Verb("Topics: list, describe, create, delete.", _topics),
    "assignors": _Verb("Assignors: list, simulate, check.", _assignors),
    "marshal": _Verb(
        "Groups that claim by a log: set up, state, watch, release, pause, set positions.", _marshal
    ),
    "bench": _Verb("What clients and rebalances cost: measure, compare, show, guard.", _bench),
    "spark": _Verb(
        "With Spark: verify a table, make tables of what groups did, audit a fleet of groups.",
        _spark,
    ),
}
"""Every verb, in the order of the list; the first line of a verb's docstring stands here again."""


# -- options without a verb ----------------------------------------------------------------------


def _tell_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and for this option only

        from kgroup.wire.records import COMPILED  # noqa: PLC0415 - as above

        form = "compiled" if COMPILED else "in Python"
        print(f"kgroup {version('kgroup')} (loops over records: {form})")
        raise typer.Exit


def _only_verbs(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Show the version and end."
        ),
    ] = False,
) -> None:
    """Kafka consumer groups: read topics, look at groups and lag, try them on a broker, audit."""
