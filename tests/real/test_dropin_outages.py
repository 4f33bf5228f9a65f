"""The drop-ins beside their originals while a real broker is frozen: naive programs read on."""

from collections.abc import Iterator

import pytest

from kgroup.testing.kafka.local import LocalKafka, start_local
from kgroup.testing.kafka.supply import find_program
from tests.dropin.outages.__main__ import frozen, through

pytestmark = [pytest.mark.real, pytest.mark.faults]

VERSION = "4.3.1"
AFTER = 8.0


@pytest.fixture
def own_kafka() -> Iterator[LocalKafka]:
    """Start a broker of its own, since nobody else could read while it is frozen."""
    kafka = start_local(find_program(VERSION), VERSION, 1)
    try:
        yield kafka
    finally:
        kafka.close()


def test_every_program_reads_on_when_a_broker_was_frozen_for_six_seconds(
    own_kafka: LocalKafka,
) -> None:
    found = through("six seconds", own_kafka, frozen(6.0), AFTER)
    assert len(found) == 14
    assert [each for each in found.items() if not each[1].startswith("reads on")] == []
