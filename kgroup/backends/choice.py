"""Which backend coordinates a group: as the options say.

Decides: what each backend is handed of the options.
Never: starts anything; imports a backend for a group that does not use it.
"""

import logging
from base64 import urlsafe_b64encode
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
from kgroup.net.ports import Ports
from kgroup.types import Backend, GroupProtocol, PatternOn

log = logging.getLogger(__name__)

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


def _consumer_group(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate by the protocol of KIP-848."""
    # Few groups do so far, and a classic one need not wait for these modules.
    from kgroup.backends.consumer_group.backend import ConsumerGroupBackend  # noqa: PLC0415

    settings = config.consumer_group(new_member_id(cluster.ports))
    return ConsumerGroupBackend(
        settings,
        cluster,
        sink,
        exclude_internal_topics=config.exclude_internal_topics,
        pattern_on_broker=config.pattern_on is PatternOn.BROKER,
    )


def new_member_id(ports: Ports) -> str:
    """Make a member id as Kafka writes them: 16 random bytes in URL-safe base64 (KIP-1082)."""
    drawn = ports.dice_for("member id").getrandbits(128).to_bytes(16, "big")
    return urlsafe_b64encode(drawn).decode().rstrip("=")


def configured(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate as the options `backend` and `group_protocol` say."""
    make = _marshal if config.backend is Backend.MARSHAL else _classic
    if config.group_protocol is GroupProtocol.CONSUMER:
        make = _consumer_group
    elif config.group_protocol is GroupProtocol.AUTO:
        make = _whatever_is_offered
    return make(config, cluster, sink)


def _whatever_is_offered(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate by KIP-848 if the brokers offer it, and no option is against it."""
    group_id, against = config.group(), config.against_consumer_protocol
    if against is not None:
        log.info("group=%s protocol=classic because of %s", group_id, against)
        return _classic(config, cluster, sink)
    # A classic group need not wait for this module.
    from kgroup.backends.choosing import (  # noqa: PLC0415
        ChoosingBackend,
        offers_consumer_protocol,
    )

    async def choose() -> GroupBackend:
        timeout = config.fetching().request_timeout
        offered = await offers_consumer_protocol(cluster, group_id, timeout=timeout)
        log.info("group=%s protocol=%s", group_id, "consumer" if offered else "classic")
        return (_consumer_group if offered else _classic)(config, cluster, sink)

    return ChoosingBackend(group_id, choose)


def _classic(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate by the classic group protocol."""
    return _member(config, config.membership(), cluster, sink)


def outliving(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> GroupBackend:
    """Coordinate as `configured`; a classic member keeps what it owns when its lease is over.

    It hands out nothing then. Clients do so that give up partitions only when the coordinator
    says that they are lost.
    """
    if config.group_protocol is not GroupProtocol.CLASSIC:
        return configured(config, cluster, sink)
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
