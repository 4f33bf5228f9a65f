"""Cooperative sticky: the same target as sticky, reached without stopping anybody.

Decides: what is given now and what waits until its owner has handed it back.
Never: gives a partition to a member while another member claims it in the same or a newer
generation, even when the member claims it too.
KIPs: 429, 792.

In the first round a partition that moves is withheld; its owner sees that it is gone, revokes it
and joins again; in the second round no member claims it, and it is given.
"""

from collections.abc import Sequence
from typing import ClassVar

from kgroup.assignors.assignment import GroupAssignment, withhold
from kgroup.assignors.claims import cooperative_claim, settle
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.sticky_target import plan_sticky
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.wire.user_data import encode_cooperative_user_data


class CooperativeStickyAssignor:
    """Divide like sticky; hand over a partition only after its owner has revoked it."""

    name: ClassVar[str] = "cooperative-sticky"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (
        RebalanceProtocol.COOPERATIVE,
        RebalanceProtocol.EAGER,
    )

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions, withholding what another member holds."""
        settled = settle(group.members, cooperative_claim, group.partitions, group.generation_id)
        return withhold(plan_sticky(group, settled), settled, group.partitions)

    def encode_user_data(
        self,
        owned: Sequence[TopicPartition],  # noqa: ARG002 - travels in the subscription itself
        generation_id: int | None,
    ) -> bytes | None:
        """Return the generation, -1 before the first; read by leaders older than KIP-792."""
        return encode_cooperative_user_data(generation_id)
