"""A Kafka of its own whose brokers have another setting than those the tests share."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from kgroup.testing import BrokerSettings
from kgroup.testing.kafka import DEFAULT_VERSION, RealKafka
from kgroup.testing.kafka.in_process import stand_in


@contextmanager
def tuned(
    shared: RealKafka, in_process: BrokerSettings, properties: Mapping[str, str]
) -> Iterator[RealKafka]:
    """Start a Kafka of the kind and version of another one; the test is skipped where it is given.

    Args:
        shared: the other one.
        in_process: settings of the in-process Kafka.
        properties: the same for a real one.
    """
    if shared.kind == "given":
        pytest.skip(f"{shared.describe()}: the test needs a setting of the broker")
    version = shared.version or DEFAULT_VERSION
    if shared.kind == "in-process":
        started = stand_in(version, settings=in_process)
    else:
        started = RealKafka.start(version, settings=properties)
    with started:
        yield started
