"""`kgroup audit`: the verdict on a run, from its members' event logs.

Decides: the options, and the exit code: 0 only for a clean verdict.
Never: judges; `kgroup.audit` does.
"""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from kgroup.audit import Truth, Verdict, audit, render_verdict, verdict_json
from kgroup.errors import ConfigError
from kgroup.testing.kafka.topics import read_bounds

Logs = Annotated[list[str], typer.Argument(help="Event logs of the members; patterns are fine.")]
Bootstrap = Annotated[
    str | None, typer.Option(help="Broker to ask for the end of each partition: host:port.")
]
Group = Annotated[str | None, typer.Option(help="Group to judge, when the logs hold several.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def verdict(
    logs: Logs, bootstrap: Bootstrap = None, group: Group = None, as_json: Json = False
) -> None:
    """Say what a run lost, doubled, delivered out of order or too late; exit code 1 if anything."""
    judged = judge(logs, bootstrap, group)
    print(json.dumps(verdict_json(judged), indent=2) if as_json else render_verdict(judged))
    raise typer.Exit(0 if judged.clean else 1)


def judge(logs: Sequence[str], bootstrap: str | None = None, group: str | None = None) -> Verdict:
    """Judge logs, against what the broker holds when there is one to ask.

    Raises:
        ConfigError: a path or a pattern names no file.
        NoBrokerError: the broker does not answer.
        BrokerError: it does not know a topic of the logs.
    """
    try:
        alone = audit(logs, group=group)
    except FileNotFoundError as error:
        raise ConfigError("logs", " ".join(logs), "event logs that exist") from error
    if bootstrap is None:
        return alone
    topics = {row.tp.topic for row in alone.partitions}
    return audit(logs, Truth(bounds=read_bounds(bootstrap, topics)), group=group)
