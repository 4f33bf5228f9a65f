"""The verbs of the `kgroup` command, put together.

Decides: how an error reaches a person: one line, exit code 1.
Never: does anything itself: every verb calls a function that a test can call.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from kgroup.cli import (
    assignors,
    assignors_check,
    audit,
    broker,
    consume,
    demo,
    groups,
    groups_offers,
    lag,
    marshal,
    marshal_admin,
    simulate,
    topics,
)
from kgroup.cli.printing import forget_output
from kgroup.cli.verbs import verb, with_list
from kgroup.errors import ArgumentError, KGroupError

__all__ = ["run"]

_WRONG_USE: Final = 2


def run(arguments: Sequence[str]) -> int:
    """Run one verb and return the exit code: 0, 1 after an error, 2 for a wrong use."""
    try:
        _app()(args=with_list(arguments), prog_name="kgroup")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except (KGroupError, TimeoutError) as error:
        _tell(error)
        return _WRONG_USE if isinstance(error, ArgumentError) else 1
    except OSError as error:
        # Nobody else raises it as it is: the disk behind standard output is full.
        forget_output()
        _tell(error)
        return 1
    return 0


def _tell(error: Exception) -> None:
    text = escape(str(error) or type(error).__name__)
    Console(stderr=True).print(f"[bold red]error:[/] {text}", soft_wrap=True, highlight=False)


def _app() -> typer.Typer:
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.command("demo")(demo.demo)
    app.command("audit")(audit.verdict)
    app.callback()(_only_verbs)
    app.add_typer(broker.app, name="broker")
    app.command("consume")(verb(consume.print_records))
    app.command("lag")(verb(lag.lag))
    app.command("simulate")(verb(simulate.simulate))
    app.add_typer(_groups(), name="groups")
    app.add_typer(_topics(), name="topics")
    app.add_typer(_assignors(), name="assignors")
    app.add_typer(_marshal(), name="marshal")
    return app


def _groups() -> typer.Typer:
    told = "Groups: list, show, what members offer, evict members, delete."
    app = typer.Typer(help=told, add_completion=False)
    app.command("list")(verb(groups.listing))
    app.command("show")(verb(groups.show))
    app.command("offers")(verb(groups_offers.offers))
    app.command("evict")(verb(groups.evict))
    app.command("delete")(verb(groups.delete))
    return app


def _topics() -> typer.Typer:
    app = typer.Typer(help="Topics: list, describe, create, delete.", add_completion=False)
    app.command("list")(verb(topics.listing))
    app.command("create")(verb(topics.create))
    app.command("delete")(verb(topics.delete))
    return app


def _assignors() -> typer.Typer:
    app = typer.Typer(help="Assignors: list, simulate, check.", add_completion=False)
    app.command("list")(verb(assignors.listing))
    app.command("simulate")(verb(assignors.simulate))
    app.command("check")(verb(assignors_check.check))
    return app


def _marshal() -> typer.Typer:
    text = "Groups that claim by a log: set up, state, watch, release, pause, set positions."
    app = typer.Typer(help=text, no_args_is_help=True, add_completion=False)
    app.command("init")(verb(marshal.init))
    app.command("state")(verb(marshal.state))
    app.command("watch")(verb(marshal.watch))
    app.command("release")(verb(marshal_admin.release))
    app.command("set-positions")(verb(marshal_admin.positions))
    app.command("pause")(verb(marshal_admin.pause))
    app.command("resume")(verb(marshal_admin.resume_group))
    return app


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"kgroup {version('kgroup')}")
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
