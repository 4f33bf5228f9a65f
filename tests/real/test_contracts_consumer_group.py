"""The contracts, kept by the backend of KIP-848 on a real Kafka, on asyncio and on trio."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kgroup.net.ports import system_ports
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.testing.kafka.ready import parse_bootstrap
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
from tests.real.consumer_groups import tune

pytestmark = pytest.mark.real

TOPIC, PARTITIONS = "contracts-848", 6
PROFILE = Profile(
    session=3.0, heartbeat=0.3, round=2.5, moments=(0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
)
PATIENCE = 5.0
"""Seconds until an answer that is swallowed is not waited for any more."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def topic(kafka: RealKafka) -> str:
    create_topic(kafka.bootstrap, TOPIC, PARTITIONS)
    return TOPIC


@pytest.fixture
def stage(kafka: RealKafka, topic: str) -> Stage:
    @asynccontextmanager
    async def make() -> AsyncIterator[Harness]:
        group_id = f"contracts-{uuid.uuid4().hex[:12]}"
        tune(kafka, group_id, session=PROFILE.session, heartbeat=PROFILE.heartbeat)
        addresses = tuple(parse_bootstrap(kafka.bootstrap))
        ground = Ground(addresses, system_ports(), topic, PARTITIONS, PROFILE)
        coordination = consumer_group_backend(
            group_id, PROFILE, rebalance_timeout=8.0, request_timeout=PATIENCE
        )
        async with group_harness(ground, coordination) as harness:
            yield harness

    return make


class TestCommits(CommitContract):
    pass


class TestClaims(ClaimContract):
    pass


@pytest.mark.faults  # half a minute with the next one; in virtual time they run in `make test`
class TestHandover(HandoverContract):
    pass


class TestLease(LeaseContract):
    pass


class TestSilence(SilenceContract):
    pass


@pytest.mark.faults
class TestOrder(OrderContract):
    pass


class TestCancellation(CancellationContract):
    pass
