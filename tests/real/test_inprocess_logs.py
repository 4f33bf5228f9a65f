"""An in-process broker answers about logs and transactions what real brokers answer.

The same requests go to both: Produce, ListOffsets, OffsetForLeaderEpoch, DeleteRecords,
InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and, to see what is stored, Fetch.
"""

from collections.abc import Callable

import pytest

from kgroup.testing.kafka import RealKafka
from tests.real.ground import fresh
from tests.real.log_scenarios import SCENARIOS
from tests.real.log_talks import Talk, pure, real

pytestmark = pytest.mark.real


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
def test_a_conversation_goes_as_with_a_real_broker(
    kafka: RealKafka, scenario: Callable[[Talk], None]
) -> None:
    release = kafka.version or ""
    newest = release.startswith("4")
    with real(kafka.bootstrap) as side:
        expected = Talk(side, newest, fresh("x"))
        scenario(expected)
    found = Talk(pure(release), newest, "x")
    scenario(found)

    assert found.said == expected.said
