"""The contracts, kept by the Marshal backend on a real Kafka, on asyncio and on trio.

Members that share by claims take their time: the group must be the same for ten seconds before one
of them gives anything back. So all contracts run beside each other, each with a group of its own
with a log of its own, on asyncio and on trio; what came of each is a test.
"""

import inspect
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from kgroup.net.ports import system_ports
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.testing.kafka.ready import parse_bootstrap
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

pytestmark = [pytest.mark.real, pytest.mark.faults]

Contract = Callable[[Stage], Awaitable[None]]
Outcomes = Mapping[str, Exception | None]

TOPIC, PARTITIONS = "claimed-contracts", 3
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
PROFILE = Profile(
    session=4.0,
    heartbeat=2.0 / 3,
    round=4.0,
    moments=(0.0, 0.001, 0.003, 0.01, 0.03, 0.1),
    sharing=40.0,
)
LONGEST = 150.0
"""Seconds until whatever still runs is given up; they take a third of it."""
APART = 0.4
"""Seconds between two beginnings: dozens of members that start at once keep each other waiting."""

KINDS = (
    CommitContract,
    ClaimContract,
    HandoverContract,
    OrderContract,
    SilenceContract,
    LeaseContract,
    CancellationContract,
)
"""Those that take longest begin first."""

CONTRACTS: dict[str, Contract] = {
    name.removeprefix("test_"): play
    for kind in KINDS
    for name, play in inspect.getmembers(kind(), inspect.ismethod)
    if name.startswith("test_")
}


def stage_on(bootstrap: str) -> Stage:
    """Return what makes a group on these brokers, another one each time."""

    @asynccontextmanager
    async def make() -> AsyncIterator[Harness]:
        name = f"contracts-{uuid.uuid4().hex[:12]}"
        log = partial(create_topic, bootstrap, f"{name}-claims", 1, settings=APPEND_TIME)
        await anyio.to_thread.run_sync(log)
        addresses = tuple(parse_bootstrap(bootstrap))
        ground = Ground(addresses, system_ports(), TOPIC, PARTITIONS, PROFILE)
        backend = marshal_backend(name, marshal_place(f"{name}-claims"), PROFILE)
        async with group_harness(ground, backend) as harness:
            yield harness

    return make


async def play_all(stage: Stage) -> Outcomes:
    """Play all contracts beside each other; return what each of them raised."""
    found: dict[str, Exception | None] = {}

    async def play(name: str, contract: Contract) -> None:
        try:
            await contract(stage)
        except Exception as error:  # noqa: BLE001 - the test of its name raises it
            found[name] = error
        else:
            found[name] = None

    with anyio.move_on_after(LONGEST):
        async with anyio.create_task_group() as tasks:
            for name, contract in CONTRACTS.items():
                tasks.start_soon(play, name, contract)
                await anyio.sleep(APART)
    return found


@pytest.fixture(scope="module")
def played(kafka: RealKafka) -> Mapping[str, Outcomes]:
    create_topic(kafka.bootstrap, TOPIC, PARTITIONS)
    stage = stage_on(kafka.bootstrap)

    def run(backend: str) -> Outcomes:
        call: Any = partial(anyio.run, play_all, stage, backend=backend)
        outcomes: Outcomes = call()
        return outcomes

    backends = "asyncio", "trio"
    with ThreadPoolExecutor(len(backends)) as threads:
        return dict(zip(backends, threads.map(run, backends), strict=True))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_is_kept_by_claims(
    played: Mapping[str, Outcomes], contract: str, backend: str
) -> None:
    outcomes = played[backend]
    assert contract in outcomes, f"not over after {LONGEST:g} s"
    error = outcomes[contract]
    if error is not None:
        raise error
