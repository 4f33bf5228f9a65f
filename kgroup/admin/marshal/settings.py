"""The settings of an administrator of a Marshal group.

Decides: names, units and bounds; that ids can be written into the log of claims; that two
administrators without a name get two different names.
Never: reads a configuration.
"""

import re
from dataclasses import field
from functools import partial
from typing import Final

from kgroup.backends.marshal.topic_check import TopicCheck, check_topic
from kgroup.codes import ApiKey
from kgroup.errors import ArgumentError
from kgroup.marshal.key_state import LONGEST_PAUSE
from kgroup.marshal.rules import MARSHAL_TOPIC
from kgroup.net.admin import NewTopic, create_topics
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Dice
from kgroup.net.retrying import retry
from kgroup.net.verdict import refusal
from kgroup.values import dataclass

LONGEST_KEPT: Final = 7 * 86_400.0
"""Seconds for which a pause is kept up; a slip of the pen stops nobody for years."""

_MOST_BYTES: Final = 249
_UNSOUND: Final = re.compile(r"[/\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """Which administrator asks, for which group; times in seconds.

    Args:
        group_id: of the group.
        client_id: of the administrator. A pause binds everybody else; the next call under the same
            name goes on with what an earlier one left behind. A call that only reads needs none.
        topic: name of the coordination topic.
        timeout: for one question, and for what was written to be read back.
        whole: whether the log is read from its first record instead of its last hour.
    """

    group_id: str
    client_id: str = "kgroup-admin"
    topic: str = MARSHAL_TOPIC
    timeout: float = 10.0
    whole: bool = False

    def __post_init__(self) -> None:
        for name in ("group_id", "client_id"):
            value = getattr(self, name)
            if not value or _UNSOUND.search(value) or len(value.encode()) > _MOST_BYTES:
                expected = f"1 to {_MOST_BYTES} bytes without '/' and control characters"
                raise ArgumentError(name, value, expected)


def admin_name(dice: Dice) -> str:
    """Return a client id that nobody else has.

    1. Two administrators set positions at one time; 2. both have one name, so that the pause of the
    one binds the other as little as itself; 3. each takes over the keys that the other holds, and
    the log says what the one has set, Kafka what the other one has committed.
    """
    return f"kgroup-admin-{dice.getrandbits(32):08x}"


def check_pause(seconds: float) -> None:
    """Refuse a pause that nobody would keep to its end.

    Raises:
        ArgumentError: it is shorter than a second, or longer than `LONGEST_PAUSE`.
    """
    if not 1 <= seconds <= LONGEST_PAUSE:
        expected = (
            f"1 to {LONGEST_PAUSE} seconds: members that start read an hour of the log, and "
            "would not see an older pause; it is renewed while it is needed"
        )
        raise ArgumentError("pause", seconds, expected)


def check_kept_pause(seconds: float) -> None:
    """Refuse a pause that is not to be kept up for so long.

    Raises:
        ArgumentError: it is shorter than a second, or longer than `LONGEST_KEPT`.
    """
    if not 1 <= seconds <= LONGEST_KEPT:
        raise ArgumentError("pause", seconds, f"1 to {LONGEST_KEPT:.0f} seconds, a week")


# -- setup -----------------------------------------------------------------------------------------
#
# Making the coordination topic, or looking at the one that is there.
#
# Decides: the settings of a new one.
# Never: changes one that is there: some settings can be changed by hand, the number of partitions
# never while a member runs.


_REPLICAS: Final = 3
_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_SEGMENT: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SetUp:
    """What was done, or would be.

    Args:
        topic: as it was made, or would be made if it were not there.
        made: whether it was made now.
        check: what the existing topic is like; None when there is no topic.
    """

    topic: NewTopic
    made: bool
    check: TopicCheck | None = field(default=None)


def new_topic(name: str, partitions: int, brokers: int) -> NewTopic:
    """Return what a new coordination topic is like.

    Args:
        name: of the topic.
        partitions: how many; topics are spread over them, and the number cannot be changed later
            without stopping all members.
        brokers: how many there are; a topic of fewer than three brokers is less safe than it
            should be.
    """
    replicas = max(min(_REPLICAS, brokers), 1)
    configs = {
        "cleanup.policy": "delete",
        "compression.type": "uncompressed",
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": str(max(replicas - 1, 1)),
        "retention.ms": str(_DAY_MS),
        "segment.bytes": str(_SEGMENT),
        "segment.ms": str(_HOUR_MS),
        "unclean.leader.election.enable": "false",
    }
    return NewTopic(name, partitions, replicas, configs)


async def set_up(
    cluster: Cluster, name: str, partitions: int, *, dry_run: bool = False, timeout: float
) -> SetUp:
    """Make the coordination topic unless it is there, and look at it.

    Args:
        cluster: running.
        name: of the topic.
        partitions: how many a new one has.
        dry_run: whether nothing is made.
        timeout: seconds for each question.

    Raises:
        CoordinationTopicError: the one that is there is compacted.
        BrokerError: it may not be made, or not be seen.
        TimeoutError: not made, or not seen, in time.
    """
    topic = new_topic(name, partitions, len(cluster.view.brokers))
    attempt = partial(_is_there, cluster, name)
    there = await retry(cluster, attempt, timeout=timeout, what=f"look for topic {name}")
    made = False
    if not there and dry_run:
        return SetUp(topic, made=False)
    if not there:
        made = name in await create_topics(cluster, [topic], timeout=timeout)
    return SetUp(topic, made, await check_topic(cluster, name, timeout=timeout))


async def _is_there(cluster: Cluster, name: str) -> bool:
    view = await cluster.look_up(frozenset({name}), timeout=cluster.settings.request_timeout)
    found = view.topics.get(name)
    if found is not None and found.error and not found.is_gone:
        raise refusal(ApiKey.METADATA, found.error, (name,))
    return found is not None and not found.is_gone
