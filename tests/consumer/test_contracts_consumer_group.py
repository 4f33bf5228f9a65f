"""The contracts, kept by the backend of KIP-848 on the in-process broker, in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from tests.contracts.cancellation import CancellationContract
from tests.contracts.claims import ClaimContract
from tests.contracts.commits import CommitContract
from tests.contracts.consumer_group_harness import consumer_group_backend
from tests.contracts.group_harness import Ground, group_harness
from tests.contracts.handover import HandoverContract
from tests.contracts.harness import Harness, Profile, Stage
from tests.contracts.lease import LeaseContract
from tests.contracts.order import OrderContract
from tests.contracts.silence import SilenceContract

LATENCY = 0.01
PROFILE = Profile(
    session=10.0,
    heartbeat=1.0,
    round=3.0,
    moments=tuple(LATENCY * n / 4 for n in range(16)),
)


@pytest.fixture
def stage() -> Stage:
    @asynccontextmanager
    async def make() -> AsyncIterator[Harness]:
        settings = BrokerSettings(
            consumer_session_timeout=PROFILE.session,
            consumer_heartbeat_interval=PROFILE.heartbeat,
        )
        broker = InProcessBroker(nodes=2, topics={"t": 6}, settings=settings)
        for node_id in (1, 2):
            broker.node(node_id).slow(LATENCY)
        ground = Ground(
            bootstrap=broker.bootstrap,
            ports=virtual_ports(broker.dial),
            topic="t",
            count=6,
            profile=PROFILE,
        )
        coordination = consumer_group_backend("g", PROFILE, rebalance_timeout=60.0)
        async with group_harness(ground, coordination) as harness:
            yield harness

    return make


class TestCommits(CommitContract):
    pass


class TestClaims(ClaimContract):
    pass


class TestHandover(HandoverContract):
    pass


class TestLease(LeaseContract):
    pass


class TestSilence(SilenceContract):
    pass


class TestOrder(OrderContract):
    pass


class TestCancellation(CancellationContract):
    pass
