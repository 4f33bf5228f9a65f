"""What the brokers say, where a client's word would not do: commits, shares, what is left behind.

Decides: that brokers are tried before anything is measured: whether they answer, let topics be made
and deleted, and speak the protocols that are asked for; and that a group counts as left behind by
the beginning of its name, whoever made it.
Never: asks a client; raises while it cleans up: it returns what it could not delete.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio

from kgroup.admin.groups import committed_offsets, delete_group
from kgroup.bench.filling import connected, remove
from kgroup.codes import ApiKey
from kgroup.errors import ConfigError, KGroupError, NoBrokerError
from kgroup.net.cluster import Cluster
from kgroup.net.coordinator import ask_node
from kgroup.net.group_description import describe_group
from kgroup.net.verdict import refusal
from kgroup.testing.kafka import create_topic
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.types import TopicPartition
from kgroup.wire.messages import ListGroupsRequest

T = TypeVar("T")

_WAIT: Final = 10.0
_EMPTY: Final = 15.0
"""Seconds in which a group whose last member has crashed becomes empty."""
_AGAIN: Final = 0.5


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """Return partition -> committed offset, of those that have one.

    Args:
        bootstrap: of the brokers.
        group: its name.
        topic: whose partitions.

    Raises:
        BrokerError: the coordinator refuses.
        TimeoutError: it does not answer.
    """

    async def ask(cluster: Cluster) -> dict[int, int]:
        found = await committed_offsets(cluster, group, timeout=_WAIT)
        return {tp.partition: at.offset for tp, at in found.items() if at and tp.topic == topic}

    return _with_cluster(bootstrap, ask)


def shares(bootstrap: str, group: str) -> list[list[TopicPartition]]:
    """Return what each member of a group holds, as its coordinator has it.

    Raises:
        BrokerError: the coordinator refuses.
        TimeoutError: it does not answer.
    """

    async def ask(cluster: Cluster) -> list[list[TopicPartition]]:
        found = await describe_group(cluster, group, timeout=_WAIT)
        return [sorted(member.partitions or ()) for member in found.members or ()]

    return _with_cluster(bootstrap, ask)


def check_brokers(bootstrap: str, prefix: str, where: str, *, newer: bool) -> None:
    """Try brokers before anything is measured.

    Args:
        bootstrap: of the brokers.
        prefix: of the name of a topic that is made and deleted.
        where: what asks for them, as `rebalance.toml: clients`.
        newer: whether they have to speak the protocol of KIP-848.

    Raises:
        ConfigError: they are too old, or refuse topics.
        NoBrokerError: none answers.
    """
    if newer and not _speaks(bootstrap, ApiKey.CONSUMER_GROUP_HEARTBEAT):
        expected = "brokers of Kafka 4.0 or newer; or --clients without those that end in @kip848"
        raise ConfigError(where, bootstrap, expected)
    name = f"{prefix}trial"
    try:
        create_topic(bootstrap, name, 1)
        remove(bootstrap, [name])
    except NoBrokerError:
        raise
    except (KGroupError, TimeoutError) as error:
        expected = "brokers on which you may create and delete topics; without --bootstrap one is "
        raise ConfigError(where, bootstrap, f"{expected}started here ({error})") from error


def tidy(bootstrap: str, prefix: str, topics: Sequence[str]) -> list[str]:
    """Delete topics and groups of one's own; return a line about each thing that stays.

    Args:
        bootstrap: of the brokers.
        prefix: of the groups.
        topics: names; one that is not there is no trouble.
    """
    left = []
    try:
        remove(bootstrap, topics)
    except (KGroupError, TimeoutError) as error:
        left.append(f"topics {', '.join(topics)}: {error}")
    try:
        left += _with_cluster(bootstrap, lambda cluster: _drop_groups(cluster, prefix))
    except (KGroupError, TimeoutError) as error:
        left.append(f"groups that begin with {prefix}: {error}")
    return left


async def _drop_groups(cluster: Cluster, prefix: str) -> list[str]:
    deadline, why = time.monotonic() + _EMPTY, dict[str, str]()
    while True:
        answers = [await _groups_of(cluster, node_id) for node_id in cluster.view.brokers]
        mine = [name for names in answers for name in names if name.startswith(prefix)]
        if not mine or time.monotonic() > deadline:
            return [f"group {name}: {why.get(name, 'it is there')}" for name in mine]
        for name in mine:
            try:
                await delete_group(cluster, name, timeout=_WAIT)
            except (KGroupError, TimeoutError) as error:
                why[name] = str(error)
        if why:
            await anyio.sleep(_AGAIN)


async def _groups_of(cluster: Cluster, node_id: int) -> list[str]:
    answer = await ask_node(cluster, node_id, ListGroupsRequest())
    if answer.error_code:
        raise refusal(ApiKey.LIST_GROUPS, answer.error_code, (f"node {node_id}",))
    return [row.group_id for row in answer.groups]


def _speaks(bootstrap: str, api: ApiKey) -> bool:
    """Return whether the brokers know a request, by the word of the first."""
    with Probe(parse_bootstrap(bootstrap)[0]) as probe:
        return any(each.api_key == api for each in probe.api_versions().api_keys)


def _with_cluster(bootstrap: str, ask: Callable[[Cluster], Awaitable[T]]) -> T:
    async def play() -> T:
        async with connected(bootstrap) as cluster:
            return await ask(cluster)

    return anyio.run(play)
