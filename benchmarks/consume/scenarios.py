"""What is measured, as data: clients, levels, loops, records.

Decides: which combinations there are, and which client reads a quarter of the records because it
needs microseconds for each.
Never: holds anything that was measured.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

OURS = ("kgroup", "drop-in aiokafka", "drop-in kafka-python")
PEERS = ("aiokafka", "kafka-python", "confluent", "java")


@dataclass(frozen=True, slots=True)
class Data:
    """The records of a topic.

    Args:
        name: for people.
        value_bytes: of each value.
        codec: of each batch.
        share: by which the plan's records are divided.
    """

    name: str
    value_bytes: int
    codec: str = "none"
    share: int = 1


PLAIN = Data("100 B", 100)
DATA = (
    PLAIN,
    Data("100 B lz4", 100, "lz4", share=4),
    Data("100 B zstd", 100, "zstd", share=4),
    Data("1 kB", 1000, share=8),
    Data("1 kB lz4", 1000, "lz4", share=8),
    Data("1 kB zstd", 1000, "zstd", share=8),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing that is measured; its name is unique.

    Args:
        job: `read`, `start`, `import`, `commit`, `members` or `instructions`.
        client: name of its process.
        level: way to read.
        loop: asyncio, uvloop, trio; empty where a client has none.
        data: records that are read.
        pure: whether kgroup's compiled module is switched off.
        quarter: whether a quarter of the records is read.
    """

    job: str
    client: str
    level: str = ""
    loop: str = ""
    data: Data = field(default=PLAIN)
    pure: bool = False
    quarter: bool = False

    @property
    def who(self) -> str:
        """Client and level, and the loop where it is not asyncio."""
        words = [self.client, "without compiler" if self.pure else "", self.level]
        words.append(f"on {self.loop}" if self.loop in {"uvloop", "trio"} else "")
        return " ".join(filter(None, words))

    @property
    def name(self) -> str:
        """What it is called in the results."""
        return f"{self.job}: {self.who}: {self.data.name}"

    def described(self) -> dict[str, Any]:
        """Return what the results say of it."""
        return {
            "name": self.name,
            "job": self.job,
            "client": self.client,
            "level": self.level,
            "loop": self.loop,
            "data": self.data.name,
            "pure": self.pure,
        }


_ASYNC = {"kgroup", "drop-in aiokafka", "aiokafka"}

# (client, level, reads a quarter)
_READERS = (
    ("kgroup", "columns", False),
    ("kgroup", "arrow", False),
    ("kgroup", "values", False),
    ("kgroup", "records", False),
    ("kgroup", "getmany", False),
    ("kgroup", "async for", False),
    ("drop-in aiokafka", "getmany", False),
    ("drop-in aiokafka", "async for", True),
    ("drop-in kafka-python", "poll", True),
    ("drop-in kafka-python", "iterate", True),
    ("aiokafka", "getmany", False),
    ("aiokafka", "async for", True),
    ("kafka-python", "poll", True),
    ("kafka-python", "iterate", True),
    ("confluent", "consume", False),
    ("confluent", "consume, tuned", False),
    ("confluent", "poll", True),
    ("java", "poll", False),
)
_FASTEST = {
    ("kgroup", "columns"),
    ("kgroup", "values"),
    ("kgroup", "records"),
    ("drop-in aiokafka", "getmany"),
    ("aiokafka", "getmany"),
    ("confluent", "consume, tuned"),
    ("java", "poll"),
}
_ON_OTHER_LOOPS = {
    "uvloop": ("records", "values", "getmany", "async for"),
    "trio": ("records", "values", "async for"),
}
_STARTERS = (
    ("kgroup", "async for"),
    ("drop-in aiokafka", "async for"),
    ("drop-in kafka-python", "poll"),
    ("aiokafka", "async for"),
    ("kafka-python", "poll"),
    ("confluent", "poll"),
    ("java", "poll"),
)
_COUNTED = (
    ("kgroup", "values"),
    ("kgroup", "records"),
    ("kgroup", "async for"),
    ("drop-in aiokafka", "getmany"),
    ("aiokafka", "getmany"),
)


def cells(peers: Collection[str], *, extras: bool) -> list[Cell]:
    """Return everything that is measured.

    Args:
        peers: clients to compare with.
        extras: whether loops, codecs and larger records are measured besides the defaults.
    """
    found = [*_defaults()]
    if extras:
        found += [*_other_loops(), *_other_data()]
    found += _small_jobs()
    return [cell for cell in found if cell.client in OURS or cell.client in peers]


def _defaults() -> Iterator[Cell]:
    for client, level, quarter in _READERS:
        yield Cell("read", client, level, _loop(client), quarter=quarter)
    for level in ("records", "values"):
        yield Cell("read", "kgroup", level, "asyncio", pure=True)


def _small_jobs() -> Iterator[Cell]:
    for client, level in _STARTERS:
        yield Cell("start", client, level, _loop(client))
        if client != "java":
            yield Cell("import", client)
        yield Cell("commit", client, "", _loop(client))
    for client in ("kgroup", "drop-in aiokafka", "aiokafka"):
        yield Cell("members", client, "", "asyncio")
    for client, level in _COUNTED:
        yield Cell("instructions", client, level, "asyncio")


def _other_loops() -> Iterator[Cell]:
    for client, level, _ in _READERS:
        for loop, levels in _ON_OTHER_LOOPS.items():
            runs = client == "kgroup" or (client in _ASYNC and loop == "uvloop")
            if runs and level in levels:
                yield Cell("read", client, level, loop, quarter=True)


def _other_data() -> Iterator[Cell]:
    for data in DATA[1:]:
        for client, level, _ in _READERS:
            if (client, level) in _FASTEST:
                yield Cell("read", client, level, _loop(client), data)


def _loop(client: str) -> str:
    return "asyncio" if client in _ASYNC else ""
