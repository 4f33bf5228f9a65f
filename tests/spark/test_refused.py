"""What a query cannot be ends it with an error that names the option and the way out."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from kgroup.testing.kafka import RealKafka, create_topic
from tests.spark.ground import PATIENCE, Reads, made, wait

pytestmark = [pytest.mark.spark, pytest.mark.real]


@pytest.fixture
def reads(spark: Any, kafka: RealKafka, tmp_path: Path) -> Reads:
    return made(spark, kafka, tmp_path)


def failure(query: Any) -> str:
    """Return what ended a query."""
    try:
        query.awaitTermination(PATIENCE)
    except Exception as error:  # noqa: BLE001 - of whichever class
        return str(error)
    return "nothing"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"startingoffset": "earliest"}, "did you mean 'startingOffsets'"),
        ({"kgroup.guarantee": "at_most_once"}, "at_least_once"),
        ({"kafka.session.timeout.ms": "30s"}, "milliseconds"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(
    reads: Reads, options: dict[str, str], says: str
) -> None:
    with pytest.raises(Exception, match=says):
        reads.batch(**options).collect()


def test_a_topic_that_is_missing_is_named(reads: Reads) -> None:
    with pytest.raises(Exception, match="nowhere"):
        reads.batch(subscribe="nowhere", **{"kafka.request.timeout.ms": "2000"}).collect()


def test_a_trigger_that_cannot_commit_is_refused(reads: Reads) -> None:
    reads.fill(1)
    sink = reads.stream().writeStream.format("noop")
    assert "availableNow" in failure(sink.trigger(once=True).start())


def test_a_topic_that_was_made_anew_ends_the_query(reads: Reads) -> None:
    reads.fill(5)
    reads.drain()
    topic = reads.ground.topic
    admin = AdminClient({"bootstrap.servers": reads.kafka.bootstrap})
    admin.delete_topics([topic])[topic].result(20)
    wait(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")
    create_topic(reads.kafka.bootstrap, topic, 3)
    assert "made anew" in failure(reads.start(now=True))


def test_records_that_are_gone_end_the_query(reads: Reads) -> None:
    reads.fill(20)
    topic = reads.ground.topic
    gone = [TopicPartition(topic, 0, 10)]
    admin = AdminClient({"bootstrap.servers": reads.kafka.bootstrap})
    for done in admin.delete_records(gone).values():
        done.result(20)
    start = f'{{"{topic}": {{"0": 5, "1": 0, "2": 0}}}}'
    assert "failOnDataLoss" in failure(reads.start(now=True, startingOffsets=start))
