"""DeleteGroups and OffsetDelete, and what goes with a topic."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from tests.testing.broker.committing import NEW, OLD, Cluster
from tests.testing.broker.offset_rows import offsets_of

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
NON_EMPTY = ErrorCode.NON_EMPTY_GROUP
SUBSCRIBED = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


# -- DeleteGroups ----------------------------------------------------------------------------------


def test_a_deleted_group_is_not_loaded_again() -> None:
    cluster = Cluster(nodes=2)
    member = cluster.stable()
    cluster.commit({T0: 5}, member)
    cluster.leave(member)
    cluster.delete("g")
    cluster.move(3 - cluster.home())
    assert cluster.describe().group_state == "Dead"


def test_what_a_transaction_holds_goes_with_its_group() -> None:
    cluster = Cluster()
    producer = cluster.producer()
    cluster.txn_commit(producer)
    assert cluster.delete("g") == [0]
    cluster.end(producer, committed=True)
    assert cluster.offset() == -1


def test_groups_of_one_request_are_judged_one_by_one_and_once_each() -> None:
    cluster = Cluster()
    cluster.commit(group_id="one")
    cluster.stable(group_id="two")
    assert cluster.delete("one", "two", "none", "one") == [0, NON_EMPTY, NOT_FOUND]


def test_only_the_coordinator_deletes_and_only_when_it_has_loaded() -> None:
    cluster = Cluster(nodes=2, settings=BrokerSettings(load_time=1.0))
    cluster.raw.run(1.0)
    cluster.commit()
    assert cluster.delete("g", node=3 - cluster.home()) == [ErrorCode.NOT_COORDINATOR]
    cluster.move(cluster.home())
    assert cluster.delete("g") == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


# -- OffsetDelete ----------------------------------------------------------------------------------


def test_the_empty_group_id_is_invalid() -> None:
    cluster = Cluster()
    cluster.commit(group_id="")
    assert cluster.delete_offsets(T0, group_id="") == (ErrorCode.INVALID_GROUP_ID, {})


def test_before_its_first_round_a_group_is_taken_for_a_reader_of_everything() -> None:
    settings = BrokerSettings(min_session_timeout=1.0, initial_rebalance_delay=3.0)
    cluster = Cluster(settings=settings)
    cluster.commit({T0: 5, U0: 5})
    cluster.join()
    assert cluster.delete_offsets(U0) == (0, {U0: SUBSCRIBED})


def test_a_group_with_an_unreadable_member_is_taken_for_a_reader_of_everything() -> None:
    cluster = Cluster()
    cluster.stable(data=b"\0")
    assert cluster.delete_offsets(U0) == (0, {U0: SUBSCRIBED})


def test_members_that_are_no_consumers_keep_all_offsets() -> None:
    cluster = Cluster()
    cluster.stable(protocol_type="connect")
    assert cluster.delete_offsets(U0) == (NON_EMPTY, {})


def test_subscriptions_are_known_after_a_move() -> None:
    cluster = Cluster(nodes=2)
    cluster.stable()
    cluster.move(3 - cluster.home())
    assert cluster.delete_offsets(T0, U0) == (0, {T0: SUBSCRIBED, U0: 0})


# -- topics ----------------------------------------------------------------------------------------


def test_offsets_go_with_their_topic_in_every_group() -> None:
    cluster = Cluster()
    for group_id in ("one", "two", "three"):
        cluster.commit({T0: 5, T1: 5, U0: 6}, group_id=group_id)
    producer = cluster.producer(group_id="one")
    cluster.txn_commit(producer, {T0: 9, U0: 9}, group_id="one")
    cluster.topics.delete_topic("t")
    cluster.end(producer, committed=True)
    assert offsets_of(cluster.fetch(group_id="one")) == {U0: (9, 0)}
    assert offsets_of(cluster.fetch(group_id="two")) == {U0: (6, 0)}
    cluster.topics.create_topic("t", 2)
    assert cluster.offset(group_id="three") == -1


@pytest.mark.parametrize(("kind", "state"), [(NEW, "Empty"), (OLD, "Dead")])
def test_a_group_whose_only_topic_goes_goes_from_old_coordinators(
    kind: CoordinatorKind, state: str
) -> None:
    cluster = Cluster(kind)
    cluster.commit({T0: 5})
    cluster.topics.delete_topic("t")
    assert cluster.describe().group_state == state
