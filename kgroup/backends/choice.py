"""Which backend coordinates a group: as the options say.

Decides: what each backend is handed of the options.
Never: starts anything; imports the Marshal backend for a group that does not use it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, cast

from kgroup.backends.backend import GroupBackend
from kgroup.backends.classic.backend import ClassicBackend
from kgroup.config import ConsumerConfig
from kgroup.journal import Sink
from kgroup.marshal.rules import Compat
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster
from kgroup.types import Backend

Coordination: TypeAlias = Callable[[ConsumerConfig, Cluster, Sink], GroupBackend]
"""Makes the backend that coordinates a group; the cluster is the consumer's."""


def _marshal(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate by claims written to a log."""
    # Few groups do, and a classic one need not wait for these modules.
    from kgroup.backends.marshal.backend import MarshalBackend  # noqa: PLC0415
    from kgroup.backends.marshal.positions import MarshalPlace  # noqa: PLC0415

    ports = cluster.ports
    settings = config.marshal(f"{ports.dice.getrandbits(32):08x}", int(ports.wall() * 1000))
    fetching = config.fetching()
    place = MarshalPlace(
        topic=config.coordination_topic,
        compat=cast("Compat", config.compat),  # `normal` saw to it
        reset_policy=fetching.reset_policy,
        isolation=fetching.isolation_level,
        exclude_internal_topics=config.exclude_internal_topics,
        timeout=fetching.request_timeout,
        retry_backoff=fetching.retry_backoff,
    )
    return MarshalBackend(settings, place, cluster, sink)


def configured(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate as the option `backend` says."""
    make = _marshal if config.backend is Backend.MARSHAL else _classic
    return make(config, cluster, sink)


def _classic(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate by the classic group protocol."""
    return _member(config, config.membership(), cluster, sink)


def outliving(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate by the classic protocol; a member keeps what it owns when its lease is over.

    It hands out nothing then. Clients do so that give up partitions only when the coordinator
    says that they are lost.
    """
    settings = replace(config.membership(), outlives_lease=True)
    return _member(config, settings, cluster, sink)


def _member(
    config: ConsumerConfig, settings: MembershipSettings, cluster: Cluster, sink: Sink
) -> GroupBackend:
    return ClassicBackend(
        settings,
        cluster,
        sink,
        exclude_internal_topics=config.exclude_internal_topics,
        isolated_heartbeats=config.isolated_heartbeats,
    )
