"""What a member sees of its assignment between two polls, with kafka-python and with the facade.

Behind the facade a thread goes on with the group while nobody polls; kafka-python's own goes on
inside `poll` only. An application sees no difference.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from kafka import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import IllegalStateError
from kafka.structs import MemberState, TopicPartition

from kgroup.compat import kafka_python
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import HeartbeatRequest
from tests.compat.kafka_python.ground import A, B, Ground, grounded
from tests.sync.ground import until

LONG = 0.6
"""Seconds between two polls, at the most, in which a round can end."""

Make = Callable[..., Any]
Seen = list[tuple[str, set[TopicPartition]]]

ASSIGNORS = [
    pytest.param(RangePartitionAssignor, id="eager"),
    pytest.param(CooperativeStickyAssignor, id="cooperative"),
]


def original(**configs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from kafka import KafkaConsumer  # noqa: PLC0415 - it warns when it is imported

        return KafkaConsumer(**configs)


@pytest.fixture
def ground() -> Iterator[Ground]:
    with grounded(2) as laid:
        yield laid


@pytest.fixture(params=[original, kafka_python.KafkaConsumer], ids=["kafka-python", "the facade"])
def make(request: pytest.FixtureRequest, ground: Ground) -> Iterator[Make]:
    """Make a member of group `g`, which is closed in the end."""
    made = []

    def member(assignor: type[Any]) -> Any:
        consumer = request.param(
            bootstrap_servers=ground.servers,
            group_id="g",
            heartbeat_interval_ms=50,
            api_version=(4, 3),
            partition_assignment_strategy=[assignor],
        )
        made.append(consumer)
        return consumer

    yield member
    made.pop().close()


class Looks(ConsumerRebalanceListener):
    """A listener that looks at the assignment."""

    def __init__(self, consumer: Any) -> None:
        self.seen: Seen = []
        self._consumer = consumer

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.seen.append(("revoked", self._consumer.assignment()))

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.seen.append(("assigned", self._consumer.assignment()))


def let_a_round_end(broker: InProcessBroker) -> None:
    """Wait until a member that goes on by itself has what the last round gave it.

    Its second heartbeat in a generation says so. A member that goes on inside its polls only, or
    needs a poll for its listener, does not get there: then the time is up.
    """

    def is_over() -> bool:
        group = broker.group("g").view()
        beats = [each.generation_id for each in broker.requests_of(HeartbeatRequest)]
        return group.state == "Stable" and beats.count(group.generation) > 1

    with suppress(TimeoutError):
        broker.wait_until(is_over, timeout=LONG)


def poll_slowly(ground: Ground, consumer: Any, until_held: int) -> list[set[TopicPartition]]:
    """Poll now and then until so many are held; return what changed behind the polls' back."""
    changed = []
    deadline = time.monotonic() + 30
    while len(consumer.assignment()) != until_held and time.monotonic() < deadline:
        consumer.poll(timeout_ms=100)
        before = consumer.assignment()
        let_a_round_end(ground.broker)
        if consumer.assignment() != before:
            changed.append(consumer.assignment())
    assert len(consumer.assignment()) == until_held
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_an_assignment_is_seen_with_its_callback_not_before(
    ground: Ground, make: Make, assignor: Any
) -> None:
    consumer = make(assignor)
    looks = Looks(consumer)
    consumer.subscribe(["t"], listener=looks)
    assert poll_slowly(ground, consumer, 2) == []
    assert looks.seen[-1] == ("assigned", {A, B})
    assert ("assigned", set()) not in looks.seen


@pytest.mark.slow
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_what_another_member_gives_back_is_seen_by_the_next_poll(
    ground: Ground, assignor: Any
) -> None:
    configs = {"group_id": "g", "partition_assignment_strategy": [assignor]}
    with ground.consumer("t", **configs) as one:
        with ground.consumer("t", **configs) as other:
            until(lambda: [held(each) for each in (one, other)] == [1, 1])
        assert poll_slowly(ground, one, 2) == []


def held(consumer: kafka_python.KafkaConsumer) -> int:
    consumer.poll(timeout_ms=20)
    return len(consumer.assignment())


def test_what_no_listener_heard_yet_is_not_assigned(ground: Ground) -> None:
    with ground.consumer(group_id="g") as consumer:
        consumer.subscribe(["t"])
        consumer.poll(timeout_ms=0)
        until(lambda: consumer.group_metadata().state == MemberState.STABLE)
        for ask in (consumer.position, consumer.highwater):
            with pytest.raises(IllegalStateError):
                ask(A)
