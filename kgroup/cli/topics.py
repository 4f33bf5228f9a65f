"""`kgroup topics`: what topics there are, and making and deleting them.

Decides: what is shown of a topic, and that nothing is deleted without being asked for twice.
Never: asks the cluster itself; `kgroup.net.admin` does.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from kgroup.cli.connecting import Common, perform
from kgroup.cli.tables import Cell, make_table, screen
from kgroup.cli.verbs import ask_first
from kgroup.errors import ArgumentError
from kgroup.net.admin import NewTopic, create_topics, delete_topics, describe_topics
from kgroup.net.cluster import Cluster
from kgroup.net.log_places import Bounds, log_bounds
from kgroup.net.metadata import TopicInfo
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What `kgroup topics` takes.

    Args:
        names: topics to be described; none lists all.
        internal: whether topics of the brokers are listed.
        offsets: whether brokers are asked where each partition begins and ends.
    """

    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Topics to describe.")
    ] = None
    internal: Annotated[bool, typer.Option("--internal", help="List the brokers' own too.")] = False
    offsets: Annotated[bool, typer.Option("--offsets", help="Say where logs begin and end.")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """What `kgroup topics create` takes.

    Args:
        name: of the topic.
        partitions: how many, None for the broker's choice.
        replicas: of each partition, None for the broker's choice.
        settings: `name=value` of each setting.
    """

    name: Annotated[str, typer.Argument(help="Its name.")]
    partitions: Annotated[
        int | None, typer.Option(min=1, help="How many; the broker chooses without.")
    ] = None
    replicas: Annotated[
        int | None, typer.Option(min=1, help="Of each partition; the broker chooses without.")
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting of the topic; may be repeated."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """What `kgroup topics delete` takes.

    Args:
        names: of the topics.
        yes: whether nobody needs to be asked.
    """

    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Topics to delete.")]
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """Topics, and where their logs begin and end.

    Args:
        topics: by name.
        bounds: of every partition; None when nobody asked.
    """

    topics: Mapping[str, TopicInfo]
    bounds: Mapping[TopicPartition, Bounds] | None


async def look(cluster: Cluster, asked: Listing, *, timeout: float) -> TopicFacts:
    """Ask for what the options say.

    Raises:
        BrokerError: a topic that is named is not there, or refused.
        TimeoutError: no answer in time.
    """
    topics = await describe_topics(cluster, asked.names or None, timeout=timeout)
    if not asked.names and not asked.internal:
        topics = {name: topic for name, topic in topics.items() if not topic.is_internal}
    if not asked.offsets:
        return TopicFacts(topics, None)
    tps = [TopicPartition(name, n) for name, topic in topics.items() for n in topic.partitions]
    return TopicFacts(topics, await log_bounds(cluster, tps, timeout=timeout))


def listing(asked: Listing, common: Common) -> None:
    """List topics, or describe those that are named, partition by partition."""
    facts = perform(common, lambda cluster: look(cluster, asked, timeout=common.timeout))
    if common.as_json:
        print(json.dumps(_as_json(facts), indent=2))
    elif asked.names:
        _show_partitions(facts)
    else:
        _show_topics(facts)


def create(asked: Create, common: Common) -> None:
    """Make a topic, and wait until all its partitions have leaders."""
    settings = dict(_setting(text) for text in asked.settings or ())
    topic = NewTopic(asked.name, asked.partitions, asked.replicas, settings)
    made = perform(common, lambda cluster: create_topics(cluster, [topic], timeout=common.timeout))
    if common.as_json:
        print(json.dumps({"name": asked.name, "created": asked.name in made}))
    elif made:
        print(f"created topic {asked.name}")
    if not made:
        screen(stderr=True).print(f"topic {asked.name} is there already, as it is", markup=False)
        raise typer.Exit(1)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ArgumentError("--set", text, "NAME=VALUE, such as retention.ms=3600000")
    return name.strip(), value.strip()


def delete(asked: Delete, common: Common) -> None:
    """Delete topics with everything in them."""
    names = asked.names
    perform(common, lambda cluster: describe_topics(cluster, names, timeout=common.timeout))
    if not asked.yes:
        ask_first(f"Delete {', '.join(names)} and all records?")
    perform(common, lambda cluster: delete_topics(cluster, names, timeout=common.timeout))
    if common.as_json:
        print(json.dumps({"deleted": names}))
    else:
        print(f"deleted {', '.join(names)}")


# -- what is shown -------------------------------------------------------------------------


def _show_topics(facts: TopicFacts) -> None:
    columns = ["topic", "partitions", "replicas", "in sync", ""]
    if facts.bounds is not None:
        columns[-1:] = ["offsets", ""]
    rows = [_topic_row(name, topic, facts) for name, topic in facts.topics.items()]
    screen().print(make_table(columns, rows) if rows else "no topics that you may see")


def _topic_row(name: str, topic: TopicInfo, facts: TopicFacts) -> list[Cell]:
    parts = topic.partitions.values()
    row: list[Cell] = [
        name,
        len(topic.partitions),
        max((len(one.replicas) for one in parts), default=0),
        min((len(one.in_sync) for one in parts), default=0),
    ]
    if facts.bounds is not None:
        found = [facts.bounds[TopicPartition(name, n)] for n in topic.partitions]
        known = [b.end - b.begin for b in found if b.begin is not None and b.end is not None]
        row.append(sum(known) if len(known) == len(found) else None)
    leaderless = sum(one.leader is None for one in parts)
    words = ["internal"] if topic.is_internal else []
    words += [f"{leaderless} without a leader"] if leaderless else []
    return [*row, ", ".join(words)]


def _show_partitions(facts: TopicFacts) -> None:
    console = screen()
    for name, topic in facts.topics.items():
        internal = ", internal" if topic.is_internal else ""
        uuid = "" if topic.topic_id is None else f", id {topic.topic_id.hex()}"
        title = f"{name}: {len(topic.partitions)} partitions{internal}{uuid}"
        console.print(title, markup=False, style="bold")
        columns = ["partition", "leader", "replicas", "in sync", "offline"]
        if facts.bounds is not None:
            columns += ["begin", "end", ""]
        console.print(make_table(columns, _partition_rows(name, topic, facts)))


def _partition_rows(name: str, topic: TopicInfo, facts: TopicFacts) -> Iterator[list[Cell]]:
    for number, one in topic.partitions.items():
        row: list[Cell] = [number, one.leader]
        row += [_nodes(one.replicas), _nodes(one.in_sync), _nodes(one.offline)]
        if facts.bounds is not None:
            bounds = facts.bounds[TopicPartition(name, number)]
            why = "" if bounds.error is None else str(bounds.error)
            row += [bounds.begin, bounds.end, why]
        yield row


def _nodes(nodes: tuple[int, ...]) -> str | None:
    return " ".join(map(str, nodes)) or None


def _as_json(facts: TopicFacts) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "topic_id": None if topic.topic_id is None else topic.topic_id.hex(),
            "internal": topic.is_internal,
            "partitions": [
                _partition_json(facts, TopicPartition(name, n)) for n in topic.partitions
            ],
        }
        for name, topic in facts.topics.items()
    ]


def _partition_json(facts: TopicFacts, tp: TopicPartition) -> dict[str, Any]:
    one = facts.topics[tp.topic].partitions[tp.partition]
    found: dict[str, Any] = {
        "partition": tp.partition,
        "leader": one.leader,
        "leader_epoch": one.leader_epoch,
        "replicas": list(one.replicas),
        "in_sync": list(one.in_sync),
        "offline": list(one.offline),
    }
    if facts.bounds is not None:
        bounds = facts.bounds[tp]
        error = None if bounds.error is None else str(bounds.error)
        found |= {"begin": bounds.begin, "end": bounds.end, "error": error}
    return found
