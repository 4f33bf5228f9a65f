"""A scenario: what is measured, read from TOML.

Decides: which keys there are, what may stand behind each, and that a mistake is an error that names
file, key and way out, before anything is started.
Never: starts anything.

    about = "What reading costs"
    jobs = ["read"]
    loops = ["asyncio"]

    [clients]                # adapter -> ways to read, or assignors
    kgroup = ["records", "values"]

    [[data]]                 # kinds of records; 100 bytes when there is none
    name = "1 kB lz4"
    value_bytes = 1000
    codec = "lz4"
    share = 8                # of the records of a run

    [size]                   # fields of `Plan`
    runs = 5

    [group]                  # fields of `GroupPlan`
    members = 3
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from kgroup.bench.cells import (
    GROUP_JOBS,
    JOBS,
    LEVELS,
    ON_ASYNCIO,
    PLAIN,
    Cell,
    Data,
    GroupPlan,
    Plan,
)
from kgroup.errors import ConfigError
from kgroup.values import dataclass
from kgroup.wire.records import Codec

FOLDER: Final = Path(__file__).parent / "scenarios"
LOOPS: Final = ("asyncio", "uvloop", "trio")
_KEYS: Final = ("about", "jobs", "loops", "clients", "data", "size", "group")
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
    """

    name: str
    about: str
    jobs: tuple[str, ...]
    clients: Mapping[str, tuple[str, ...]]
    loops: tuple[str, ...] = ("asyncio",)
    data: tuple[Data, ...] = (PLAIN,)
    plan: Plan

    def cells(self, clients: Collection[str] = ()) -> Iterator[Cell]:
        """Yield what is measured.

        Args:
            clients: these alone, in this order; none for all. Those the scenario does not name
                read in the one way they have.
        """
        for job in self.jobs:
            for data in self.data:
                for client in clients or self.clients:
                    yield from self._of(client, job, data)

    def _of(self, client: str, job: str, data: Data) -> Iterator[Cell]:
        usual = "range" if job in GROUP_JOBS else LEVELS.get(client, "")
        for level in self.clients.get(client, (usual,)):
            for loop in self.loops if client in ON_ASYNCIO else ("",):
                if loop != "trio" or client == "kgroup":
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
    return Scenario(
        name=name,
        about=reader.text(found, "about"),
        jobs=reader.words(found.get("jobs"), "jobs", JOBS),
        clients={key: reader.words(each, f"clients.{key}") for key, each in clients.items()},
        loops=reader.words(found.get("loops", ["asyncio"]), "loops", LOOPS),
        data=tuple(_data(reader, each) for each in found.get("data", [])) or (PLAIN,),
        plan=plan,
    )


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
) -> Scenario:
    """Return a scenario that is measured more or less thoroughly.

    Args:
        scenario: as it was written.
        runs: of each cell, None for its own.
        seconds: of one run, roughly, None for its own: records and commits are fewer or more.
        seed: of the values.
    """
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
    return replace(scenario, plan=plan)


_A_SECOND: Final = 400_000
"""Records of 100 bytes that most clients read in about a second."""
_COMMITS: Final = 1_000
