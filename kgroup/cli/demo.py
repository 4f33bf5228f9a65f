"""`kgroup demo`: a group of consumers on a Kafka, watched, disturbed and audited.

Decides: the options and their bounds.
Never: imports the demo before it is asked for.
"""

from typing import Annotated

import typer

from kgroup.demo import WhichKafka

Seconds = Annotated[float, typer.Option(min=10.0, help="How long the group works.")]
Members = Annotated[int, typer.Option(min=2, max=12, help="Members the group starts with.")]
Tty = Annotated[bool, typer.Option("--tty/--no-tty", help="Live view, or plain lines.")]
Kafka = Annotated[
    WhichKafka,
    typer.Option(help="Run on a real Kafka, on the in-process broker, or on what there is."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON for programs; lines go to standard error.")
]


def demo(
    seconds: Seconds = 45.0,
    members: Members = 3,
    tty: Tty = True,
    kafka: Kafka = WhichKafka.AUTO,
    as_json: Json = False,
) -> None:
    """Run a consumer group through joins, a kill and restarts, and judge what happened."""
    from kgroup.demo import run  # noqa: PLC0415 - most verbs do not need it

    raise typer.Exit(run(seconds=seconds, members=members, tty=tty, kafka=kafka, as_json=as_json))
