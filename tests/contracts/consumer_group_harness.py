"""What the contracts' harness needs of the backend of KIP-848.

There are no rounds: a member takes part in another division by leaving, and joining again.
"""

from functools import partial

from kgroup.admin.groups import committed_offsets
from kgroup.backends.consumer_group.backend import ConsumerGroupBackend
from kgroup.consumer_group.settings import ConsumerGroupSettings
from kgroup.journal import NullSink
from kgroup.net.cluster import Cluster
from kgroup.types import Subscription, TopicPartition
from tests.contracts.application import until
from tests.contracts.group_harness import Backend
from tests.contracts.harness import Profile, Seat


def consumer_group_backend(
    group_id: str, profile: Profile, *, rebalance_timeout: float, request_timeout: float = 30.0
) -> Backend:
    """Coordinate by KIP-848; every member has an id of its own."""
    started: list[str] = []

    def make(name: str, cluster: Cluster) -> ConsumerGroupBackend:
        started.append(name)
        settings = ConsumerGroupSettings(
            group_id=group_id,
            member_id=f"{name}-{len(started)}",
            rebalance_timeout=rebalance_timeout,
            request_timeout=request_timeout,
            lease_margin=profile.session / 10,
        )
        return ConsumerGroupBackend(settings, cluster, NullSink())

    return Backend(
        make=make,
        position=partial(_position, group_id),
        another_round=partial(_another_round, profile),
        poll_interval=rebalance_timeout / 4,
    )


async def _position(group_id: str, reader: Cluster, tp: TopicPartition) -> int | None:
    found = await committed_offsets(reader, group_id, (tp,), timeout=10.0)
    position = found[tp]
    return None if position is None else position.offset


async def _another_round(profile: Profile, seat: Seat, subscription: Subscription) -> None:
    seat.backend.subscribe(None)
    empty = lambda: not seat.backend.membership.claims  # noqa: E731
    await until(empty, profile.handover, "everything is handed back")
    seat.backend.subscribe(subscription)
