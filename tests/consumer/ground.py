"""In-process clusters with records, for whole consumers that are members of a real group."""

from kgroup.net.ports import Dial
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.messages import MetadataResponse
from kgroup.wire.schema import replace
from tests.consumer.peers import LONGEST_SESSION
from tests.consumer.shelf import Shelf


def ground(count: int = 10, *, nodes: int = 1, **topics: int) -> InProcessBroker:
    """Return a cluster with so many records in every partition; broker 1 coordinates group `g`."""
    settings = BrokerSettings(max_session_timeout=LONGEST_SESSION, auto_create_topics=False)
    broker = InProcessBroker(nodes=nodes, topics=topics, settings=settings)
    if broker.group("g").coordinator != 1:
        broker.group("g").move_to(1)
    for name, width in topics.items():
        for number in range(width):
            fill(broker, TopicPartition(name, number), count)
    return broker


def fill(broker: InProcessBroker, tp: TopicPartition, count: int, *, per_batch: int = 10) -> None:
    """Write records whose values are their offsets."""
    log = broker.partition(*tp)
    end = log.end + count
    while log.end < end:
        log.append(*(str(offset) for offset in range(log.end, min(log.end + per_batch, end))))


def hidden(topic: str, code: int, answer: MetadataResponse) -> MetadataResponse:
    """Return an answer to Metadata that has an error in place of a topic."""
    rows = (
        replace(row, error_code=code, partitions=()) if row.name == topic else row
        for row in answer.topics
    )
    return replace(answer, topics=tuple(rows))


def dial_of(cluster: InProcessBroker | Shelf) -> Dial:
    return cluster.dial if isinstance(cluster, InProcessBroker) else cluster
