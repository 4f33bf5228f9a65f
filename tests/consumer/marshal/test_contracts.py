"""The contracts, kept by the Marshal backend on the in-process broker, in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kgroup.testing.virtual_time import virtual_ports
from tests.consumer.marshal.stage import LOG, coordinated
from tests.contracts.cancellation import CancellationContract
from tests.contracts.claims import ClaimContract
from tests.contracts.commits import CommitContract
from tests.contracts.group_harness import Ground, group_harness
from tests.contracts.handover import HandoverContract
from tests.contracts.harness import Harness, Profile, Stage
from tests.contracts.lease import LeaseContract
from tests.contracts.marshal_harness import marshal_backend, marshal_place
from tests.contracts.order import OrderContract
from tests.contracts.silence import SilenceContract

pytestmark = pytest.mark.slow

LATENCY = 0.01
PROFILE = Profile(
    session=10.0,
    heartbeat=5.0 / 3,
    round=4.0,
    moments=tuple(LATENCY * n / 4 for n in range(16)),
    sharing=45.0,
)


@pytest.fixture
def stage() -> Stage:
    @asynccontextmanager
    async def make() -> AsyncIterator[Harness]:
        broker = coordinated(4, nodes=2, t=6)
        for node_id in (1, 2):
            broker.node(node_id).slow(LATENCY)
        ground = Ground(
            bootstrap=broker.bootstrap,
            ports=virtual_ports(broker.dial),
            topic="t",
            count=6,
            profile=PROFILE,
        )
        backend = marshal_backend("g", marshal_place(LOG), PROFILE)
        async with group_harness(ground, backend) as harness:
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
