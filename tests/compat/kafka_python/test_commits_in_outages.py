"""A commit of the kafka-python drop-in while brokers answer late, wrongly or not at all."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from kafka.errors import CommitFailedError, KafkaTimeoutError
from kafka.structs import OffsetAndMetadata

from kgroup.codes import ErrorCode
from kgroup.compat.kafka_python import KafkaConsumer
from kgroup.wire.messages import OffsetCommitRequest
from tests.compat.kafka_python.ground import A, B, Ground, grounded

TWO = {A: OffsetAndMetadata(2, "", -1)}


@contextmanager
def member() -> Iterator[tuple[Ground, KafkaConsumer]]:
    """Lend a member of group `g` that has both partitions."""
    options = {"group_id": "g", "enable_auto_commit": False}
    with grounded(4) as ground, ground.consumer("t", **options) as consumer:
        while consumer.assignment() != {A, B}:
            consumer.poll(timeout_ms=100)
        yield ground, consumer


def test_a_commit_is_sent_again_when_its_answer_is_lost() -> None:
    with member() as (ground, consumer):
        held = ground.broker.answers.hold(OffsetCommitRequest)

        def cut() -> None:
            while not held.asked:
                time.sleep(0.01)
            ground.broker.node(1).disconnect()
            held.release()

        cutting = threading.Thread(target=cut)
        cutting.start()
        consumer.commit(TWO)
        cutting.join()
        assert consumer.committed(A) == 2


def test_a_commit_that_nobody_answers_ends_with_its_timeout() -> None:
    with member() as (ground, consumer):
        held = ground.broker.answers.hold(OffsetCommitRequest)
        with pytest.raises(KafkaTimeoutError):
            consumer.commit(TWO, timeout_ms=300)
        held.release()


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ],
)
def test_a_commit_is_sent_again_while_there_is_no_coordinator(code: ErrorCode) -> None:
    with member() as (ground, consumer):
        ground.broker.answers.error(OffsetCommitRequest, code)
        consumer.commit(TWO)
        assert consumer.committed(A) == 2


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    ],
)
def test_a_commit_fails_when_the_group_has_moved_on(code: ErrorCode) -> None:
    with member() as (ground, consumer):
        ground.broker.answers.error(OffsetCommitRequest, code)
        with pytest.raises(CommitFailedError):
            consumer.commit(TWO)
