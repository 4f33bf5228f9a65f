"""`MarshalAdmin.watch`: changes in a group, reported to a program as they are read."""

import anyio
import pytest

from kgroup import GroupChangeKind, KGroupError
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_wall
from kgroup.types import TopicPartition
from tests.consumer.marshal.stage import LOG, Writer, admin_of, coordinated

pytestmark = pytest.mark.anyio

T0 = TopicPartition("t", 0)
SOON = 5.0


def writer(broker: InProcessBroker) -> Writer:
    return Writer(broker.partition(LOG), now=virtual_wall)


async def test_claims_releases_and_pauses_are_watched_as_they_are_read() -> None:
    broker = coordinated(t=1)
    admin, owner = admin_of(broker, name="night-shift"), writer(broker)
    owner.beat(1, owner.claim())
    async with admin.watch() as changes:
        owner.release(5)
        with anyio.fail_after(SOON):
            released = await anext(changes)
            owner.claim()
            claimed = await anext(changes)
            await admin.pause(60)
            paused = await anext(changes)
    assert (released.kind, released.tp, released.offset) == (GroupChangeKind.RELEASED, T0, 5)
    assert (claimed.kind, claimed.client) == (GroupChangeKind.CLAIMED, "A/i1")
    assert (paused.kind, paused.tp, paused.client) == (GroupChangeKind.PAUSED, None, "night-shift")


async def test_changes_that_are_not_taken_yet_are_kept_in_order() -> None:
    broker = coordinated(t=1)
    owner = writer(broker)
    async with admin_of(broker).watch() as changes:
        for offset in range(3):
            owner.claim()
            owner.release(offset)
        await anyio.sleep(SOON)
        with anyio.fail_after(SOON):
            seen = [await anext(changes) for _ in range(6)]
    released = [each.offset for each in seen if each.kind is GroupChangeKind.RELEASED]
    assert released == [0, 1, 2]


async def test_partitions_of_other_topics_are_not_watched() -> None:
    broker = coordinated(t=1, u=1)
    owner = writer(broker)
    async with admin_of(broker).watch(["t"]) as changes:
        owner.claim(topic="u")
        owner.claim(topic="t")
        with anyio.fail_after(SOON):
            assert (await anext(changes)).tp == T0


async def test_a_wait_that_is_cancelled_takes_nothing_with_it() -> None:
    broker = coordinated(t=1)
    async with admin_of(broker).watch() as changes:
        with anyio.move_on_after(1.0) as scope:
            await anext(changes)
        assert scope.cancelled_caught
        writer(broker).claim()
        with anyio.fail_after(SOON):
            assert (await anext(changes)).tp == T0


async def test_an_error_in_the_block_of_watch_is_raised_as_it_is() -> None:
    writer(broker := coordinated(t=1))
    with pytest.raises(ZeroDivisionError):
        async with admin_of(broker).watch():
            raise ZeroDivisionError


async def test_the_end_of_the_log_ends_the_watch_with_its_cause() -> None:
    broker = coordinated(t=1)

    async def watch() -> None:
        async with admin_of(broker).watch() as changes:
            broker.delete_topic(LOG)
            with anyio.fail_after(600):
                async for _ in changes:
                    pass

    with pytest.raises(KGroupError, match=LOG):
        await watch()


async def test_without_a_log_there_is_nothing_to_watch() -> None:
    with pytest.raises(KGroupError, match="kgroup marshal init"):
        async with admin_of(InProcessBroker(nodes=1, topics={"t": 1})).watch():
            pass
