"""Which positions `kgroup marshal set-positions` is to set, as they are typed.

Decides: the forms: a place for all partitions of topics, a place for one partition, a file of
those, or what the group coordinator has.
Never: moves an offset that was named: one that a log does not have is refused later, not clamped.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.admin.groups import committed_offsets
from kgroup.cli.consuming import read_place
from kgroup.cli.marshal import Scope
from kgroup.errors import ArgumentError
from kgroup.net.admin import describe_topics
from kgroup.net.cluster import Cluster
from kgroup.net.log_places import Offset, Place, find_places
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_FORMS: Final = "PLACE, or TOPIC-PARTITION=PLACE such as orders-0=42"


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where a group is to go on.

    Args:
        to: places.
        file: of places, one a line.
        from_committed: whether the positions of the group coordinator are taken.
    """

    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="earliest, latest, an offset, -N, a time or an age, for all partitions of each "
            "--topic; or TOPIC-PARTITION=PLACE for one. May be repeated.",
        ),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of TOPIC-PARTITION=PLACE, one a line."),
    ] = None
    from_committed: Annotated[
        bool,
        typer.Option(
            "--from-committed",
            help="Take what is committed: moves a group from the group coordinator to the log.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was typed, understood.

    Args:
        exact: places of single partitions.
        everywhere: place of all other partitions of the topics that are named, None without one.
        committed: whether the positions of the group coordinator are taken instead.
    """

    exact: Mapping[TopicPartition, Place]
    everywhere: Place | None = None
    committed: bool = False


def read_targets(targets: Targets, scope: Scope, *, now: float) -> Wanted:
    """Understand what was typed.

    Args:
        targets: as typed.
        scope: topics whose partitions are meant by a place alone.
        now: seconds since the epoch.

    Raises:
        ArgumentError: a form that is none, nothing named at all, or one partition named twice.
    """
    words = [*(targets.to or ()), *_lines(targets.file)]
    if targets.from_committed:
        if words:
            raise ArgumentError("--from-committed", words[0], "no --to and no --file beside it")
        return Wanted({}, committed=True)
    if not words:
        raise ArgumentError("--to", None, f"{_FORMS}; or --file, or --from-committed")
    wanted = _sorted_out(words, now=now)
    if wanted.everywhere is not None and not scope.topics:
        expected = "a --topic beside a place for all partitions, or TOPIC-PARTITION=PLACE"
        raise ArgumentError("--topic", None, expected)
    return wanted


async def find_targets(
    cluster: Cluster, wanted: Wanted, scope: Scope, *, timeout: float
) -> dict[TopicPartition, int]:
    """Return the offset that is wanted of each partition.

    Args:
        cluster: running.
        wanted: what was typed.
        scope: the group, and topics whose partitions are meant by a place alone.
        timeout: seconds for each question.

    Raises:
        ArgumentError: there is no such partition, or nothing is committed.
        BrokerError, TimeoutError: a place could not be found.
    """
    if wanted.committed:
        return await _committed(cluster, scope, timeout)
    exact = dict(wanted.exact)
    if wanted.everywhere is not None:
        alike = dict.fromkeys(await _partitions(cluster, scope, timeout), wanted.everywhere)
        exact = {**alike, **exact}
    return await _offsets(cluster, exact, timeout)


def _lines(file: Path | None) -> Iterator[str]:
    if file is None:
        return
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError("--file", str(file), f"a file that can be read ({error})") from error
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            if "=" not in stripped:
                raise ArgumentError("--file", stripped, "lines of TOPIC-PARTITION=PLACE")
            yield stripped


def _sorted_out(words: Sequence[str], *, now: float) -> Wanted:
    exact: dict[TopicPartition, Place] = {}
    everywhere: Place | None = None
    for word in words:
        name, equals, place = word.rpartition("=")
        read = read_place("--to", place, now=now)
        if not equals:
            if everywhere is not None:
                raise ArgumentError("--to", word, "one place for all partitions, not two")
            everywhere = read
            continue
        tp = _tp(name.strip(), word)
        if tp in exact:
            raise ArgumentError("--to", word, f"{tp} once")
        exact[tp] = read
    return Wanted(exact, everywhere)


def _tp(name: str, word: str) -> TopicPartition:
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not number.isascii() or not number.isdigit():
        raise ArgumentError("--to", word, _FORMS)
    return TopicPartition(topic, int(number))


async def _partitions(cluster: Cluster, scope: Scope, timeout: float) -> list[TopicPartition]:
    topics = await describe_topics(cluster, scope.names or frozenset(), timeout=timeout)
    return [TopicPartition(name, n) for name, topic in topics.items() for n in topic.partitions]


async def _offsets(
    cluster: Cluster, places: Mapping[TopicPartition, Place], timeout: float
) -> dict[TopicPartition, int]:
    await _check(cluster, places, timeout)
    found = {tp: place.offset for tp, place in places.items() if isinstance(place, Offset)}
    by_place: dict[Place, list[TopicPartition]] = {}
    for tp, place in places.items():
        if not isinstance(place, Offset):
            by_place.setdefault(place, []).append(tp)
    for place, tps in by_place.items():
        found.update(await find_places(cluster, tps, place, timeout=timeout))
    return found


async def _check(cluster: Cluster, places: Mapping[TopicPartition, Place], timeout: float) -> None:
    topics = await describe_topics(cluster, {tp.topic for tp in places}, timeout=timeout)
    for tp in sorted(places):
        there = topics[tp.topic].partitions
        if tp.partition not in there:
            raise ArgumentError("partition", str(tp), f"one of the {len(there)} of {tp.topic!r}")


async def _committed(cluster: Cluster, scope: Scope, timeout: float) -> dict[TopicPartition, int]:
    found = await committed_offsets(cluster, scope.group, timeout=timeout)
    names = scope.names
    kept = {
        tp: each.offset
        for tp, each in found.items()
        if each is not None and (names is None or tp.topic in names)
    }
    if not kept:
        what = "a group that has committed something"
        raise ArgumentError("--from-committed", scope.group, what)
    return kept
