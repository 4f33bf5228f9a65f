"""Which combinations of a test `make test` runs, and which are left to `make test-faults`.

Decides: most tests of a consumer run on two async backends, and those on real brokers on two
versions of Kafka. In `make test` each runs in one combination, chosen by its name, so that the
choice never moves; the other combinations are marked `faults`. Together both commands run every
combination of every test.
Tests on real brokers are dealt to two processes, each with its own clusters: they mostly wait, and
a cluster takes longer to start than most tests on it. Tests of the searches are marked `search` by
their folder, and run there in all combinations.
Never: leaves a combination out of both commands.
"""

from collections.abc import Iterable, Sequence
from typing import Final
from zlib import crc32

import pytest
from xdist.scheduler import LoadScopeScheduling

_BACKENDS: Final = ("asyncio", "trio")
_VERSIONS: Final = ("3.9.1", "4.3.1")
_SEARCHES: Final = "tests/search/"
_REAL: Final = "tests/real/"
_RERUNS: Final = 2
_WITH_CLUSTERS: Final = 2
"""Processes that run tests on real brokers."""


def chosen(name: str, count: int) -> int:
    """Return which of a test's combinations `make test` runs: a number below `count`.

    Args:
        name: of the test, with the parameters that are not backend or version.
        count: how many combinations it has.
    """
    return crc32(name.encode()) % count


def mark_combinations(items: Iterable[pytest.Item]) -> None:
    """Mark with `faults` the combinations that were not chosen."""
    found: dict[str, list[tuple[tuple[str, ...], pytest.Item]]] = {}
    for item in items:
        if item.get_closest_marker("real"):
            item.add_marker(pytest.mark.flaky(reruns=_RERUNS))
        elif item.nodeid.startswith(_SEARCHES):
            continue
        name, combination = _split(item)
        if combination:
            found.setdefault(name, []).append((combination, item))
    for name, same in found.items():
        ordered = [item for _, item in sorted(same, key=lambda pair: pair[0])]
        kept = ordered[chosen(name, len(ordered))]
        for item in ordered:
            if item is not kept:
                item.add_marker(pytest.mark.faults)


def mark_searches(items: Iterable[pytest.Item]) -> None:
    """Mark with `search` what lies in the folder of the searches and needs no real broker."""
    for item in items:
        if item.nodeid.startswith(_SEARCHES) and not item.get_closest_marker("real"):
            item.add_marker(pytest.mark.search)


def first_on_real_brokers(items: list[pytest.Item]) -> None:
    """Put all tests on real brokers first: few processes have them, and they take longest."""
    items.sort(key=lambda item: item.get_closest_marker("real") is None)


class FewClusters(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Gives each file to one process; all those of tests on real brokers to the same two."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if not (path.startswith(_REAL) or path.endswith("test_real.py")):
            return path
        return f"{_REAL}{crc32(path.encode()) % _WITH_CLUSTERS}"


def _split(item: pytest.Item) -> tuple[str, tuple[str, ...]]:
    """Return a test's name without its backend and version, and these two."""
    path, _, call = item.nodeid.partition("[")
    if not call:
        return path, ()
    parts = call.removesuffix("]").split("-")
    axes = tuple(part for part in parts if part in (*_BACKENDS, *_VERSIONS))
    return "-".join((path, *_others(parts))), axes


def _others(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if part not in (*_BACKENDS, *_VERSIONS)]
