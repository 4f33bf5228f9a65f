"""Queries in groups of KIP-848: the same triggers by hand, with a coordinator that divides."""

import pytest

from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.wire.messages import ConsumerGroupHeartbeatRequest, HeartbeatRequest
from tests.spark.test_query import commits, fill, run

QUICK = BrokerSettings(consumer_heartbeat_interval=0.2)


@pytest.mark.kgroup_broker(topics={"t": 3}, settings=QUICK)
def test_a_query_is_a_member_of_a_group_whose_coordinator_divides(
    kgroup_broker: InProcessBroker,
) -> None:
    """KIP-848. The second run comes when the division that its end has left is still young."""
    fill(kgroup_broker, 4)
    options = {"kafka__group__protocol": "consumer"}
    with run(kgroup_broker, **options) as query:
        assert query.reads() == {0: (0, 4), 1: (0, 4), 2: (0, 4)}
        assert query.reads() == {}
        commits(kgroup_broker, 4, 4, 4)
        start = query.start
    fill(kgroup_broker, 1)
    with run(kgroup_broker, start, **options) as query:
        assert query.reads(available=True) == {0: (4, 5), 1: (4, 5), 2: (4, 5)}
        assert query.reads() == {}
        commits(kgroup_broker, 5, 5, 5)
    assert len(kgroup_broker.requests_of(ConsumerGroupHeartbeatRequest)) > 4
    assert kgroup_broker.requests_of(HeartbeatRequest) == []
