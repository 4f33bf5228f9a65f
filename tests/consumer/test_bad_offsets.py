"""Answers about offsets that cannot be true (N13): asked again, taken for none, and no storm."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FetchRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from kgroup.wire.schema import Message
from tests.consumer.entered import A, B, by_hand
from tests.consumer.shelf import Shelf
from tests.search.scripted.broker import Answer

pytestmark = pytest.mark.anyio

HUGE = (1 << 63) - 1

M = TypeVar("M", bound=Message)
Spoil = Callable[[OffsetFetchResponse], OffsetFetchResponse]


def replace(message: M, **fields: object) -> M:
    """The message with some fields changed."""
    kept = {name: getattr(message, name) for name in message.FIELDS}
    return type(message)(**(kept | fields))


def shelf_with(count: int = 10, **committed: int) -> Shelf:
    """Brokers with records, and committed offsets by number of the partition (`p0=5`)."""
    shelf = Shelf(t=2)
    for tp in (A, B):
        shelf.fill(tp, count)
    for name, offset in committed.items():
        shelf.committed[TopicPartition("t", int(name[1:]))] = offset
    return shelf


# -- OffsetFetch -------------------------------------------------------------------------------


def group_of(answer: OffsetFetchResponse) -> OffsetFetchResponseGroup:
    (group,) = answer.groups
    return group


def regrouped(change: Callable[[OffsetFetchResponseGroup], OffsetFetchResponseGroup]) -> Spoil:
    """Change the one group of an answer."""
    return lambda answer: replace(answer, groups=(change(group_of(answer)),))


def without_topics(group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    return replace(group, topics=())


def without_one_partition(group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    (topic,) = group.topics
    kept = tuple(each for each in topic.partitions if each.partition_index != A.partition)
    return replace(group, topics=(replace(topic, partitions=kept),))


def with_each_twice(group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    """The second row says something else."""
    (topic,) = group.topics
    others = tuple(replace(each, committed_offset=1) for each in topic.partitions)
    return replace(group, topics=(replace(topic, partitions=topic.partitions + others),))


def of_another_group(group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    return replace(group, group_id="another")


@pytest.mark.parametrize(
    "spoil",
    [
        regrouped(without_topics),
        regrouped(without_one_partition),
        regrouped(with_each_twice),
        regrouped(of_another_group),
        lambda answer: replace(answer, groups=()),
        lambda answer: replace(answer, groups=answer.groups * 2),
    ],
    ids=["no topics", "one omitted", "doubled", "other group", "no group", "group doubled"],
)
async def test_committed_offsets_that_are_omitted_or_doubled_are_asked_for_again(
    spoil: Spoil,
) -> None:
    """N13: and no position is reset meanwhile."""
    shelf = shelf_with(p0=5, p1=7)
    node = shelf.broker(1)

    def answer(request: OffsetFetchRequest) -> Answer:
        sound = shelf.offset_fetch(request)
        return spoil(sound) if len(node.requests(OffsetFetchRequest)) <= 5 else sound

    node.on(OffsetFetchRequest, answer)
    async with by_hand(shelf, A, B) as stage:
        assert await stage.consumer.position(A) == 5
        assert await stage.consumer.position(B) == 7
        seen = node.seen_of(OffsetFetchRequest)
        assert len(seen) == 6
        assert seen[-1].at - seen[0].at >= 0.4
        assert not node.requests(ListOffsetsRequest)


@pytest.mark.parametrize("offset", [-1, -2, -(1 << 63)])
async def test_a_negative_committed_offset_is_none(offset: int) -> None:
    """N13: the reset policy decides."""
    shelf = shelf_with(p0=offset, p1=7)
    async with by_hand(shelf, A, B, auto_offset_reset="latest") as stage:
        assert await stage.consumer.position(A) == 10
        assert await stage.consumer.position(B) == 7
        assert (await stage.consumer.committed(A))[A] is None


async def test_a_huge_committed_offset_is_out_of_range_and_the_policy_decides() -> None:
    """N13."""
    shelf = shelf_with(p0=HUGE)
    async with by_hand(shelf, A) as stage:
        assert (await stage.consumer.getone(timeout=5)).offset == 0
        committed = (await stage.consumer.committed(A))[A]
        assert committed is not None
        assert committed.offset == HUGE


# -- ListOffsets -------------------------------------------------------------------------------


def list_as(shelf: Shelf, change: Callable[[ListOffsetsResponse], ListOffsetsResponse]) -> None:
    """Answer ListOffsets, changed."""

    def answer(request: ListOffsetsRequest) -> Answer:
        return change(shelf.list_offsets(request))

    shelf.broker(1).on(ListOffsetsRequest, answer)


def with_offset(offset: int) -> Callable[[ListOffsetsResponse], ListOffsetsResponse]:
    def change(answer: ListOffsetsResponse) -> ListOffsetsResponse:
        (topic,) = answer.topics
        rows = tuple(replace(row, offset=offset) for row in topic.partitions)
        return replace(answer, topics=(replace(topic, partitions=rows),))

    return change


def doubled(answer: ListOffsetsResponse) -> ListOffsetsResponse:
    return replace(answer, topics=answer.topics * 2)


def omitted(answer: ListOffsetsResponse) -> ListOffsetsResponse:
    return replace(answer, topics=())


@pytest.mark.parametrize(
    "change",
    [omitted, doubled, with_offset(-1), with_offset(-2), with_offset(-(1 << 63))],
    ids=["omitted", "doubled", "-1", "-2", "least"],
)
async def test_an_end_of_a_log_that_is_omitted_doubled_or_negative_is_asked_for_again(
    change: Callable[[ListOffsetsResponse], ListOffsetsResponse],
) -> None:
    """N13: with pauses, and no record is handed out from a position that is none."""
    shelf = shelf_with()
    list_as(shelf, change)
    async with by_hand(shelf, A) as stage:
        assert await stage.consumer.getmany(timeout=10) == {}
        assert 5 <= len(shelf.broker(1).requests(ListOffsetsRequest)) <= 30
        assert not shelf.broker(1).requests(FetchRequest)
        list_as(shelf, lambda answer: answer)
        assert (await stage.consumer.getone(timeout=5)).offset == 0


async def test_a_huge_end_of_a_log_ends_in_no_storm() -> None:
    """N13: the fetch there is out of range, which asks for the end again."""
    shelf = shelf_with()
    list_as(shelf, with_offset(HUGE))
    async with by_hand(shelf, A) as stage:
        assert await stage.consumer.getmany(timeout=10) == {}
        asked = len(shelf.broker(1).requests(ListOffsetsRequest))
        assert asked == len(shelf.broker(1).requests(FetchRequest))
        assert 2 <= asked <= 40
        list_as(shelf, lambda answer: answer)
        assert (await stage.consumer.getone(timeout=5)).offset == 0
