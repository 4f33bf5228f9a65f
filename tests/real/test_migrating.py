"""The programs of the pages on migrating: before and after print the same and commit the same."""

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from tests.house.migrating import programs
from tests.real.ground import fresh
from tests.real.test_porting import PARTITIONS, RECORDS, printed, some_records

pytestmark = pytest.mark.real


@pytest.mark.parametrize("title", programs())
def test_a_program_does_after_migrating_what_it_did_before(kafka: RealKafka, title: str) -> None:
    before, after = programs()[title]
    ground = anyio.run(some_records, kafka)
    lines = PARTITIONS * RECORDS + ("assigned" in before)
    # kafka-python reads its schemas in a deprecated way.
    warnings = "ignore" if "from kafka import" in before else "error"
    told = printed(before, kafka, ground, fresh("before"), lines=lines, warnings=warnings)
    assert printed(after, kafka, ground, fresh("after"), lines=lines) == told
    assert len(set(told)) == lines
