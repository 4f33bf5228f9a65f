"""What the contracts' harness needs of the classic backend."""

from functools import partial

from kgroup.admin.groups import committed_offsets
from kgroup.assignors import BUILT_IN
from kgroup.backends.classic.backend import ClassicBackend
from kgroup.journal import NullSink
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster
from kgroup.types import Subscription, TopicPartition
from tests.contracts.application import until
from tests.contracts.group_harness import Backend
from tests.contracts.harness import Profile, Seat


def classic_backend(settings: MembershipSettings, profile: Profile) -> Backend:
    """Coordinate by the classic protocol, with the same settings for every member."""
    return Backend(
        make=lambda _, cluster: ClassicBackend(settings, cluster, NullSink()),
        position=partial(_position, settings.group_id),
        another_round=partial(_another_round, profile.handover),
        poll_interval=settings.rebalance_timeout / 4,
    )


async def _position(group_id: str, reader: Cluster, tp: TopicPartition) -> int | None:
    found = await committed_offsets(reader, group_id, (tp,), timeout=10.0)
    position = found[tp]
    return None if position is None else position.offset


async def _another_round(within: float, seat: Seat, _: Subscription) -> None:
    before = seat.backend.membership.rebalances
    seat.backend.enforce_rebalance("the test wants a round")
    held = lambda: seat.backend.membership.rebalances > before  # noqa: E731
    await until(held, within, "the round that was asked for")


def classic_settings(
    group_id: str, profile: Profile, *, assignor: str, rebalance_timeout: float
) -> MembershipSettings:
    """Return the settings of every member of a contract's group."""
    return MembershipSettings(
        group_id=group_id,
        assignors=(BUILT_IN[assignor],),
        session_timeout=profile.session,
        heartbeat_interval=profile.heartbeat,
        rebalance_timeout=rebalance_timeout,
        lease_margin=profile.session / 10,
    )
