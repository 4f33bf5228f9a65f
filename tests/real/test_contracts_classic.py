"""The contracts, kept by the classic backend on a real Kafka, on asyncio and on trio."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kgroup.net.ports import system_ports
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.testing.kafka.ready import parse_bootstrap
from tests.contracts.cancellation import CancellationContract
from tests.contracts.claims import ClaimContract
from tests.contracts.classic_harness import classic_backend, classic_settings
from tests.contracts.commits import CommitContract
from tests.contracts.group_harness import Ground, group_harness
from tests.contracts.handover import HandoverContract
from tests.contracts.harness import Harness, Profile, Stage
from tests.contracts.lease import LeaseContract
from tests.contracts.order import OrderContract
from tests.contracts.silence import SilenceContract

pytestmark = pytest.mark.real

TOPIC, PARTITIONS = "contracts", 6
PROFILE = Profile(
    session=2.0, heartbeat=0.3, round=1.0, moments=(0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def bootstrap(kafka: RealKafka) -> str:
    create_topic(kafka.bootstrap, TOPIC, PARTITIONS)
    return kafka.bootstrap


@pytest.fixture
def stage(request: pytest.FixtureRequest, bootstrap: str) -> Stage:
    assignor = getattr(request.cls, "ASSIGNOR", "cooperative-sticky")

    @asynccontextmanager
    async def make() -> AsyncIterator[Harness]:
        group_id = f"contracts-{uuid.uuid4().hex[:12]}"
        settings = classic_settings(group_id, PROFILE, assignor=assignor, rebalance_timeout=8.0)
        addresses = tuple(parse_bootstrap(bootstrap))
        ground = Ground(addresses, system_ports(), TOPIC, PARTITIONS, PROFILE)
        async with group_harness(ground, classic_backend(settings, PROFILE)) as harness:
            yield harness

    return make


class TestCommits(CommitContract):
    pass


class TestClaims(ClaimContract):
    pass


class TestHandover(HandoverContract):
    pass


class TestEagerHandover(HandoverContract):
    ASSIGNOR = "range"


class TestLease(LeaseContract):
    pass


class TestSilence(SilenceContract):
    pass


class TestOrder(OrderContract):
    pass


class TestCancellation(CancellationContract):
    pass
