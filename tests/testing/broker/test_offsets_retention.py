"""What time does to offsets and to groups without members (KIP-211)."""

import math

import pytest

from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import HeartbeatRequest
from tests.testing.broker.committing import NEW, OLD, Cluster, Membership
from tests.testing.broker.offset_rows import offsets_of

T0, U0 = ("t", 0), ("u", 0)
KINDS = pytest.mark.parametrize("kind", [NEW, OLD])
RETENTION, CHECK = 60.0, 5.0


def aging(kind: CoordinatorKind = NEW, nodes: int = 1) -> Cluster:
    settings = BrokerSettings(
        min_session_timeout=1.0, offsets_retention=RETENTION, offsets_retention_check=CHECK
    )
    return Cluster(kind, nodes, settings)


def state(cluster: Cluster) -> str:
    return cluster.describe().group_state


def keep_alive(cluster: Cluster, member: Membership, seconds: float) -> None:
    for _ in range(int(seconds / 4)):
        cluster.raw.run(4.0)
        request = HeartbeatRequest(
            group_id="g", generation_id=member.generation_id, member_id=member.member_id
        )
        assert cluster.raw.ask(cluster.home(), request).now.error_code == 0


@KINDS
def test_members_keep_offsets_of_what_they_subscribe_to_and_lose_others(
    kind: CoordinatorKind,
) -> None:
    cluster = aging(kind)
    member = cluster.stable()
    cluster.commit({T0: 5, U0: 6}, member)
    keep_alive(cluster, member, 80.0)
    assert (state(cluster), offsets_of(cluster.fetch())) == ("Stable", {T0: (5, 0)})


def test_members_that_are_no_consumers_keep_all() -> None:
    cluster = aging()
    member = cluster.stable(protocol_type="connect")
    cluster.commit({U0: 6}, member)
    keep_alive(cluster, member, 80.0)
    assert offsets_of(cluster.fetch()) == {U0: (6, 0)}


def test_nothing_ages_during_a_round() -> None:
    cluster = aging()
    cluster.commit({U0: 6})
    cluster.joined(session=200.0)
    cluster.raw.run(80.0)
    assert (state(cluster), cluster.offset("u")) == ("CompletingRebalance", 6)


def test_pending_ids_go_with_their_group_at_the_next_check() -> None:
    cluster = aging()
    cluster.ask_to_join()
    cluster.raw.run(CHECK)
    assert state(cluster) == "Dead"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_old_versions_may_ask_for_a_retention_of_their_own(version: int) -> None:
    cluster = aging()
    cluster.commit({T0: 5}, version=version, retention_time_ms=12_000)
    cluster.raw.until(10.0)
    assert cluster.offset() == 5
    cluster.raw.until(15.0)
    assert cluster.offset() == -1


def test_an_offset_stays_as_long_as_a_transaction_is_open_for_its_partition() -> None:
    cluster = aging()
    cluster.commit({T0: 5})
    producer = cluster.producer()
    cluster.txn_commit(producer, {T0: 6})
    cluster.raw.until(75.0)
    assert cluster.offset() == 5
    cluster.end(producer, committed=False)
    cluster.raw.until(80.0)
    assert state(cluster) == "Dead"


def test_a_group_of_an_open_transaction_alone_does_not_go() -> None:
    cluster = aging()
    producer = cluster.producer()
    cluster.txn_commit(producer)
    cluster.raw.run(20.0)
    assert state(cluster) == "Empty"
    cluster.end(producer, committed=True)
    assert cluster.offset() == 6


def test_a_group_that_was_empty_before_a_move_ages_on() -> None:
    cluster = aging(nodes=2)
    member = cluster.stable()
    cluster.commit({T0: 5}, member)
    cluster.leave(member)
    cluster.raw.until(31.0)
    cluster.move(3 - cluster.home())
    cluster.raw.until(60.9)
    assert cluster.offset() == 5
    cluster.raw.until(61.0)
    assert state(cluster) == "Dead"


def test_a_new_coordinator_counts_its_checks_from_the_end_of_loading() -> None:
    cluster = aging(nodes=2)
    cluster.commit({T0: 5})
    cluster.raw.until(58.0)
    cluster.move(3 - cluster.home())
    cluster.raw.until(62.9)
    assert cluster.offset() == 5
    cluster.raw.until(63.0)
    assert cluster.offset() == -1


def test_a_broker_without_groups_has_nothing_to_check() -> None:
    cluster = aging()
    assert cluster.raw.core.context.agenda.next_at == math.inf
    cluster.commit({T0: 5})
    cluster.raw.run(70.0)
    assert cluster.raw.core.context.agenda.next_at == math.inf


def test_without_a_coordinator_nothing_is_checked() -> None:
    cluster = aging()
    cluster.commit({T0: 5})
    coordinators = cluster.raw.core.coordinators
    coordinators.take_over(cluster.shard().partition, None, resigned=True)
    assert cluster.raw.core.context.agenda.next_at == math.inf
    cluster.raw.run(70.0)
    coordinators.take_over(cluster.shard().partition, 1, resigned=True)
    assert cluster.offset() == 5
