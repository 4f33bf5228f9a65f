"""Answers about offsets and records that leave things out, or cannot be true (N13)."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from kgroup.errors import CommitFailedError
from kgroup.testing import InProcessBroker
from kgroup.types import CommitStatus
from kgroup.wire.messages import (
    FetchRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from kgroup.wire.schema import Message, replace
from tests.bad_input.stage import A, B, check_pace, cluster, goes_on, outlive, playing
from tests.bad_input.surgery import Kind

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Change = Callable[[Any], Message]
Rows = Callable[[Any], tuple[Any, ...]]
"""What becomes of one row."""


def rewriting(kind: Kind, change: Change) -> Callable[[InProcessBroker], object]:
    return lambda broker: broker.answers.rewrite(kind, lambda _, each: change(each), times=None)


def rerowed(change: Rows, *, topics: str = "topics") -> Change:
    """Change the rows of all topics, which are in the field of that name: one becomes some."""

    def rewrite(answer: Message) -> Message:
        changed = tuple(
            replace(
                topic, partitions=tuple(new for each in topic.partitions for new in change(each))
            )
            for topic in getattr(answer, topics)
        )
        return replace(answer, **{topics: changed})

    return rewrite


# -- N13: committed offsets ----------------------------------------------------------------------

HUGE: Final = 2**63 - 1


def regrouped(change: Callable[[OffsetFetchResponseGroup], Any]) -> Change:
    def rewrite(answer: OffsetFetchResponse) -> OffsetFetchResponse:
        return replace(answer, groups=tuple(change(group) for group in answer.groups))

    return rewrite


OFFSET_FETCHES: Final[dict[str, Change]] = {
    "no group": lambda answer: replace(answer, groups=()),
    "the group twice": lambda answer: replace(answer, groups=answer.groups * 2),
    "another group": regrouped(lambda group: replace(group, group_id="h")),
    "no topics": regrouped(lambda group: replace(group, topics=())),
    "no partitions": regrouped(rerowed(lambda _: ())),
    "partition 0 left out": regrouped(
        rerowed(lambda each: (each,) if each.partition_index else ())
    ),
    "each twice": regrouped(rerowed(lambda each: (each, replace(each, committed_offset=3)))),
    "other numbers": regrouped(rerowed(lambda each: (replace(each, partition_index=-1),))),
}


@pytest.mark.parametrize("change", OFFSET_FETCHES.values(), ids=OFFSET_FETCHES)
async def test_n13_committed_offsets_that_are_omitted_or_doubled_are_asked_for_again(
    change: Change,
) -> None:
    """Taken for "nothing committed", the reset policy would jump over what nobody has read."""
    await outlive(rewriting(OffsetFetchRequest, change))
    broker = cluster()
    broker.group("g").commit({A: 3, B: 3})
    rewriting(OffsetFetchRequest, change)(broker)
    async with playing(broker, auto_offset_reset="latest") as play:
        await play.read_for(6.0)
        check_pace(play, 0.0)
        assert not play.read.get(A)
        broker.answers.clear()
        await play.read_for(4.0)
        assert play.read == {A: [3, 4], B: [3, 4]}


@pytest.mark.parametrize("offset", [-1, -2, -(2**63)])
async def test_n13_a_committed_offset_below_zero_is_none(offset: int) -> None:
    broker = cluster()
    rewriting(OffsetFetchRequest, rerowed(lambda e: (replace(e, committed_offset=offset),)))(broker)
    async with playing(broker) as play:
        assert await play.consumer.committed(A) == {A: None}
        await play.read_all()
        assert play.errors == []


async def test_n13_a_huge_committed_offset_is_out_of_range_and_the_policy_decides() -> None:
    broker = cluster()
    rewriting(OffsetFetchRequest, rerowed(lambda e: (replace(e, committed_offset=HUGE),)))(broker)
    async with playing(broker) as play:
        await play.read_all()
        check_pace(play, 0.0)


# -- N13: places in logs -------------------------------------------------------------------------

LISTED: Final[dict[str, Change]] = {
    "no topics": lambda answer: replace(answer, topics=()),
    "topics twice": lambda answer: replace(answer, topics=answer.topics * 2),
    "no partitions": rerowed(lambda _: ()),
    "each twice": rerowed(lambda each: (each, replace(each, offset=3))),
    "other numbers": rerowed(lambda each: (replace(each, partition_index=-1),)),
    "-1": rerowed(lambda each: (replace(each, offset=-1),)),
    "-2": rerowed(lambda each: (replace(each, offset=-2),)),
    "least": rerowed(lambda each: (replace(each, offset=-(2**63)),)),
    "most": rerowed(lambda each: (replace(each, offset=HUGE),)),
}


@pytest.mark.parametrize("change", LISTED.values(), ids=LISTED)
async def test_n13_ends_of_logs_that_are_omitted_doubled_or_impossible_are_outlived(
    change: Change,
) -> None:
    await outlive(rewriting(ListOffsetsRequest, change))


@pytest.mark.parametrize("name", ["no topics", "topics twice", "no partitions"])
async def test_n13_the_error_of_end_offsets_names_what_the_answer_lacks(
    name: str,
) -> None:
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        rewriting(ListOffsetsRequest, LISTED[name])(broker)
        with pytest.raises(Exception, match="not exactly one row for orders-0"):
            await play.consumer.end_offsets(A, timeout=3.0)
        await goes_on(play)


# -- N13: fetched records ------------------------------------------------------------------------


def refetched(change: Rows) -> Change:
    return rerowed(change, topics="responses")


FETCHED: Final[dict[str, Change]] = {
    "no topics": lambda answer: replace(answer, responses=()),
    "no partitions": refetched(lambda _: ()),
    "other numbers": refetched(lambda each: (replace(each, partition_index=-1),)),
    "another topic": lambda answer: replace(
        answer, responses=tuple(replace(each, topic_id=b"?" * 16) for each in answer.responses)
    ),
    "no records": refetched(lambda each: (replace(each, records=b""),)),
    "null": refetched(lambda each: (replace(each, records=None),)),
    "another topic besides": lambda answer: replace(
        answer,
        responses=tuple(replace(each, topic_id=b"?" * 16) for each in answer.responses)
        + answer.responses,
    ),
    "topics twice": lambda answer: replace(answer, responses=answer.responses * 2),
    "ends below zero": refetched(
        lambda each: (replace(each, high_watermark=-9, last_stable_offset=-9, log_start_offset=-9),)
    ),
    "ends that are huge": refetched(
        lambda each: (
            replace(each, high_watermark=HUGE, last_stable_offset=HUGE, log_start_offset=HUGE),
        )
    ),
    "a replica that is none": refetched(
        lambda each: (replace(each, preferred_read_replica=77, records=b""),)
    ),
    "a replica below -1": refetched(lambda each: (replace(each, preferred_read_replica=-5),)),
}


@pytest.mark.parametrize("change", FETCHED.values(), ids=FETCHED)
async def test_n13_fetch_answers_that_say_nothing_or_something_else_are_outlived(
    change: Change,
) -> None:
    """A broker that has records, and does not send them, does not wait either."""
    await outlive(rewriting(FetchRequest, change))


async def test_n13_a_broker_that_answers_at_once_with_nothing_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = cluster()
    rewriting(FetchRequest, FETCHED["no records"])(broker)
    async with playing(broker) as play:
        await play.read_for(60.0)
        assert play.asked(0.0, FetchRequest) <= 90
        (warning,) = [each for each in caplog.messages if "nothing of what was asked" in each]
        assert "node=1" in warning


@pytest.mark.parametrize("end", [-9, 0, HUGE])
async def test_n13_a_lag_is_never_below_zero(end: int) -> None:
    broker = cluster()
    rewriting(FetchRequest, refetched(lambda each: (replace(each, high_watermark=end),)))(broker)
    async with playing(broker) as play:
        await play.read_all()
        lag = play.consumer.lag(A)
        assert lag is None or lag >= 0


# -- N13: answers to commits ---------------------------------------------------------------------

COMMITTED: Final[dict[str, Change]] = {
    "no topics": lambda answer: replace(answer, topics=()),
    "topics twice": lambda answer: replace(answer, topics=answer.topics * 2),
    "no partitions": rerowed(lambda _: ()),
    "each twice": rerowed(lambda each: (replace(each, error_code=25), each)),
    "other numbers": rerowed(lambda each: (replace(each, partition_index=7),)),
}


@pytest.mark.parametrize("change", COMMITTED.values(), ids=COMMITTED)
async def test_n13_a_commit_whose_answer_does_not_tell_is_unknown_and_costs_no_membership(
    change: Change,
) -> None:
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        before = play.consumer.membership
        rewriting(OffsetCommitRequest, change)(broker)
        with pytest.raises(CommitFailedError, match="orders-0 unknown") as caught:
            await play.consumer.commit()
        assert caught.value.outcome.partitions[A].status is CommitStatus.UNKNOWN
        broker.answers.clear()
        play.write()
        await play.read_all()
        await play.consumer.commit()
        assert play.committed() == {A: 10, B: 10}
        assert play.consumer.membership.generation == before.generation
