"""The verbs of the `kgroup` command, put together.

Decides: how an error reaches a person: one line, exit code 1.
Never: does anything itself: every verb calls a function that a test can call.
"""

from collections.abc import Sequence

import typer
from rich.console import Console
from rich.markup import escape

from kgroup.cli import audit, broker, demo
from kgroup.errors import KGroupError

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run one verb and return the exit code: 0, 1 after an error, 2 for a wrong use."""
    try:
        _app()(args=list(arguments), prog_name="kgroup")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except (KGroupError, TimeoutError) as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
        return 1
    return 0


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
    return app


def _only_verbs() -> None:
    """Kafka consumer groups: a broker to try them on, a demo, an audit."""
