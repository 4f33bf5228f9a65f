"""Sticky: balanced, and members keep what they had; eager.

Decides: what an eager member tells about its last assignment.
Never: believes the subscription's own list of partitions, which an eager member has emptied.
KIPs: 54, 341.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from kgroup.assignors.assignment import GroupAssignment, assigned
from kgroup.assignors.claims import settle, sticky_claim
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.sticky_target import plan_sticky
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.wire.classic_bytes import utf16_order
from kgroup.wire.user_data import encode_sticky_user_data


class StickyAssignor:
    """Give everybody the same number, and to each member what it had, as far as that goes."""

    name: ClassVar[str] = "sticky"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions."""
        claim = partial(sticky_claim, names={})
        settled = settle(group.members, claim, group.partitions, group.generation_id)
        target = plan_sticky(group, settled)
        return assigned(target, group.partitions)

    def encode_user_data(
        self, owned: Sequence[TopicPartition], generation_id: int | None
    ) -> bytes | None:
        """Return the last assignment and its generation; None before the first.

        The order of `owned` does not change the bytes: a broker rebalances when they change.
        """
        if generation_id is None:
            return None
        stable = sorted(owned, key=lambda tp: (utf16_order(tp.topic), tp.partition))
        return encode_sticky_user_data(stable, generation_id)
