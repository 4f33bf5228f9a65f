"""All requests about the cluster itself, put together.

Decides: nothing.
"""

from typing import Any

from kgroup.testing.broker.asked import Handler
from kgroup.testing.broker.cluster.administration import Administration
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.configuring import Configuring
from kgroup.testing.broker.cluster.describing import Describing
from kgroup.testing.broker.cluster.finding import Finding
from kgroup.testing.broker.cluster.versions import Versions
from kgroup.wire.schema import Request

__all__ = ["ClusterRequests"]


class ClusterRequests:
    """Answers requests about versions, brokers, coordinators, topics and settings.

    Args:
        cluster: what they are about.

    Attributes:
        versions: its `served` is to be set to what the whole broker has handlers for.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.versions: Versions = Versions(cluster.context)
        self._parts = (
            Describing(cluster),
            Finding(cluster),
            Administration(cluster),
            Configuring(cluster),
        )

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        merged = dict(self.versions.handlers)
        for part in self._parts:
            merged.update(part.handlers)
        return merged
