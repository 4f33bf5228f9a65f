"""How long a session is, as brokers tell it: no answer of KIP-848 does.

Decides: whom to ask: for the group's own setting, then for the coordinator's, in one request.
Never: assumes anything when they do not say; the machine does.
KIPs: 848, 1043 (configs of groups).
"""

import logging
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.errors import KGroupError
from kgroup.net.cluster import Cluster, Lane
from kgroup.wire.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

log = logging.getLogger(__name__)

_BROKER: Final = 4
_GROUP: Final = 32
"""What DescribeConfigs calls a broker and a group."""

_OF_GROUP: Final = "consumer.session.timeout.ms"
_OF_BROKER: Final = "group.consumer.session.timeout.ms"


async def session_of(
    cluster: Cluster, node_id: int, group_id: str, *, timeout: float
) -> float | None:
    """Return a group's session time-out in seconds, None when nobody says.

    Args:
        cluster: connections.
        node_id: the coordinator.
        group_id: name of the group.
        timeout: seconds for both questions.
    """
    asked = ((_GROUP, group_id, _OF_GROUP), (_BROKER, str(node_id), _OF_BROKER))
    for kind, name, key in asked:
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=(key,)
        )
        request = DescribeConfigsRequest(resources=(resource,))
        try:
            answer = await cluster.send(
                node_id, request, lane=Lane.CONTROL, timeout=timeout / len(asked)
            )
        except (KGroupError, TimeoutError) as error:
            log.debug("group=%s its session time-out cannot be asked for: %s", group_id, error)
            continue
        found = _read(answer, key)
        if found is not None:
            return found
    return None


def _read(answer: DescribeConfigsResponse, key: str) -> float | None:
    values = (
        row.value
        for result in answer.results
        if result.error_code == ErrorCode.NONE
        for row in result.configs
        if row.name == key
    )
    text = next(values, None)
    return int(text) / 1000 if text is not None and text.isdigit() and int(text) else None
