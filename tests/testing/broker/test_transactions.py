"""Transactions in time: marks that come late, brokers that are down, transactions that time out.

What each request is answered is in `test_log_talks`.
"""

import copy

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.broker.transactions.transaction import Identity, Phase
from kgroup.types import TopicPartition
from tests.testing.broker.driver import CALENDAR_START
from tests.testing.broker.logs import views
from tests.testing.broker.producing import Producer, row


def test_marks_come_after_their_delay_and_until_then_nothing_is_stable() -> None:
    producer = Producer(partitions=2, settings=BrokerSettings(marker_delay=0.2))
    had = producer.begin()
    assert [row(producer.send(number, had=had)).error_code for number in (0, 1)] == [0, 0]

    assert producer.end(had, committed=True) == 0
    producer.raw.run(0.1)
    logs = [producer.partition(number).log for number in (0, 1)]
    assert [log.last_stable_offset for log in logs] == [0, 0]
    assert producer.end(had, committed=True) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.add(had) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    producer.raw.run(0.1)

    assert [log.last_stable_offset for log in logs] == [2, 2]
    assert producer.end(had, committed=True) == 0
    assert producer.add(had) == 0


def test_a_partition_without_a_leader_gets_its_mark_when_it_has_one() -> None:
    producer = Producer(nodes=2, partitions=2)
    had = producer.begin()
    producer.send(0, 1, had=had)
    producer.cluster.elect(TopicPartition("t", 1), None)

    assert producer.end(had, committed=False) == 0
    producer.raw.run(1)
    assert producer.partition(0).log.last_stable_offset == 2
    assert producer.partition(1).log.last_stable_offset == 0
    assert producer.add(had) == ErrorCode.CONCURRENT_TRANSACTIONS
    producer.cluster.elect(TopicPartition("t", 1), 2)
    producer.raw.run(0.1)

    assert producer.partition(1).log.aborted_between(0, 9) == [(had[0], 0, 1)]
    assert producer.add(had) == 0


def test_a_dead_leader_gets_no_mark_before_the_election() -> None:
    producer = Producer(nodes=2, settings=BrokerSettings(election_delay=3.0))
    producer.cluster.elect(producer.partition().tp, 3 - producer.home)
    had = producer.begin()
    producer.send(had=had, node=3 - producer.home)
    producer.cluster.kill(3 - producer.home)

    producer.end(had, committed=True)
    producer.raw.run(2.9)
    assert producer.partition().log.last_stable_offset == 0
    producer.raw.run(0.3)

    (view,) = views(producer.partition().log.read(1, 999, upto=2))
    assert (view.is_control, view.leader_epoch) == (True, producer.partition().epoch)


def test_a_topic_that_was_deleted_holds_up_no_transaction() -> None:
    producer = Producer()
    had = producer.begin()
    producer.send(had=had)
    producer.cluster.delete_topic("t")

    assert producer.end(had, committed=True) == 0
    assert producer.init().error_code == 0


@pytest.mark.parametrize("version", [3, 5])
def test_a_transaction_whose_time_is_up_is_aborted_and_its_producer_fenced(version: int) -> None:
    producer = Producer()
    had = producer.begin(timeout=5.0)
    producer.raw.run(1)
    producer.send(had=had)
    log = producer.partition().log

    producer.raw.run(4.9)
    assert log.last_stable_offset == 0
    producer.raw.run(0.2)

    assert log.aborted_between(0, 9) == [(had[0], 0, 1)]
    assert producer.end(had, committed=True, version=version) == ErrorCode.PRODUCER_FENCED
    late = row(producer.send(had=had, sequence=1))
    assert late.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    again = producer.init()
    assert (again.producer_id, again.producer_epoch) == (had[0], had[1] + 2)


def test_a_transaction_that_has_ended_does_not_time_out() -> None:
    producer = Producer()
    had = producer.begin(timeout=5.0)
    producer.send(had=had)
    producer.end(had, committed=True)
    end = producer.partition().log.end

    producer.raw.run(60)

    assert producer.partition().log.end == end
    assert producer.add(had) == 0


def test_what_a_coordinator_knows_survives_its_broker() -> None:
    producer = Producer(nodes=2)
    had = producer.begin()
    producer.send(had=had)
    before = producer.home

    producer.cluster.kill(before)

    assert producer.home != before
    assert producer.end(had, committed=True) == 0
    assert producer.partition().log.last_stable_offset == 2


def test_a_broker_that_does_not_coordinate_says_so() -> None:
    producer = Producer(nodes=2)
    coordinators = producer.raw.core.transactions

    assert coordinators.refusal(3 - producer.home, "x") is ErrorCode.NOT_COORDINATOR
    assert coordinators.refusal(producer.home, "x") is ErrorCode.NONE


def test_while_marks_are_written_only_the_ended_transaction_may_be_ended_again() -> None:
    producer = Producer(settings=BrokerSettings(marker_delay=0.2))
    had = producer.begin()
    producer.send(had=had)
    producer.end(had, committed=True, version=5)

    following = (had[0], had[1] + 1)
    assert producer.end(following, committed=True, version=5) == ErrorCode.PRODUCER_FENCED
    again = producer.end(had, committed=True, version=5)
    assert again == ErrorCode.CONCURRENT_TRANSACTIONS
    other = producer.end(had, committed=False, version=5)
    assert other == ErrorCode.INVALID_TXN_STATE


def test_an_epoch_that_is_used_up_is_followed_by_another_id() -> None:
    producer = Producer()
    had = producer.begin()
    transaction = producer.raw.core.transactions.transactions["x"]
    transaction.now = Identity(had[0], (1 << 15) - 2)

    after = producer.begin()

    assert after == (had[0] + 1, 0)


@pytest.mark.parametrize("again", [False, True])
def test_an_end_that_uses_up_the_epoch_gives_another_id_also_if_asked_again(again: bool) -> None:
    producer = Producer(settings=BrokerSettings(marker_delay=0.1))
    first, _ = producer.begin()
    last = Identity(first, (1 << 15) - 2)
    coordinators = producer.raw.core.transactions
    coordinators.transactions["x"].now = last
    producer.send(had=last)

    after = coordinators.end("x", last, committed=True, raises_epochs=True)
    producer.raw.run(0.1)
    if again:
        after = coordinators.end("x", last, committed=True, raises_epochs=True)

    assert after == Identity(first + 1, 0)
    assert producer.send(had=(first + 1, 0)).now.responses[0].partition_responses[0].error_code == 0
    log = producer.partition().log
    assert log.producers.by_id[first].epoch == (1 << 15) - 1


def test_a_copied_cluster_ends_its_own_transactions() -> None:
    producer = Producer()
    had = producer.begin(timeout=5.0)
    producer.send(had=had)

    other = copy.deepcopy(producer)
    other.raw.run(6)

    assert other.raw.core.transactions.transactions["x"].phase is Phase.COMPLETE_ABORT
    assert producer.raw.core.transactions.transactions["x"].phase is Phase.ONGOING
    assert producer.partition().log.end == 1


def test_a_mark_has_the_time_of_the_leader_that_writes_it() -> None:
    producer = Producer()
    producer.cluster.nodes[1].skew = 60.0
    had = producer.begin()
    producer.send(had=had)

    assert producer.end(had, committed=True) == 0

    mark = producer.partition().log.batches[-1]
    assert mark.view.is_control
    assert mark.max_timestamp == int((CALENDAR_START + 60) * 1000)
