"""How a verb reaches its cluster: the options all of them share, and one connection for one verb.

Decides: which broker is meant when none is named, and that a password never stands on a command
line: it comes from a file or from KGROUP_SASL_PASSWORD.
Never: asks the cluster anything.
"""

import os
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, TypeVar

import anyio
import typer

from kgroup.config import ConsumerConfig
from kgroup.config.consumer_config import check_names
from kgroup.config.text import meant
from kgroup.errors import ConfigError
from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_ports
from kgroup.testing.kafka import broker as broker_of_this_machine
from kgroup.values import dataclass

_COMMENTS: Final = ("#", "!", ";")
_HIDDEN: Final = "(not shown)"


def read_options(path: Path) -> dict[str, object]:
    """Return option name -> value.

    Args:
        path: TOML when its name ends in `.toml`, else lines of `name = value`; `#` begins a line
            that is ignored.

    Raises:
        ConfigError: the file cannot be read, a name is no option (the nearest is named), or a
            value cannot be used.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else _lines(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError("config", str(path), f"a readable file of options ({reason})") from None
    options = {_underscored(name): value for name, value in found.items()}
    # Without the values: a mistyped name may stand before a password.
    check_names(dict.fromkeys(options, _HIDDEN))
    if path.suffix.lower() == ".toml":
        return options
    return {name: meant(name, str(value)) for name, value in options.items()}


def _underscored(name: str) -> str:
    return name.strip().replace(".", "_").replace("-", "_")


def _lines(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(_COMMENTS):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"line {number} is no 'name = value'")
        found[name] = value.strip()
    return found


# -- connecting ------------------------------------------------------------------------------------


T = TypeVar("T")

_BOOTSTRAP: Final = "KGROUP_BOOTSTRAP"
_PASSWORD: Final = "KGROUP_SASL_PASSWORD"  # noqa: S105 - the name of a variable
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_CLIENT_ID: Final = "kgroup-cli"
_NOWHERE: Final = "localhost:9092"


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every verb that asks a cluster takes.

    Args:
        bootstrap: `host:port`, several with commas between; None for the default.
        config: file of options, None without one.
        timeout: seconds a question may take.
        as_json: whether programs read the answer.
    """

    bootstrap: Annotated[
        str | None,
        typer.Option(
            help="Brokers, host:port[,host:port]. Default: the file of --config, else "
            "KGROUP_BOOTSTRAP, else the running `kgroup broker up`, else localhost:9092."
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of options, security ones too: TOML if it ends in .toml, else lines of "
            "`name = value`. A password may come from KGROUP_SASL_PASSWORD instead.",
        ),
    ] = None
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds a question to the cluster may take.")
    ] = 10.0
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False


def consumer_config(
    common: Common,
    environ: Mapping[str, str] = os.environ,
    *,
    group_id: str | None = None,
    more: Mapping[str, object] = _NOTHING,
) -> ConsumerConfig:
    """Return the options a verb works with: the command line before the file before the rest.

    Args:
        common: options all verbs share.
        environ: where the password, and brokers, may be named.
        group_id: group the verb joins, None for none: a file does not make a verb join one.
        more: the verb's own options.

    Raises:
        ConfigError: an option cannot be used, or is not known.
    """
    options = {"client_id": _CLIENT_ID, **options_of_file(common)}
    # Only beside a name: the variable may be set for other programs of the same shell.
    if environ.get(_PASSWORD) and "sasl_username" in options:
        options["sasl_password"] = environ[_PASSWORD]
    if "sasl_username" in options and "sasl_password" not in options:
        raise ConfigError("sasl_password", None, f"a line in {common.config}, or {_PASSWORD}")
    if common.bootstrap is not None:
        options["bootstrap_servers"] = common.bootstrap
    if "bootstrap_servers" not in options:
        options["bootstrap_servers"] = default_bootstrap(environ)
    options |= {"bootstrap_timeout": common.timeout, "group_id": group_id, **more}
    if group_id is None:
        options.pop("group_instance_id", None)
    return ConsumerConfig.of(options)


def options_of_file(common: Common) -> dict[str, object]:
    """Return the options of the file of --config; none without one.

    Raises:
        ConfigError: see `read_options`.
    """
    return {} if common.config is None else read_options(common.config)


def default_bootstrap(environ: Mapping[str, str]) -> str:
    """Return the brokers meant when none are named."""
    if environ.get(_BOOTSTRAP):
        return environ[_BOOTSTRAP]
    state = broker_of_this_machine.status(environ)
    return state.bootstrap if state is not None and state.running else _NOWHERE


@asynccontextmanager
async def connected(config: ConsumerConfig) -> AsyncIterator[Cluster]:
    """Have a cluster for one block.

    Raises:
        NoBrokerError: no broker answered within `bootstrap_timeout`.
    """
    cluster = Cluster(config.net(), config.ports or system_ports())
    async with anyio.create_task_group() as tasks:
        await tasks.start(cluster.run)
        await cluster.bootstrap(config.patience)
        yield cluster
        tasks.cancel_scope.cancel()


def perform(common: Common, work: Callable[[Cluster], Awaitable[T]]) -> T:
    """Connect, do a verb's work, and return its answer; its own error comes out as it is."""
    config = consumer_config(common)

    async def play() -> T:
        async with connected(config) as cluster:
            return await work(cluster)

    return unwrapped(play)


def unwrapped(play: Callable[[], Awaitable[T]]) -> T:
    """Run an event loop, and let the error itself out of the task groups it went through."""
    try:
        return anyio.run(play)
    except BaseExceptionGroup as group:
        raise first_of(group) from group


def first_of(error: BaseException) -> BaseException:
    """Return the error itself, out of the groups of the task groups it went through."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
