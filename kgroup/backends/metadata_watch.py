"""Metadata as it changes, for a member whose topics hang on it.

Decides: that a refusal of our credentials ends the watch and nothing else: the cluster tells its
owner, who ends the member.
Never: asks; the cluster does, at its own pace.
"""

from collections.abc import Callable
from contextlib import suppress

from kgroup.errors import AuthenticationError
from kgroup.net.cluster import Cluster, ClusterView

__all__ = ["watch_metadata"]


async def watch_metadata(cluster: Cluster, resolve: Callable[[ClusterView], None]) -> None:
    """Tell of the present view, and of each that differs from the one before; until cancelled.

    Args:
        cluster: running.
        resolve: takes a view; must not wait.
    """
    view = cluster.view
    with suppress(AuthenticationError):
        while True:
            resolve(view)
            view = await cluster.changed(view)
