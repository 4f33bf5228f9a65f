"""Trouble around a claiming consumer: its log, its brokers, its clock, its process."""

from dataclasses import replace

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import NoOffsetError
from kgroup.marshal.messages import Kind
from kgroup.marshal.wishing import FRESH
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Cause, ChangeKind, Leave, MemberState
from kgroup.wire.messages import (
    FetchRequest,
    ListOffsetsRequest,
    OffsetFetchRequest,
    ProduceRequest,
)
from tests.consumer.listening import Heard
from tests.consumer.marshal.claiming import (
    LEASE,
    A,
    claiming,
    foreign,
    gives,
    kafka,
    owns,
    said,
    says,
)
from tests.consumer.marshal.stage import LOG
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLAIM, HEARTBEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION


@pytest.mark.parametrize(("frozen", "lasts"), [(5.0, True), (9.0, False), (60.0, False)])
async def test_a_process_that_was_not_scheduled_hands_out_nothing_once_its_lease_is_over(
    frozen: float, lasts: bool
) -> None:
    """Scenario 9: 1. records are fetched ahead; 2. the process is stopped, the clock is not;
    3. it goes on, and its first read comes before any of its timers."""
    broker = kafka(records=100)
    heard, ports, stood_still = Heard(), virtual_ports(broker.dial), [0.0]
    clock = ports.clock
    ports = replace(ports, clock=lambda: clock() + stood_still[0])
    async with claiming(broker, listener=heard, ports=ports) as consumer:
        await gives(consumer, 1)
        stood_still[0] = frozen
        assert bool(await consumer.getmany(timeout=0)) is lasts
        await anyio.sleep(2.0)
        lost = heard.of(ChangeKind.LOST)
        assert [change.cause for change in lost] == [Cause.SESSION_EXPIRED] * (not lasts)


async def test_a_member_that_cannot_read_the_log_loses_its_claims_and_makes_none() -> None:
    """Scenario 12: writes work, reads do not. What was read counts as fresh for a moment, and a
    claim of that moment is judged by the log; after it nothing is claimed unseen."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 1)
        blind = broker.answers.ignore(FetchRequest, times=None)
        await until(lambda: not consumer.owns(A), LEASE, "its lease is over")
        await anyio.sleep(FRESH)
        claims = len(said(broker, A, CLAIM))
        await anyio.sleep(5 * LEASE)
        assert len(said(broker, A, CLAIM)) == claims
        blind.cancel()
        await owns(consumer, A, within=100.0)


@pytest.mark.parametrize("kind", [CLAIM, HEARTBEAT])
async def test_a_leader_change_during_a_claim_neither_doubles_nor_hangs(kind: Kind) -> None:
    """Scenario 14."""
    broker = kafka(nodes=2)
    log = broker.partition(LOG)
    held = broker.answers.hold_request(ProduceRequest, where=says(kind))
    async with claiming(broker, metadata_max_age=2.0) as consumer:
        await until(lambda: held.count, 20.0, "it is on its way")
        log.move_to(2 if log.leader == 1 else 1)
        await anyio.sleep(1.0)
        held.release()
        await owns(consumer, A, within=100.0)
        assert await gives(consumer, 2) == [0, 1]


async def test_a_pause_between_the_claim_and_its_first_heartbeat_gives_it_back_unannounced() -> (
    None
):
    """Scenario 18: no heartbeat, a release, and the listener hears nothing."""
    broker = kafka()
    heard = Heard()
    held = broker.answers.hold_request(OffsetFetchRequest)
    async with claiming(broker, listener=heard) as consumer:
        await until(lambda: said(broker, A, CLAIM), 20.0, "it is claimed")
        await until(lambda: held.count, 20.0, "its position is asked for")
        end = int(foreign(broker).now()) + 30
        value = f"ReleaseGroup/0/{int(foreign(broker).now())}/i/admin/g//0/{end}".encode()
        broker.partition(LOG).append(value)
        await anyio.sleep(1.0)
        held.release()
        await until(lambda: said(broker, A, RELEASE), 20.0, "it is given back")
        assert said(broker, A, HEARTBEAT) == []
        assert heard.changes == []
        await owns(consumer, A, within=120.0)


async def test_a_broker_clock_that_steps_back_allows_no_early_takeover() -> None:
    """Scenario 26."""
    broker = kafka()
    async with claiming(broker) as consumer, claiming(broker, name="two") as other:
        await until(lambda: consumer.owns(A) or other.owns(A), 30.0, "somebody has it")
        owner, waiter = (consumer, other) if consumer.owns(A) else (other, consumer)
        broker.node(1).skew(-3600.0)
        for _ in range(8):
            await anyio.sleep(LEASE / 2)
            assert owner.owns(A)
            assert not waiter.owns(A)


async def _closes(consumer: Consumer[bytes | None, bytes | None], leave: Leave) -> None:
    begun = anyio.current_time()
    await consumer.close(timeout=3.0, leave=leave)
    assert anyio.current_time() - begun <= 3.5
    assert consumer.membership.state in (MemberState.LEFT, MemberState.FAILED)


STOPS = {
    "no log read": (FetchRequest, None),
    "no claim written": (ProduceRequest, says(CLAIM)),
    "no position found": (ListOffsetsRequest, None),
    "no heartbeat written": (ProduceRequest, says(HEARTBEAT)),
    "no release written": (ProduceRequest, says(RELEASE)),
}


@pytest.mark.parametrize("leave", [Leave.LEAVE, Leave.REMAIN])
@pytest.mark.parametrize("stop", STOPS)
async def test_closing_is_over_by_its_deadline_in_every_phase(stop: str, leave: Leave) -> None:
    """Scenario 30: the phase lasts, then no broker answers at all."""
    broker = kafka()
    kind, where = STOPS[stop]
    broker.answers.ignore(kind, where=where, times=None)
    async with claiming(broker) as consumer:
        await anyio.sleep(2.0)
        _down(broker)
        await _closes(consumer, leave)


def _down(broker: InProcessBroker) -> None:
    broker.node(1).kill()


async def test_without_a_position_and_a_policy_the_read_says_so() -> None:
    broker = kafka()
    async with claiming(broker, auto_offset_reset="none") as consumer:
        await until(lambda: consumer.membership.trouble, 20.0, "it is in trouble")
        with pytest.raises(NoOffsetError):
            await consumer.getone(timeout=5)
