"""What is measured, as data: clients, levels, loops, records.

Decides: which combinations there are, and which client reads a quarter of the records because it
needs microseconds for each.
Never: holds anything that was measured.
"""

from collections.abc import Collection, Iterator

from kgroup.bench.cells import ON_ASYNCIO, PLAIN, Cell, Data

OURS = ("kgroup", "drop-in aiokafka", "drop-in kafka-python")
PEERS = ("aiokafka", "kafka-python", "confluent", "java")

DATA = (
    PLAIN,
    Data("100 B lz4", 100, "lz4", share=4),
    Data("100 B zstd", 100, "zstd", share=4),
    Data("1 kB", 1000, share=8),
    Data("1 kB lz4", 1000, "lz4", share=8),
    Data("1 kB zstd", 1000, "zstd", share=8),
)

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
            runs = client == "kgroup" or (client in ON_ASYNCIO and loop == "uvloop")
            if runs and level in levels:
                yield Cell("read", client, level, loop, quarter=True)


def _other_data() -> Iterator[Cell]:
    for data in DATA[1:]:
        for client, level, _ in _READERS:
            if (client, level) in _FASTEST:
                yield Cell("read", client, level, _loop(client), data)


def _loop(client: str) -> str:
    return "asyncio" if client in ON_ASYNCIO else ""
