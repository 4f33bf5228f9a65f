"""Options of claiming members, seen by whole consumers and in the log."""

import anyio
import pytest

from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Leave, TopicPartition
from kgroup.wire.messages import ProduceRequest
from tests.consumer.marshal.claiming import LEASE, claiming, gives, kafka, owns, said, says
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLAIM = Kind.CLAIMING_PARTITION
T = [TopicPartition("t", number) for number in range(4)]


def claims_of(broker: InProcessBroker) -> list[TopicPartition]:
    """Return the partitions that were claimed, in order."""
    found = [(each.offset, tp) for tp in T for each in said(broker, tp, CLAIM)]
    return [tp for _, tp in sorted(found)]


@pytest.mark.parametrize(("policy", "requests"), [("gradual", 4), ("greedy", 1), ("fair", 1)])
async def test_gradually_a_second_claim_follows_when_the_first_is_settled(
    policy: str, requests: int
) -> None:
    """TestBalancedClaim in the original. Else all that is free is claimed in one request."""
    broker = kafka(4)
    async with claiming(broker, claim_policy=policy) as consumer:
        await owns(consumer, *T)
        asked = [each for each in broker.requests_of(ProduceRequest) if says(CLAIM)(each)]
        assert len(asked) == requests
        assert sorted(claims_of(broker)) == T


async def test_a_member_at_max_claims_leaves_the_rest_to_others() -> None:
    """TestMaximumGreedyClaims in the original. One has one; the other has three, beyond an equal
    share, and both keep that."""
    broker = kafka(4)
    async with claiming(broker, max_claims=1) as few:
        await until(lambda: len(few.assignment()) == 1, 20.0, "it has one")
        await anyio.sleep(LEASE)
        assert len(few.assignment()) == 1
        mine = few.assignment()
        async with claiming(broker, name="two") as many:
            await owns(many, *(set(T) - mine))
            await anyio.sleep(3 * LEASE)
            assert few.assignment() == mine
            assert many.assignment() == set(T) - mine


@pytest.mark.parametrize("fast", [True, False])
async def test_without_fast_reclaim_a_restart_waits_for_the_end_of_its_lease(fast: bool) -> None:
    broker = kafka()
    async with claiming(broker) as before:
        await gives(before, 4)
        await before.commit()
        await before.close(leave=Leave.REMAIN)
    begun = anyio.current_time()
    ports = virtual_ports(broker.dial, seed=2)
    async with claiming(broker, fast_reclaim=fast, ports=ports) as after:
        assert await gives(after, 1) == [4]
        took = anyio.current_time() - begun
    assert took < 1.0 if fast else LEASE - 1.0 < took < LEASE + 4.0
    assert len(claims_of(broker)) == 2
