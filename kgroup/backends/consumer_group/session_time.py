"""How long a session is, as brokers tell it: no answer of KIP-848 does.

Decides: whom to ask: for the group's own setting, then for the coordinator's.
Never: assumes anything when they refuse to say; the machine does. Takes silence for a refusal: a
member that assumed too long a session because an answer was late would hand out what others have.
KIPs: 848, 1043 (configs of groups).
"""

from typing import Final

from kgroup.codes import ApiKey, ErrorCode, is_retriable
from kgroup.errors import BrokerError, UnsupportedVersionError
from kgroup.net.cluster import Cluster, Lane
from kgroup.wire.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

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
        timeout: seconds for each of two questions.

    Raises:
        TransportError, TimeoutError: there was no answer; it must be asked again.
        BrokerError: the broker cannot say for now.
    """
    asked = ((_GROUP, group_id, _OF_GROUP), (_BROKER, str(node_id), _OF_BROKER))
    for kind, name, key in asked:
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=(key,)
        )
        request = DescribeConfigsRequest(resources=(resource,))
        try:
            answer = await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
        except UnsupportedVersionError:
            return None
        found = _read(answer, key)
        if found is not None:
            return found
    return None


def _read(answer: DescribeConfigsResponse, key: str) -> float | None:
    for result in answer.results:
        code = result.error_code
        if is_retriable(code) or code == ErrorCode.UNKNOWN_SERVER_ERROR:
            raise BrokerError(ApiKey.DESCRIBE_CONFIGS.name, code, result.error_message or "")
    values = (row.value for each in answer.results for row in each.configs if row.name == key)
    text = next(values, None)
    return int(text) / 1000 if text is not None and text.isdigit() and int(text) else None
