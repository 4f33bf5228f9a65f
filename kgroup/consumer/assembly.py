"""The parts of a consumer, put together.

Decides: which parts each part knows.
Never: starts anything; `root` does.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kgroup.backends.backend import GroupBackend
from kgroup.backends.choice import Coordination
from kgroup.backends.standalone import StandaloneBackend
from kgroup.config import ConsumerConfig
from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.gate import Gate, Skipped
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Hold, OwnedPartitions
from kgroup.consumer.buffer.topic_watch import TopicWatch
from kgroup.consumer.commit.autocommit import AutoCommit
from kgroup.consumer.commit.committing import Committing
from kgroup.consumer.fetch.fetching import Fetching
from kgroup.consumer.fetch.flow import Flow
from kgroup.consumer.fetch.logs import Logs
from kgroup.consumer.fetch.positioning import Positioning
from kgroup.consumer.following import Following
from kgroup.consumer.listener import ListenerCalls
from kgroup.consumer.ownership import Ownership
from kgroup.consumer.reads.reading import Pace, Reading
from kgroup.consumer.user_code import UserCode
from kgroup.consumer.wire_journal import WireJournal
from kgroup.journal import MemberStarted, NullSink, Sink
from kgroup.marshal.rules import Guarantee
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Ports, system_ports
from kgroup.offsets.ledger import Ledger
from kgroup.types import Backend, DoneAt, GroupProtocol, RebalanceProtocol
from kgroup.values import dataclass

if TYPE_CHECKING:
    from kgroup.observe.journal_file import JournalFile


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything one entered consumer is made of.

    Args:
        ports: network, clocks and dice.
        sink: takes the journal's events.
        file: the sink, when it is a file this consumer opened and closes; None otherwise.
        cluster: connections and metadata.
        group: the backend for subscriptions, None without a group id.
        standalone: the backend for assignments by hand.
        notifiers: how parts wake each other.
        gate: says whether records may be handed out.
        delivery: hands records out.
        reading: waits for records.
        fetching: fills buffers.
        positioning: finds out where to begin.
        committing: commits.
        auto_commit: commits by itself, None when that is off.
        calls: the listener.
        ownership: carries out changes.
        following: keeps up with topics that are read without a group.
        flow: positions and pauses.
        logs: asks what the logs hold.
    """

    ports: Ports
    sink: Sink
    file: "JournalFile | None"
    cluster: Cluster
    group: GroupBackend | None
    standalone: StandaloneBackend
    notifiers: Notifiers
    gate: Gate
    delivery: Delivery
    reading: Reading
    fetching: Fetching
    positioning: Positioning
    committing: Committing
    auto_commit: AutoCommit | None
    calls: ListenerCalls
    ownership: Ownership
    following: Following
    flow: Flow
    logs: Logs


def assemble(
    config: ConsumerConfig,
    coordination: Coordination,
    consumer: Callable[[], object | None],
) -> Parts:
    """Put a consumer together.

    Args:
        config: all options.
        coordination: makes the backend of the group.
        consumer: for the listener; not kept alive.

    Raises:
        ConfigError: an option cannot be used after all.
        OSError: the journal cannot be opened.
    """
    ports = config.ports or system_ports()
    settings = config.fetching()
    sink, file = open_sink(config, ports)
    cluster = Cluster(config.net(), ports, _trace(sink))
    group, standalone = _backends(config, coordination, cluster, sink)
    notifiers = Notifiers()
    delivery = _delivery(config, (group, standalone), cluster, notifiers, sink)
    gate = delivery.gate
    code = UserCode(config.poll_interval)
    committing = _committing(config, delivery, gate, code)
    positioning = Positioning(settings, cluster, delivery, notifiers, sink)
    logs = Logs(cluster, settings)
    calls = ListenerCalls(consumer, sink, code)
    ownership = Ownership(delivery, gate, notifiers, committing, calls, sink)
    return Parts(
        ports=ports,
        sink=sink,
        file=file,
        cluster=cluster,
        group=group,
        standalone=standalone,
        notifiers=notifiers,
        gate=gate,
        delivery=delivery,
        reading=Reading(delivery, notifiers, sink, code, ports.clock, _pace(config)),
        fetching=Fetching(settings, cluster, delivery.owned, positioning, notifiers, sink),
        positioning=positioning,
        committing=committing,
        auto_commit=_auto_commit(config, committing, gate, ownership),
        calls=calls,
        ownership=ownership,
        following=_following(config, cluster, standalone, ownership),
        flow=Flow(delivery, positioning, notifiers, logs, sink),
        logs=logs,
    )


def _delivery(
    config: ConsumerConfig,
    backends: tuple[GroupBackend | None, StandaloneBackend],
    cluster: Cluster,
    notifiers: Notifiers,
    sink: Sink,
) -> Delivery:
    ledger = Ledger(config.max_uncommitted)
    hold = None if ledger.bound is None else Hold(ledger, notifiers, sink)
    gate = Gate(*backends, notifiers, TopicWatch(cluster, notifiers), hold)
    skipped = Skipped(cluster.ports.clock)
    return Delivery(OwnedPartitions(), ledger, gate, notifiers, sink, skipped)


def _committing(
    config: ConsumerConfig, delivery: Delivery, gate: Gate, code: UserCode
) -> Committing:
    by_itself = config.guarantee is Guarantee.AT_MOST_ONCE
    return Committing(delivery, gate, code, config.group_id, by_itself=by_itself)


def _pace(config: ConsumerConfig) -> Pace:
    at_most_once = config.guarantee is Guarantee.AT_MOST_ONCE
    portion = config.at_most_once_records if at_most_once else None
    done_at = cast("DoneAt", config.done_at)  # `normal` saw to it
    return Pace(config.poll_interval, portion, config.stay_with_partition, done_at)


def _trace(sink: Sink) -> WireJournal | None:
    return None if isinstance(sink, NullSink) else WireJournal(sink)


def _auto_commit(
    config: ConsumerConfig, committing: Committing, gate: Gate, ownership: Ownership
) -> AutoCommit | None:
    by_itself = config.guarantee is Guarantee.AT_MOST_ONCE
    if by_itself or not config.enable_auto_commit or config.group_id is None:
        return None
    ownership.auto_commit = config.fetching().request_timeout
    return AutoCommit(committing, gate, config.commit_interval)


def _following(
    config: ConsumerConfig, cluster: Cluster, standalone: StandaloneBackend, ownership: Ownership
) -> Following:
    exclude = config.exclude_internal_topics
    return Following(cluster, standalone, ownership, exclude_internal=exclude)


def _backends(
    config: ConsumerConfig, coordination: Coordination, cluster: Cluster, sink: Sink
) -> tuple[GroupBackend | None, StandaloneBackend]:
    group = None if config.group_id is None else coordination(config, cluster, sink)
    settings = config.fetching()
    timeout, pause = settings.request_timeout, settings.retry_backoff
    made = StandaloneBackend(cluster, sink, config.group_id, timeout=timeout, pause=pause)
    if group is not None:
        made.follow(group)
    return group, made


def open_sink(config: ConsumerConfig, ports: Ports) -> "tuple[Sink, JournalFile | None]":
    """Return where events go, and the file to close at the end, when that is one.

    Raises:
        OSError: the file cannot be opened.
    """
    journal = config.journal
    if journal is None:
        return NullSink(), None
    if not isinstance(journal, str | Path):
        return journal, None
    from kgroup.observe.journal_file import local_source, open_journal  # noqa: PLC0415 - seldom

    source = local_source(config.group_instance_id or config.client_id, config.group_id)
    file = open_journal(Path(journal), source, clock=ports.clock, wall=ports.wall)
    return file, file


def member_started(config: ConsumerConfig) -> MemberStarted:
    """Return the event with which a member's log begins.

    A member that claims has a time to live for each key; see `kgroup.marshal.key_actions`. Its
    margin is the least there is: with timestamps of members, and beside the original, which are not
    known yet, it is a quarter of it and more.
    """
    if config.backend is Backend.MARSHAL:
        claimant = config.marshal("", 0)
        return MemberStarted(
            group_instance_id=config.group_instance_id,
            session_timeout=claimant.ttl,
            rebalance_timeout=claimant.rebalance_timeout,
            lease_margin=claimant.ttl / 8,
            heartbeat_interval=claimant.beat_interval,
        )
    if config.group_protocol is not GroupProtocol.CLASSIC:
        told = config.consumer_group("")  # how long a session is, brokers say later
        return MemberStarted(
            group_instance_id=told.group_instance_id,
            protocol=RebalanceProtocol.COOPERATIVE,
            rebalance_timeout=told.rebalance_timeout,
            lease_margin=told.lease_margin,
            max_poll_interval=told.max_poll_interval,
        )
    settings = config.membership()
    return MemberStarted(
        group_instance_id=settings.group_instance_id,
        session_timeout=settings.session_timeout,
        rebalance_timeout=settings.rebalance_timeout,
        lease_margin=settings.lease_margin,
        heartbeat_interval=settings.heartbeat_interval,
        max_poll_interval=settings.max_poll_interval,
        isolated_heartbeats=config.isolated_heartbeats,
    )
