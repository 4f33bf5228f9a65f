"""What must hold before a member begins to claim.

Decides: that a group is coordinated in one way at a time, and that the brokers can serve members of
the original library where they are to be met by their own rules.
Never: writes anything; looks again later (`native_watch` does).
KIPs: 511 (a client names its software when it asks for versions), 896 (brokers from 4.0 on do not
speak the versions of the original library).
"""

import logging
from collections.abc import Callable
from typing import Final

import anyio

from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.marshal.positions import MarshalPlace
from kgroup.backends.marshal.topic_check import TopicCheck, check_topic
from kgroup.codes import ApiKey
from kgroup.errors import BrokerError, ConfigError, GroupError, KGroupError, UnsupportedError
from kgroup.marshal.events import LogLost
from kgroup.marshal.rules import Compat, MarshalSettings
from kgroup.net.cluster import Cluster
from kgroup.net.group_description import describe_group
from kgroup.net.settings import software_version
from kgroup.net.versions import BrokerVersions
from kgroup.wire.messages import ApiVersionsRequest

log = logging.getLogger("kgroup.marshal")

_SHOWN: Final = 3
_LEAST_BY_SENDERS: Final = 2


async def enter(
    cluster: Cluster, settings: MarshalSettings, place: MarshalPlace, search: CoordinatorSearch
) -> TopicCheck:
    """Look whether a member may begin to claim; what is amiss and can be lived with is logged.

    Args:
        cluster: running.
        settings: of the member.
        place: where it coordinates.
        search: learns which broker coordinates the group: no claim has to wait for that.

    Returns:
        What the coordination topic is like.

    Raises:
        CoordinationTopicError: it is not there, or is compacted.
        ConfigError: no claim lives long enough by the timestamps of this topic.
        GroupError: the group has members with the group coordinator.
        UnsupportedError: the brokers cannot serve what `compat` asks for.
        BrokerError: something may not be looked at.
        TimeoutError: nobody could tell in time.
    """
    await refuse_new_brokers(cluster, place.compat, timeout=place.timeout)
    found = await check_topic(cluster, place.topic, timeout=place.timeout)
    for warning in found.warnings:
        log.warning("%s", warning.text)
    if found.append_time is False:
        refuse_short_intervals(settings.interval, place.topic)
    search.learn(await refuse_native(cluster, settings.group_id, timeout=place.timeout))
    return found


def refuse_short_intervals(interval: int, topic: str) -> None:
    """Refuse an interval too short for timestamps that members set.

    Those are whole seconds, so a claim loses a second or two of its time to live. Of two seconds
    half a one is left, and a heartbeat that comes a moment late would end it.

    Raises:
        ConfigError: it is.
    """
    if interval < _LEAST_BY_SENDERS:
        raise ConfigError(
            "marshal_heartbeat_interval",
            float(interval),
            f"{_LEAST_BY_SENDERS} s or more while the timestamps in {topic!r} are those of its "
            "members; or set message.timestamp.type=LogAppendTime on it",
        )


async def refuse_native(cluster: Cluster, group_id: str, *, timeout: float) -> int:
    """Refuse a group that has members with the group coordinator.

    Its commits would be refused, and both would read the same partitions.

    Args:
        cluster: running.
        group_id: name of the group.
        timeout: seconds.

    Returns:
        Node id of the coordinator, which said so.

    Raises:
        GroupError: it has; the text names some of them.
        BrokerError: the group may not be described.
        TimeoutError: no coordinator answered in time.
    """
    group = await describe_group(cluster, group_id, timeout=timeout)
    members = group.members or ()
    if not members:
        return group.coordinator
    names = ", ".join(sorted(one.client_id for one in members)[:_SHOWN])
    raise GroupError(
        f"group {group_id!r} has {len(members)} members with the group coordinator ({names}): "
        "stop them first, or take another group_id; a group is coordinated in one way at a time"
    )


async def refuse_new_brokers(cluster: Cluster, compat: Compat, *, timeout: float) -> None:
    """Refuse the rules of the original library where none of its members can be.

    It would not learn why: it finds the brokers, and waits for ever. The versions of ListOffsets
    are the sign; those of Produce are advertised and refused.

    Raises:
        UnsupportedError: the brokers do not speak its requests.
        BrokerError: no broker tells what it speaks.
        TimeoutError: no broker answered in time.
    """
    if compat is not Compat.GO:
        return
    # Without a name and a version of the software the answer is INVALID_REQUEST, and no range.
    asked = ApiVersionsRequest(
        client_software_name="kgroup", client_software_version=software_version()
    )
    answer = await cluster.send_any(asked, timeout=timeout)
    if answer.error_code:
        raise BrokerError("API_VERSIONS", answer.error_code)
    offered = BrokerVersions.read(answer.api_keys).ranges.get(ApiKey.LIST_OFFSETS)
    if offered is None or offered.lowest > 0:
        raise UnsupportedError(
            "compat='go': these brokers (4.0 or newer) speak nothing that the original library "
            "speaks, so none of its members can be in the group; leave compat at 'auto'"
        )


# -- native watch ----------------------------------------------------------------------------------
#
# That no member of the group coordinator's comes to a group that claims.
#
# Decides: how often the coordinator is asked which members are there.
# Never: ends a group because nobody answered, or may answer: only a member that is there does.
#
# The entrance looks once, and the coordinator knows nothing of members that claim: 1. one owns a
# partition; 2. a native consumer of the same group id is started; 3. it is given all partitions,
# and both read them. Commits would tell, which are refused then, but not everybody commits.


_LOOK_EVERY: Final = 60.0


async def watch_native(cluster: Cluster, group_id: str, tell: Callable[[LogLost], None]) -> None:
    """Ask once a minute, until cancelled or until there is one.

    Args:
        cluster: running.
        group_id: name of the group.
        tell: hears the end of the membership: what is claimed is read by somebody else, too.
    """
    dice = cluster.ports.dice_for(f"natives of {group_id}")
    while True:
        # Members that were started together do not ask together.
        await anyio.sleep(_LOOK_EVERY * dice.uniform(0.8, 1.0))
        try:
            await refuse_native(cluster, group_id, timeout=cluster.settings.request_timeout)
        except GroupError as error:
            tell(LogLost(0, str(error), error))
            return
        except (KGroupError, TimeoutError) as error:
            log.debug("group=%s nobody tells whether it has native members: %s", group_id, error)
