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

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any, Final

from kgroup.bench.cells import (
    GROUP_JOBS,
    JOBS,
    LEVELS,
    ON_ASYNCIO,
    ON_TRIO,
    OWN_LEVELS,
    PLAIN,
    SIZED_JOBS,
    Cell,
    Data,
    GroupPlan,
    Plan,
    Size,
)
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
_MOST: Final = 10**9


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
        assigns = job == "assign" or (job in GROUP_JOBS and client not in OWN_LEVELS)
        usual = "range" if assigns else LEVELS.get(client, "")
        for level in self.clients.get(client, (usual,)):
            for loop in self.loops if client in ON_ASYNCIO and job != "assign" else ("",):
                if loop != "trio" or client in ON_TRIO:
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
    reader = _Reader(file)
    reader.only(found, _KEYS, "")
    clients = found.get("clients", {})
    if not isinstance(clients, dict) or not clients:
        raise reader.wrong("clients", clients, 'a table such as [clients] kgroup = ["records"]')
    size = reader.numbers(found.get("size", {}), Plan, "size")
    plan = Plan(**size, group=_group(reader, found.get("group", {})))
    jobs = reader.words(found.get("jobs"), "jobs", JOBS)
    sizes = tuple(_size(reader, each) for each in reader.tables(found, "sizes"))
    if not sizes and {*jobs} & {*SIZED_JOBS}:
        raise reader.wrong(
            "sizes", None, "a table such as [[sizes]] members = 50, partitions = 100"
        )
    return Scenario(
        name=name,
        about=reader.text(found, "about"),
        jobs=jobs,
        clients={key: reader.words(each, f"clients.{key}") for key, each in clients.items()},
        loops=reader.words(found.get("loops", ["asyncio"]), "loops", LOOPS),
        data=tuple(_data(reader, each) for each in reader.tables(found, "data")) or (PLAIN,),
        plan=plan,
        sizes=sizes,
        brokers=reader.one_of(found.get("brokers", 1), "brokers", CLUSTERS),
        broker=_broker(reader, found.get("broker", {})),
    )


def _size(reader: "_Reader", found: object) -> Size:
    numbers = reader.numbers(found, Size, "sizes")
    for key in ("members", "partitions"):
        if key not in numbers:
            raise reader.wrong(f"sizes.{key}", None, "a whole number above 0")
    size = Size(**numbers)
    if size.partitions < size.members:
        expected = f"at least {size.members}: each member is to have one"
        raise reader.wrong("sizes.partitions", size.partitions, expected)
    return size


def _broker(reader: "_Reader", found: object) -> dict[str, str]:
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


def _data(reader: "_Reader", found: object) -> Data:
    table = reader.only(found, _DATA, "data")
    codecs = tuple(codec.name.lower() for codec in Codec)
    codec, *_ = reader.words([table.get("codec", "none")], "data.codec", codecs)
    numbers = {key: table[key] for key in ("value_bytes", "share") if key in table}
    sizes = reader.numbers(numbers, Data, "data")
    if "value_bytes" not in sizes:
        raise reader.wrong("data.value_bytes", None, "a number of bytes")
    return Data(reader.text(table, "name", "data."), codec=codec, **sizes)


def _group(reader: "_Reader", found: object) -> GroupPlan:
    plan = GroupPlan(**reader.numbers(found, GroupPlan, "group"))
    if plan.partitions < plan.members + 1:
        expected = f"at least {plan.members + 1}: each member is to have one, one that joins too"
        raise reader.wrong("group.partitions", plan.partitions, expected)
    if plan.heartbeat_interval >= plan.session_timeout:
        expected = f"less than group.session_timeout ({plan.session_timeout:g})"
        raise reader.wrong("group.heartbeat_interval", plan.heartbeat_interval, expected)
    if plan.rate < plan.partitions:
        raise reader.wrong("group.rate", plan.rate, f"a record for each of {plan.partitions}")
    return plan


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes what a file says apart; knows the file for its errors."""

    file: str

    def wrong(
        self, key: str, value: object, expected: str, nearest: str | None = None
    ) -> ConfigError:
        return ConfigError(f"{self.file}: {key}", value, expected, nearest=nearest)

    def only(self, found: object, known: Sequence[str], where: str) -> dict[str, Any]:
        """Return a table that has no other keys."""
        if not isinstance(found, dict):
            raise self.wrong(where, found, f"a table of {', '.join(known)}")
        for key in found:
            if key not in known:
                full = f"{where}.{key}" if where else key
                near = next(iter(get_close_matches(key, known, 1)), None)
                raise self.wrong(full, found[key], f"one of {', '.join(known)}", near)
        return found

    def text(self, table: Mapping[str, object], key: str, where: str = "") -> str:
        found = table.get(key)
        if not isinstance(found, str) or not found:
            raise self.wrong(f"{where}{key}", found, "a text")
        return found

    def one_of(self, found: object, key: str, known: Sequence[int]) -> int:
        if isinstance(found, bool) or not isinstance(found, int) or found not in known:
            raise self.wrong(key, found, " or ".join(map(str, known)))
        return found

    def tables(self, found: Mapping[str, object], key: str) -> list[object]:
        """Return the tables of a list, none when there is no such key."""
        tables = found.get(key, [])
        if not isinstance(tables, list):
            raise self.wrong(key, tables, f"a list of tables, [[{key}]]")
        return tables

    def words(self, found: object, key: str, known: Sequence[str] = ()) -> tuple[str, ...]:
        """Return a list of texts, of which each is known."""
        if not isinstance(found, list) or not found:
            raise self.wrong(key, found, "a list of texts")
        for word in found:
            if not isinstance(word, str) or (known and word not in known):
                raise self.wrong(key, word, f"one of {', '.join(known)}" if known else "a text")
        return tuple(found)

    def numbers(self, found: object, kind: type, where: str) -> dict[str, Any]:
        """Return a table of what stands in a dataclass as numbers; all are above 0."""
        known = {each.name: each.type for each in fields(kind) if each.type in {int, float}}
        table = self.only(found, (*known,), where)
        for key, value in table.items():
            whole = known[key] is int
            fair = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if not fair or not 0 < value <= _MOST:
                expected = f"a {'whole ' if whole else ''}number above 0, at most {_MOST:,}"
                raise self.wrong(f"{where}.{key}", value, expected)
        return table


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
