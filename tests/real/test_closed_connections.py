"""What is done of a connection that its client has closed: on real brokers and in the process."""

from itertools import count

import pytest

from kgroup.testing import InProcessBroker
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.testing.kafka.topics import create_topic
from tests.real.closing import Closing, topics_made

NAMES = count()
KINDS = pytest.mark.parametrize(
    ("closing", "parked", "served"),
    [
        (Closing.READ_ALL, 1, 1),
        (Closing.READ_ALL, 2, 0),
        (Closing.UNREAD, 1, 0),
        (Closing.RESET, 1, 0),
    ],
)


def served_by(bootstrap: str, empty: str, closing: Closing, parked: int) -> int:
    names = [f"behind-{next(NAMES)}" for _ in range(3)]
    made = topics_made(parse_bootstrap(bootstrap)[0], empty, names, closing, parked)
    assert made == names[: len(made)]
    return len(made)


@pytest.mark.slow
@KINDS
def test_in_process_one_request_behind_a_parked_one_is_served_after_a_close(
    closing: Closing, parked: int, served: int
) -> None:
    broker = InProcessBroker()
    broker.create_topic("empty", 1)
    with broker.serve():
        assert served_by(broker.bootstrap_servers, "empty", closing, parked) == served


@pytest.mark.real
@pytest.mark.no_stand_in("it is compared with a real one")
@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
@KINDS
def test_one_request_behind_a_parked_one_is_served_after_a_close(
    kafka: RealKafka, closing: Closing, parked: int, served: int
) -> None:
    empty = f"empty-{next(NAMES)}"
    create_topic(kafka.bootstrap, empty, 1)
    assert served_by(kafka.bootstrap, empty, closing, parked) == served
