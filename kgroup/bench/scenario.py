"""A scenario: what is measured, read from TOML.

Decides: which keys there are, what may stand behind each, and that a mistake is an error that names
file, key and way out, before anything is started.
Never: starts anything.

    about = "What reading costs"
    jobs = ["read"]
    loops = ["asyncio"]
    brokers = 1              # of a Kafka that is started for it, 1 or 3

    [clients]                # adapter -> ways to read, or assignors
    kgroup = ["records", "values"]

    [[data]]                 # kinds of records; 100 bytes when there is none
    name = "1 kB lz4"
    value_bytes = 1000
    codec = "lz4"
    share = 8                # of the records of a run

    [size]                   # fields of `Plan`
    runs = 5

    [[sizes]]                # of a group, for the jobs scale and assign
    members = 50
    partitions = 100

    [broker]                 # settings of a Kafka that is started for it
    "group.initial.rebalance.delay.ms" = 3000

    [group]                  # fields of `GroupPlan`
    members = 3
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Final

from kgroup.bench.adapters import BUILT_IN
from kgroup.bench.cells import (
    GROUP_JOBS,
    JOBS,
    ON_ASYNCIO,
    ON_TRIO,
    PLAIN,
    SIZED_JOBS,
    Cell,
    Data,
    GroupPlan,
    Plan,
    Size,
    levels_of,
    program_of,
)
from kgroup.bench.taking import Reader
from kgroup.errors import ArgumentError, ConfigError
from kgroup.values import dataclass
from kgroup.wire.records import Codec

FOLDER: Final = Path(__file__).parent / "scenarios"
LOOPS: Final = ("asyncio", "uvloop", "trio")
CLUSTERS: Final = (1, 3)
"""How many brokers a Kafka of this machine has."""
_KEYS: Final = (
    *("about", "jobs", "loops", "clients", "data", "size", "sizes", "group", "brokers", "broker"),
)
_DATA: Final = tuple(each.name for each in fields(Data))
_NAME: Final = re.compile(r"[\w .-]{1,60}", re.ASCII)
_FITS: Final = 900_000
"""Bytes that one request may carry, with what brokers accept by default."""
_SURVIVED: Final = {"leave": 2, "crash": 2}
"""Job -> members that a group must have at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is measured.

    Args:
        name: how it is asked for.
        about: for people, one line.
        jobs: of each client.
        clients: adapter -> levels.
        loops: on which clients with an event loop run.
        data: kinds of records.
        plan: how much.
        sizes: of groups, for jobs that are done for each of them.
        brokers: of a Kafka that is started for it, 1 or 3.
        broker: settings of that Kafka.
    """

    name: str
    about: str
    jobs: tuple[str, ...]
    clients: Mapping[str, tuple[str, ...]]
    loops: tuple[str, ...] = ("asyncio",)
    data: tuple[Data, ...] = (PLAIN,)
    plan: Plan
    sizes: tuple[Size, ...] = ()
    brokers: int = 1
    broker: Mapping[str, str] = field(default_factory=dict)

    def cells(self, clients: Collection[str] = ()) -> Iterator[Cell]:
        """Yield what is measured.

        Args:
            clients: these alone, in this order; none for all. Those the scenario does not name
                read in the one way they have.
        """
        for job in self.jobs:
            sizes = self.sizes if job in SIZED_JOBS else (None,)
            for data, size, client in product(self.data, sizes, [*(clients or self.clients)]):
                yield from (replace(cell, size=size) for cell in self._of(client, job, data))

    def _of(self, client: str, job: str, data: Data) -> Iterator[Cell]:
        program = program_of(client)
        for level in self.clients.get(client, levels_of(client, job)[:1] or ("",)):
            for loop in self.loops if program in ON_ASYNCIO and job != "assign" else ("",):
                if loop != "trio" or program in ON_TRIO:
                    yield Cell(job, client, level, loop, data)


def built_in() -> dict[str, Scenario]:
    """Return name -> each scenario that comes with kgroup."""
    return {path.stem: load(path) for path in sorted(FOLDER.glob("*.toml"))}


def find(name: str) -> Scenario:
    """Return a scenario by its name, or by the path of a file.

    Raises:
        ConfigError: there is none, or it cannot be used.
    """
    own = Path(name)
    if own.suffix == ".toml":
        return load(own)
    known = [path.stem for path in sorted(FOLDER.glob("*.toml"))]
    if name not in known:
        raise ConfigError("scenario", name, f"one of {', '.join(known)}, or a .toml file")
    return load(FOLDER / f"{name}.toml")


def load(path: Path) -> Scenario:
    """Read a scenario from a file.

    Raises:
        ConfigError: it cannot be read or used.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError("scenario", str(path), f"a readable file ({error.strerror})") from None
    return parse(text, path.stem, str(path.name))


def parse(text: str, name: str, file: str) -> Scenario:
    """Return what a file says.

    Args:
        text: of the file.
        name: of the scenario.
        file: its name, for errors.

    Raises:
        ConfigError: a key is unknown, or what stands behind it cannot be used.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(file, str(error), "TOML") from None
    reader = Reader(file)
    reader.only(found, _KEYS, "")
    size = reader.numbers(found.get("size", {}), Plan, "size")
    jobs = reader.words(found.get("jobs"), "jobs", JOBS)
    data = tuple(_data(reader, each) for each in reader.tables(found, "data")) or (PLAIN,)
    reader.once([each.name for each in data], "data.name")
    sizes = tuple(_size(reader, each) for each in reader.tables(found, "sizes"))
    reader.once(sizes, "sizes")
    if not sizes and {*jobs} & {*SIZED_JOBS}:
        raise reader.wrong(
            "sizes", None, "a table such as [[sizes]] members = 50, partitions = 100"
        )
    scenario = Scenario(
        name=name,
        about=reader.text(found, "about"),
        jobs=jobs,
        clients=_clients(reader, found.get("clients", {}), jobs),
        loops=reader.words(found.get("loops", ["asyncio"]), "loops", LOOPS),
        data=data,
        plan=Plan(**size, group=_group(reader, found.get("group", {}))),
        sizes=sizes,
        brokers=reader.one_of(found.get("brokers", 1), "brokers", CLUSTERS),
        broker=_broker(reader, found.get("broker", {})),
    )
    _check(reader, scenario)
    return scenario


def _clients(reader: Reader, found: object, jobs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return client -> its levels, of which each job must know each."""
    if not isinstance(found, dict) or not found:
        raise reader.wrong("clients", found, 'a table such as [clients] kgroup = ["records"]')
    clients = {key: reader.words(each, f"clients.{key}") for key, each in found.items()}
    for client, job in product([each for each in clients if each in BUILT_IN], jobs):
        known = levels_of(client, job)
        for level in clients[client]:
            own = client == "kgroup" and ":" in level  # an assignor of somebody's own
            if known and level not in known and not own:
                near = next(iter(get_close_matches(level, known, 1)), None)
                raise reader.wrong(
                    f"clients.{client}", level, f"for {job}: {', '.join(known)}", near
                )
    return clients


def _check(reader: Reader, scenario: Scenario) -> None:
    """Refuse what cannot be measured together."""
    group = scenario.plan.group
    for job in scenario.jobs:
        if group.members < _SURVIVED.get(job, 1):
            expected = f"at least {_SURVIVED[job]}: somebody stays when there is a {job}"
            raise reader.wrong("group.members", group.members, expected)
    if "failover" in scenario.jobs and scenario.brokers != max(CLUSTERS):
        raise reader.wrong("brokers", scenario.brokers, f"{max(CLUSTERS)}: a failover kills one")
    for data in scenario.data:
        if group.batch * data.value_bytes > _FITS and {*scenario.jobs} & {*GROUP_JOBS}:
            expected = f"at most {_FITS // data.value_bytes} of {data.name!r}: a request is 1 MB"
            raise reader.wrong("group.batch", group.batch, expected)
        if data.share > scenario.plan.records:
            expected = f"at most size.records ({scenario.plan.records:,})"
            raise reader.wrong("data.share", data.share, expected)


def _size(reader: Reader, found: object) -> Size:
    numbers = reader.numbers(found, Size, "sizes")
    for key in ("members", "partitions"):
        if key not in numbers:
            raise reader.wrong(f"sizes.{key}", None, "a whole number above 0")
    size = Size(**numbers)
    if size.partitions < size.members:
        expected = f"at least {size.members}: each member is to have one"
        raise reader.wrong("sizes.partitions", size.partitions, expected)
    return size


def _broker(reader: Reader, found: object) -> dict[str, str]:
    """Return settings of a broker as text; the broker itself says which there are."""
    if not isinstance(found, dict):
        raise reader.wrong("broker", found, "a table of settings")
    for key, value in found.items():
        if not isinstance(value, str | int):
            raise reader.wrong(f"broker.{key}", value, 'a text, a number, true or false; "a.b" = 1')
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in found.items()
    }


def _data(reader: Reader, found: object) -> Data:
    table = reader.only(found, _DATA, "data")
    codecs = tuple(codec.name.lower() for codec in Codec)
    codec, *_ = reader.words([table.get("codec", "none")], "data.codec", codecs)
    numbers = {key: table[key] for key in ("value_bytes", "share") if key in table}
    sizes = reader.numbers(numbers, Data, "data")
    if "value_bytes" not in sizes:
        raise reader.wrong("data.value_bytes", None, "a number of bytes")
    name = reader.text(table, "name", "data.")
    if not _NAME.fullmatch(name):
        raise reader.wrong("data.name", name, "at most 60 letters, digits, spaces, '.', '-', '_'")
    return Data(name, codec=codec, **sizes)


def _group(reader: Reader, found: object) -> GroupPlan:
    plan = GroupPlan(**reader.numbers(found, GroupPlan, "group"))
    if plan.partitions < plan.members + 1:
        expected = f"at least {plan.members + 1}: each member is to have one, one that joins too"
        raise reader.wrong("group.partitions", plan.partitions, expected)
    if plan.heartbeat_interval >= plan.session_timeout:
        expected = f"less than group.session_timeout ({plan.session_timeout:g})"
        raise reader.wrong("group.heartbeat_interval", plan.heartbeat_interval, expected)
    if plan.rate < plan.partitions:
        raise reader.wrong("group.rate", plan.rate, f"a record for each of {plan.partitions}")
    if plan.partitions * plan.batch > plan.rate * plan.after:
        expected = (
            f"at most {plan.rate * plan.after / plan.partitions:.0f}, or group.after longer: "
        )
        raise reader.wrong("group.batch", plan.batch, f"{expected}each partition is written in it")
    return plan


def sized(
    scenario: Scenario,
    *,
    runs: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    jobs: Sequence[str] = (),
) -> Scenario:
    """Return a scenario that is measured more or less thoroughly.

    Args:
        scenario: as it was written.
        runs: of each cell, None for its own.
        seconds: of one run, roughly, None for its own: records and commits are fewer or more.
        seed: of the values.
        jobs: of the scenario's, these alone; none for all.

    Raises:
        ArgumentError: the scenario has no such job.
    """
    for job in jobs:
        if job not in scenario.jobs:
            raise ArgumentError("--jobs", job, f"some of {', '.join(scenario.jobs)}")
    plan = scenario.plan
    if seconds is not None:
        plan = replace(
            plan,
            records=max(1, int(seconds * _A_SECOND)),
            commits=max(1, int(seconds * _COMMITS)),
            idle_s=seconds,
            group=replace(plan.group, before=seconds),
        )
    plan = replace(
        plan,
        runs=plan.runs if runs is None else runs,
        seed=plan.seed if seed is None else seed,
    )
    return replace(scenario, plan=plan, jobs=tuple(jobs) or scenario.jobs)


_A_SECOND: Final = 400_000
"""Records of 100 bytes that most clients read in about a second."""
_COMMITS: Final = 1_000
