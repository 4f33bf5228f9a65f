"""Which groups claim their partitions in a log, and so have no members with a coordinator.

Decides: that a group is a Marshal group when the last hour of the log has a claim of it.
Never: writes to the log; asks for it when no group may be meant.
"""

from collections.abc import Collection

from kgroup.admin.marshal.claim_log import claim_log
from kgroup.admin.marshal.settings import AdminSettings
from kgroup.marshal.survey import standings
from kgroup.net.cluster import Cluster


async def find_claiming(
    cluster: Cluster, topic: str, candidates: Collection[str], *, timeout: float
) -> frozenset[str]:
    """Return those of some groups that claim partitions in a log.

    Args:
        cluster: running.
        topic: the coordination topic; without one no group does.
        candidates: groups that have no members with their coordinators.
        timeout: seconds.

    Raises:
        CoordinationTopicError, BrokerError: the log cannot be read.
        TimeoutError: it was not read in time.
    """
    if not candidates:
        return frozenset()
    view = await cluster.look_up(frozenset({topic}), timeout=timeout)
    found = view.topics.get(topic)
    if found is None or found.is_gone:
        return frozenset()
    settings = AdminSettings("kgroup-admin", topic=topic, timeout=timeout)
    async with claim_log(cluster, settings) as log:
        worlds = [log.world(number) for number in log.partitions]
    groups = {key.group.decode(errors="replace") for each in worlds for key, _ in standings(each)}
    return frozenset(groups & set(candidates))
