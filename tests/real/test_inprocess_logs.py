"""An in-process broker answers about logs and transactions what real brokers answer.

The same requests go to both: Produce, ListOffsets, OffsetForLeaderEpoch, DeleteRecords,
InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and, to see what is stored, Fetch.
"""

import pytest

from kgroup.testing.kafka import RealKafka
from tests.real.record_logs import said_by
from tests.testing.broker.talks.gallery import CONVERSATIONS
from tests.testing.broker.talks.recorded import RELEASES, recorded
from tests.testing.broker.talks.talk import Talk, pure

pytestmark = [pytest.mark.real, pytest.mark.no_stand_in("it is compared with a real one")]


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("kafka", RELEASES, indirect=True)
def test_a_conversation_goes_as_with_a_real_broker(kafka: RealKafka, conversation: str) -> None:
    release = kafka.version or ""
    expected = said_by(kafka, release, conversation)
    found = Talk(pure(release), release.startswith("4"), "x")
    CONVERSATIONS[conversation](found)

    assert found.said == expected
    assert recorded(release, conversation) == expected
