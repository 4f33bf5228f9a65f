"""Reads of a consumer whose assignor fails: they wait, and raise once the failure lasts."""

import traceback
from collections.abc import AsyncIterator

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import AssignorError
from kgroup.types import Membership, MemberState
from tests.consumer.entered import A, B, Bytes, grouped
from tests.consumer.foreign import COOPERATIVE, Foreign, good, raises
from tests.consumer.ground import ground
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

PATIENCE = 20.0
"""The `max_poll_interval` of these consumers: so long a round may wait for a slow member."""


async def read_on(consumer: Consumer[Bytes, Bytes]) -> None:
    """Read until that raises."""
    while True:
        await consumer.getone(timeout=1.0)
        await anyio.sleep(1.0)


async def test_a_read_waits_while_rounds_fail_and_raises_once_that_lasts() -> None:
    broker = ground(10, t=2)
    assignor = Foreign(raises)
    async with grouped(broker, assignors=[assignor], max_poll_interval=PATIENCE) as on:
        with pytest.raises(TimeoutError):
            await on.consumer.getone(timeout=PATIENCE / 2)
        shown = on.consumer.membership.trouble
        assert isinstance(shown, AssignorError)
        with pytest.raises(AssignorError) as raised:
            await on.consumer.getone(timeout=PATIENCE)
        assert raised.value is shown
        assert on.consumer.failure is None
        assignor.body = good
        await on.owns(A, B)
        assert (await on.consumer.getone(timeout=10.0)).offset == 0
        assert on.consumer.membership.trouble is None


async def test_a_cooperative_leader_reads_on_until_the_failure_has_lasted() -> None:
    broker = ground(1000, t=2)
    assignor = Foreign(supported_protocols=COOPERATIVE)
    async with grouped(broker, assignors=[assignor], max_poll_interval=PATIENCE) as on:
        await on.owns(A, B)
        assignor.body = raises
        on.group.rebalance()
        await until(lambda: on.consumer.membership.trouble, 30.0, "a round fails")
        for _ in range(5):
            await on.consumer.getone(timeout=1.0)
            await anyio.sleep(2.0)
        with pytest.raises(AssignorError):
            await read_on(on.consumer)
        assert on.consumer.assignment() == {A, B}


async def test_an_error_that_is_raised_by_every_read_does_not_grow() -> None:
    async with grouped(ground(t=2), assignors=[Foreign(raises)], max_poll_interval=PATIENCE) as on:
        places = [await raised_from(on.consumer) for _ in range(20)]
        assert len(set(places[1:])) == 1


async def raised_from(consumer: Consumer[Bytes, Bytes]) -> int:
    """Read until that raises; return how many places the error remembers."""
    try:
        await consumer.getone(timeout=3 * PATIENCE)
    except AssignorError as error:
        return len(traceback.extract_tb(error.__traceback__))
    raise AssertionError("nothing is raised")


async def until_stable(
    consumer: Consumer[Bytes, Bytes], assignor: Foreign
) -> AsyncIterator[Membership]:
    """Yield every membership; after the first trouble the assignor works again."""
    async for membership in consumer.membership_changes():
        yield membership
        if membership.trouble is not None:
            assignor.body = good
        if membership.state is MemberState.STABLE:
            return


async def test_memberships_that_change_tell_of_the_trouble_and_of_its_end() -> None:
    assignor = Foreign(raises)
    async with grouped(ground(t=2), assignors=[assignor]) as on:
        heard = [each.trouble async for each in until_stable(on.consumer, assignor)]
        assert len({id(each) for each in heard}) == 2
        assert heard[0] is heard[-1] is None
