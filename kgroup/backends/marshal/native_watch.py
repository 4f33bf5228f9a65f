"""That no member of the group coordinator's comes to a group that claims.

Decides: how often the coordinator is asked who is there.
Never: ends a group because nobody answered, or may answer: only a member that is there does.

The entrance looks once, and the coordinator knows nothing of members that claim: 1. one owns a
partition; 2. a native consumer of the same group id is started; 3. it is given all partitions, and
both read them. Commits would tell, which are refused then, but not everybody commits.
"""

import logging
from collections.abc import Callable
from typing import Final

import anyio

from kgroup.backends.marshal.entrance import refuse_native
from kgroup.errors import GroupError, KGroupError
from kgroup.marshal.events import LogLost
from kgroup.net.cluster import Cluster

__all__ = ["watch_native"]

log = logging.getLogger("kgroup.marshal")

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
