"""`kgroup broker up|down|status`: a real Kafka on this machine, for one's own experiments.

Decides: how the state of that Kafka is shown.
Never: starts or ends anything itself; `kgroup.testing.kafka.broker` does.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from kgroup.testing.kafka import DEFAULT_VERSION, VERSIONS
from kgroup.testing.kafka import broker as broker_of_this_machine
from kgroup.testing.kafka.broker import BrokerState
from kgroup.testing.kafka.jars import Progress
from kgroup.testing.kafka.secured import LISTENERS, MECHANISMS, USERS, SecureAccess

Version = Annotated[str, typer.Option(help=f"Kafka's version: {' or '.join(VERSIONS)}.")]
Brokers = Annotated[int, typer.Option(help="1, or 3 with a controller of their own.")]
Secure = Annotated[
    bool, typer.Option("--secure", help="With TLS, SASL and access rules, for tests.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def up(
    version: Version = DEFAULT_VERSION,
    brokers: Brokers = 1,
    secure: Secure = False,
    as_json: Json = False,
) -> None:
    """Start a Kafka that lives on, or say where the running one is."""
    with _progress() as progress:
        state = broker_of_this_machine.up(version, brokers, secure=secure, progress=progress)
    _show(state, as_json=as_json)


def down(as_json: Json = False) -> None:
    """End the Kafka that `up` started, and remove its data."""
    with _progress() as progress:
        progress("ending Kafka")
        state = broker_of_this_machine.down()
    if as_json:
        print(json.dumps({"ended": state is not None}))
    elif state is None:
        print("no Kafka of `kgroup broker up` is running")
    else:
        print(f"ended Kafka {state.version} on {state.bootstrap}")


def status(as_json: Json = False) -> None:
    """Say what runs; exit code 1 unless all of it does."""
    state = broker_of_this_machine.status()
    _show(state, as_json=as_json)
    if state is None or len(state.running) < len(state.processes):
        raise typer.Exit(1)


def _show(state: BrokerState | None, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_facts(state), indent=2))
        return
    if state is None:
        print("no Kafka is running; start one: kgroup broker up")
        return
    table = Table("node", "pid", "", "log", box=None, pad_edge=False)
    for one in state.processes:
        word = "[green]running[/]" if one in state.running else "[red]ended[/]"
        table.add_row(str(one.node_id), str(one.pid), word, one.log)
    console = Console(soft_wrap=True)
    console.print(f"Kafka [bold]{state.version}[/] on [bold]{state.bootstrap}[/]")
    console.print(table)
    if state.access is not None:
        _show_access(console, state.access)
    console.print(
        f"use it in tests: KGROUP_BOOTSTRAP={state.bootstrap}; end it: kgroup broker down"
    )


def _show_access(console: Console, access: SecureAccess) -> None:
    """Show each listener and what a consumer needs for it; nobody's secrets are in it."""
    table = Table("listener", "bootstrap_servers", "needs", box=None, pad_edge=False)
    for name, address in access.addresses.items():
        table.add_row(name, address, _needs(name))
    console.print(table)
    files = access.certificates
    console.print(f"ssl_cafile: {files.authority}")
    console.print(f"ssl_certfile, ssl_keyfile: {files.client}, {files.client_key}")
    console.print(f"sasl_mechanism: {', '.join(MECHANISMS)}")
    for user, password in USERS.items():
        may = "may do everything" if user == next(iter(USERS)) else "may do nothing until granted"
        console.print(f"sasl_username {user}, sasl_password {password}: {may}")
    console.print("for tests only: these passwords are the same everywhere")


def _needs(listener: str) -> str:
    protocol = LISTENERS.get(listener)
    if protocol is None:
        return "nothing; may do everything"
    parts = [f"security_protocol={protocol}"]
    if protocol.endswith("SSL"):
        parts.append("ssl_cafile")
    if listener == "MUTUAL_TLS":
        parts.append("ssl_certfile, ssl_keyfile")
    if protocol.startswith("SASL"):
        parts.append("sasl_*")
    if listener == "SSL":
        return f"{', '.join(parts)}; may do everything"
    return ", ".join(parts)


def _facts(state: BrokerState | None) -> dict[str, Any]:
    if state is None:
        return {"running": False}
    running = {one.node_id for one in state.running}
    facts = asdict(state)
    if state.access is not None:
        files = state.access.certificates
        facts["users"] = dict(USERS)
        facts["ssl_cafile"] = str(files.authority)
        facts["ssl_certfile"], facts["ssl_keyfile"] = str(files.client), str(files.client_key)
    for one in facts["processes"]:
        one["running"] = one["node_id"] in running
    return {"running": len(running) == len(state.processes), **facts}


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show what is being done on standard error, so that standard output stays for the answer."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield console.print
        return
    with console.status("") as spinner:
        yield spinner.update
