"""Produce: when and by which broker it is answered. `test_log_talks` has the answers."""

import copy

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.testing.broker.driver import CALENDAR_START
from tests.testing.broker.producing import Producer, row


def test_acks_of_all_waits_until_the_high_watermark_has_passed() -> None:
    producer = Producer(partitions=2)
    producer.partition(1).log.hold_back(0)

    call = producer.send(0, 1)
    producer.raw.run(0.5)
    assert call.parked
    producer.partition(1).log.hold_back(None)
    producer.raw.run(0)

    assert (row(call).base_offset, row(call, 1).error_code) == (0, 0)
    assert call.answered_at == 0.5


def test_acks_of_all_ends_at_its_time_with_the_offset_and_7() -> None:
    producer = Producer(partitions=2)
    producer.partition(1).log.hold_back(0)

    call = producer.send(0, 1, timeout_ms=300)
    producer.raw.run(1)

    assert call.answered_at == 0.3
    assert (row(call).error_code, row(call, 1).error_code) == (0, ErrorCode.REQUEST_TIMED_OUT)
    assert row(call, 1).base_offset == 0
    assert producer.partition(1).log.end == 1


def test_acks_of_one_does_not_wait() -> None:
    producer = Producer()
    producer.partition().log.hold_back(0)

    assert row(producer.send(acks=1)).error_code == 0


def test_acks_of_none_has_no_answer_and_an_error_closes_the_connection() -> None:
    producer = Producer(nodes=2)

    taken, refused = producer.send(acks=0), producer.send(acks=0, node=2)

    assert (taken.answer, taken.hung_up, taken.answered_at) == (None, False, 0.0)
    assert refused.hung_up
    assert producer.partition().log.end == 1


def test_a_broker_that_is_not_the_leader_names_the_leader() -> None:
    producer = Producer(nodes=2)

    call = producer.send(node=2)

    answered = row(call)
    assert answered.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answered.current_leader.leader_id, answered.current_leader.leader_epoch) == (1, 0)
    (endpoint,) = call.now.node_endpoints
    assert (endpoint.node_id, endpoint.host, endpoint.port) == (1, "broker-1", 9092)
    assert row(producer.send(node=2, version=9)).current_leader.leader_id == -1


def test_a_parked_write_ends_when_another_leads() -> None:
    producer = Producer(nodes=2)
    producer.partition().log.hold_back(0)

    call = producer.send()
    producer.cluster.elect(producer.partition().tp, 2)
    producer.raw.run(0)

    answered = row(call)
    assert answered.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answered.current_leader.leader_id, answered.current_leader.leader_epoch) == (2, 1)


def test_a_dead_broker_answers_no_parked_write_and_its_records_stay() -> None:
    producer = Producer(nodes=2)
    producer.partition().log.hold_back(0)

    call = producer.send()
    producer.cluster.kill(1)
    producer.raw.run(5)

    assert call.parked
    assert producer.partition().log.end == 1


def test_too_few_replicas_in_sync_are_refused_to_acks_of_all_only() -> None:
    producer = Producer(nodes=2)
    producer.cluster.topics["t"].configs["min.insync.replicas"] = "2"
    producer.cluster.stop(2)

    assert row(producer.send()).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert row(producer.send(acks=1)).error_code == 0


def test_a_write_without_record_data_is_never_answered() -> None:
    producer = Producer()
    rows = (PartitionProduceData(index=0, records=None),)
    topics = (TopicProduceData(name="t", partition_data=rows),)

    call = producer.raw.ask(
        1, ProduceRequest(acks=-1, timeout_ms=100, topic_data=topics), version=9
    )
    producer.raw.run(10)

    assert call.parked


def test_a_copied_cluster_answers_its_own_parked_writes() -> None:
    producer = Producer()
    producer.partition().log.hold_back(0)
    call = producer.send()

    other = copy.deepcopy(producer)
    other.partition().log.hold_back(None)
    other.raw.run(0)

    assert row(other.raw.calls[call.ticket]).error_code == 0
    assert call.parked


def end_of_log(
    producer: Producer, version: int = 6, timestamp: int = -1, epoch: int = -1
) -> tuple[int, int, int]:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=epoch)
    request = ListOffsetsRequest(
        replica_id=-1, topics=(ListOffsetsTopic(name="t", partitions=(asked,)),)
    )
    answered = producer.raw.ask(2, request, version=version).now.topics[0].partitions[0]
    return answered.error_code, answered.offset, answered.leader_epoch


@pytest.mark.parametrize(
    ("version", "code"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
def test_a_new_leader_tells_no_end_before_the_high_watermark_has_reached_it(
    version: int, code: ErrorCode
) -> None:
    producer = Producer(nodes=2)
    log = producer.partition().log
    producer.send()
    log.hold_back(0)
    producer.cluster.elect(producer.partition().tp, 2)

    assert end_of_log(producer, version) == (code, -1, -1)
    assert end_of_log(producer, version, -2) == (0, 0, 0)
    log.hold_back(None)
    assert end_of_log(producer, version) == (0, 1, 1)


def test_a_broker_without_a_replica_is_no_leader_whatever_the_epoch() -> None:
    producer = Producer(nodes=2)
    follows = end_of_log(producer, epoch=7)
    producer.cluster.delete_topic("t")
    producer.cluster.create_topic("t", placement=[(1,)])

    assert follows == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert end_of_log(producer, epoch=7) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)


def test_epochs_end_where_the_next_leader_began() -> None:
    producer = Producer(nodes=2)
    tp = producer.partition().tp
    producer.send()
    producer.cluster.elect(tp, 2)
    producer.send(node=2)
    producer.cluster.elect(tp, 1)
    producer.cluster.elect(tp, 2)
    producer.send(node=2)

    def end_of(asked: int, present: int = -1) -> tuple[int, int, int]:
        wanted = OffsetForLeaderPartition(
            partition=0, leader_epoch=asked, current_leader_epoch=present
        )
        topics = (OffsetForLeaderTopic(topic="t", partitions=(wanted,)),)
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
        answered = producer.raw.ask(2, request, version=4).now.topics[0].partitions[0]
        return answered.error_code, answered.leader_epoch, answered.end_offset

    assert [end_of(epoch) for epoch in range(5)] == [
        (0, 0, 1),
        (0, 1, 2),
        (0, 1, 2),
        (0, 3, 3),
        (0, -1, -1),
    ]
    assert end_of(0, 2) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert end_of(0, 4) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)


def test_a_record_as_large_as_the_broker_takes_is_taken() -> None:
    producer = Producer(settings=BrokerSettings(max_message_bytes=70))
    assert row(producer.send()).error_code == 0
    smaller = Producer(settings=BrokerSettings(max_message_bytes=60))
    assert row(smaller.send()).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_leader_stamps_what_it_appends_by_its_own_clock() -> None:
    producer = Producer(nodes=2)
    log = producer.partition().log
    log.configs = {"message.timestamp.type": "LogAppendTime"}
    producer.cluster.nodes[1].skew = 60.0
    producer.cluster.nodes[2].skew = -60.0

    here = row(producer.send()).log_append_time_ms
    producer.cluster.elect(producer.partition().tp, 2)
    there = row(producer.send(node=2)).log_append_time_ms

    now_ms = int(CALENDAR_START * 1000)
    assert (here - now_ms, there - now_ms) == (60_000, -60_000)
    assert [stored.max_timestamp for stored in log.batches] == [here, there]


def test_what_a_closed_connection_waits_for_is_forgotten_and_stays_written() -> None:
    producer = Producer()
    producer.partition().log.hold_back(0)
    call = producer.send()
    assert call.parked

    producer.raw.core.disconnected(0)
    producer.partition().log.hold_back(None)
    producer.raw.run(2)

    assert call.parked
    assert producer.partition().log.end == 1
