"""Which coordination partition a topic belongs to; figures of the original library's code."""

import pytest

from kgroup.marshal.plan import coordination_partition

COUNTS = 3, 4, 8, 10, 50

PLACES = {
    "test1": (1, 2, 2, 0, 30),
    "test2": (0, 1, 5, 1, 1),
    "test3": (2, 2, 2, 2, 12),
    "unknown": (1, 1, 5, 9, 9),
    "orders": (0, 2, 2, 0, 20),
    "payments.v1": (2, 0, 0, 4, 14),
}


@pytest.mark.parametrize("topic", PLACES)
def test_a_topic_is_placed_as_the_original_places_it(topic: str) -> None:
    assert tuple(coordination_partition(topic, count) for count in COUNTS) == PLACES[topic]


def test_a_coordination_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="has 0 partitions"):
        coordination_partition("orders", 0)
