"""Which rebalance protocol a member follows, given all the assignors it offers.

Decides: the highest protocol that every one of them supports.
Never: looks at what the group chose; a member has to know before it joins.
KIPs: 429 (a rolling change lists the cooperative and the eager assignor together, and is eager
until the eager one is dropped).
"""

from collections.abc import Sequence

from kgroup.assignors.api import Assignor
from kgroup.errors import ConfigError
from kgroup.types import RebalanceProtocol

__all__ = ["common_protocol"]


def common_protocol(assignors: Sequence[Assignor]) -> RebalanceProtocol:
    """Return COOPERATIVE when every assignor supports it, else EAGER when every one does.

    Raises:
        ConfigError: no assignor is given, or they have no protocol in common.
    """
    for protocol in (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER):
        if assignors and all(protocol in each.supported_protocols for each in assignors):
            return protocol
    offered = {each.name: [p.value for p in each.supported_protocols] for each in assignors}
    raise ConfigError("assignors", offered, "at least one, with a rebalance protocol in common")
