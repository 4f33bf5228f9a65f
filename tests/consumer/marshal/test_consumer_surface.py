"""Every public call of the consumer, in Marshal mode: it works, or says that it does not."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from kgroup.codes import ApiKey
from kgroup.consumer import Consumer
from kgroup.errors import UnsupportedError
from kgroup.types import MemberState, OffsetAndMetadata, Subscription
from tests.consumer.marshal.claiming import A, claiming, kafka, owns

pytestmark = pytest.mark.anyio

C = Consumer[Any, Any]
Act = Callable[[C], Awaitable[object]]


def plain(act: Callable[[C], object]) -> Act:
    """Return a call that awaits nothing as one that does."""

    async def called(consumer: C) -> object:
        return act(consumer)

    return called


async def _first_batch(consumer: C) -> list[int]:
    async for batch in consumer.batches():
        return [record.offset for record in batch]
    return []


async def _first_table(consumer: C) -> list[int]:
    async for table in consumer.arrow_batches():
        found: list[int] = table.column("offset").to_pylist()
        return found
    return []


async def _first_record(consumer: C) -> int:
    return (await consumer.getone(timeout=5)).offset


async def _first_records(consumer: C) -> list[int]:
    found = await consumer.getmany(timeout=5, max_records=3)
    return [record.offset for record in found[A]]


async def _committed_all(consumer: C) -> bool:
    await consumer.getmany(timeout=5, max_records=4)
    return (await consumer.commit()).ok


async def _committed_done(consumer: C) -> bool:
    async for batch in consumer.batches():
        batch.done()
        break
    return (await consumer.commit_done()).ok


async def _state_seen(consumer: C) -> MemberState:
    async for membership in consumer.membership_changes():
        return membership.state
    raise AssertionError("no membership was shown")


async def _sought(consumer: C) -> int:
    consumer.seek(A, 7)
    return await consumer.position(A)


async def _committed(consumer: C) -> object:
    await consumer.commit({A: 4})
    return await consumer.committed(A)


async def _sought_committed(consumer: C) -> object:
    await consumer.commit({A: 4})
    return await consumer.seek_to_committed()


async def _closed(consumer: C) -> MemberState:
    await consumer.close()
    return consumer.membership.state


async def _knows_heartbeats(consumer: C) -> object:
    return ApiKey.HEARTBEAT in await consumer.api_versions()


WORKS: Final[dict[str, tuple[Act, object]]] = {
    "api_versions": (_knows_heartbeats, True),
    "arrow_batches": (_first_table, [*range(10)]),
    "assignment": (plain(lambda c: c.assignment()), frozenset({A})),
    "batches": (_first_batch, [*range(10)]),
    "beginning_offsets": (lambda c: c.beginning_offsets(A), {A: 0}),
    "config": (plain(lambda c: c.config.group_id), "g"),
    "closed": (plain(lambda c: c.closed), False),
    "close": (_closed, MemberState.LEFT),
    "close_soon": (plain(lambda c: c.close_soon()), None),
    "commit": (_committed_all, True),
    "commit_done": (_committed_done, True),
    "commit_soon": (plain(lambda c: c.commit_soon({A: 1})), None),
    "committed": (_committed, {A: OffsetAndMetadata(4)}),
    "end_offsets": (lambda c: c.end_offsets(A), {A: 10}),
    "failure": (plain(lambda c: c.failure), None),
    "find_partitions": (lambda c: c.find_partitions("t"), {"t": frozenset({0})}),
    "getmany": (_first_records, [0, 1, 2]),
    "getone": (_first_record, 0),
    "held_back": (plain(lambda c: c.held_back()), frozenset()),
    "highwater": (plain(lambda c: c.highwater(A)), 10),
    "lag": (plain(lambda c: c.lag(A)), 10),
    "last_fetch_at": (plain(lambda c: c.last_fetch_at(A) is not None), True),
    "last_stable_offset": (plain(lambda c: c.last_stable_offset(A)), 10),
    "membership": (plain(lambda c: c.membership.partitions), frozenset({A})),
    "membership_changes": (_state_seen, MemberState.STABLE),
    "note_poll": (plain(lambda c: c.note_poll()), None),
    "offsets_for_times": (lambda c: c.offsets_for_times({A: 2**62}), {A: None}),
    "owns": (plain(lambda c: c.owns(A)), True),
    "partitions_for_topic": (plain(lambda c: c.partitions_for_topic("t")), frozenset({0})),
    "passed_over": (plain(lambda c: c.passed_over), 0),
    "skipped": (plain(lambda c: c.skipped), 0),
    "pause": (plain(lambda c: c.pause(A)), None),
    "paused": (plain(lambda c: c.paused()), frozenset()),
    "position": (lambda c: c.position(A), 0),
    "rebalances": (plain(lambda c: c.rebalances), 1),
    "resume": (plain(lambda c: c.resume(A)), None),
    "seek": (_sought, 7),
    "seek_to_beginning": (lambda c: c.seek_to_beginning(), {A: 0}),
    "seek_to_committed": (_sought_committed, {A: OffsetAndMetadata(4)}),
    "seek_to_end": (lambda c: c.seek_to_end(), {A: 10}),
    "subscribe": (plain(lambda c: c.subscribe("t", "u")), None),
    "subscribed_partitions": (lambda c: c.subscribed_partitions(), frozenset({A})),
    "subscribed_topics": (plain(lambda c: c.subscribed_topics()), frozenset({"t"})),
    "subscription": (
        plain(lambda c: c.subscription()),
        Subscription(topics=frozenset({"t"})),
    ),
    "topics": (lambda c: c.topics(), frozenset({"t", "__marshal", "__consumer_offsets"})),
    "vitals": (plain(lambda c: c.vitals().membership.partitions), frozenset({A})),
    "unsubscribe": (plain(lambda c: c.unsubscribe()), None),
}
"""What each call comes to on one partition of ten records that nobody has read."""

REFUSED: Final[dict[str, Act]] = {
    "enforce_rebalance": plain(lambda c: c.enforce_rebalance()),
    "group_metadata": plain(lambda c: c.group_metadata()),
}
"""What has no meaning where there are no rounds and no generations."""

BEFORE: Final = {"assign", "assign_ranges", "coordinate_by", "follow", "start", "stop"}
"""What cannot be called while topics are subscribed; `assign` has tests of its own. What stands for
`async with` has nothing to do with groups."""


def test_every_public_call_is_in_the_tables() -> None:
    public = {name for name in dir(Consumer) if not name.startswith("_")}
    assert public == {*WORKS, *REFUSED, *BEFORE}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
async def test_a_call_works_as_with_any_group(name: str) -> None:
    act, expected = WORKS[name]
    async with claiming(kafka()) as consumer:
        await owns(consumer, A)
        await consumer.position(A)
        await consumer.getmany(timeout=1)
        await consumer.seek_to_beginning()
        assert await act(consumer) == expected
        assert consumer.failure is None


@pytest.mark.parametrize("name", REFUSED)
async def test_a_call_without_a_meaning_says_so(name: str) -> None:
    async with claiming(kafka()) as consumer:
        await owns(consumer, A)
        with pytest.raises(UnsupportedError, match="a group that claims"):
            await REFUSED[name](consumer)
        assert (await consumer.getone(timeout=5)).offset == 0
