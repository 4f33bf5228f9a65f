"""Scenarios of whole consumers that claim: doubtful answers, zombies, twins of the original, and
one record that is never done.

Each names its number among the scenarios.
"""

from typing import Any

import anyio
import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.marshal.messages import Kind
from kgroup.types import ChangeKind
from kgroup.wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ProduceRequest,
    ProduceResponse,
)
from kgroup.wire.schema import replace
from tests.consumer.ground import fill
from tests.consumer.listening import Heard
from tests.consumer.marshal.claiming import A, claiming, foreign, gives, kafka, owns, said, says
from tests.consumer.marshal.crew import crew
from tests.consumer.marshal.stage import LOG, Writer
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLAIM, HEARTBEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION
STANDARD = 60
"""Heartbeat interval of the original library, seconds."""


# -- answers -----------------------------------------------------------------------------------


def refused_after_append(_: ProduceRequest, answer: ProduceResponse) -> ProduceResponse:
    """Say that too few replicas have what was appended."""
    code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    topics = tuple(
        replace(
            topic,
            partition_responses=tuple(
                replace(row, error_code=code, base_offset=-1) for row in topic.partition_responses
            ),
        )
        for topic in answer.responses
    )
    return replace(answer, responses=topics)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("kind", [CLAIM, HEARTBEAT, RELEASE])
async def test_a_message_that_too_few_replicas_have_is_settled_by_reading(
    kind: Kind, times: int
) -> None:
    """Scenario 4: error 20 comes after the message was appended. No message is written
    twice, and no claim is left over."""
    broker, heard = kafka(), Heard()
    rule = broker.answers.rewrite(
        ProduceRequest, refused_after_append, where=says(kind), times=times
    )
    async with claiming(broker, listener=heard) as consumer:
        assert await gives(consumer, 3) == [0, 1, 2]
        assert (await consumer.commit()).ok
    assert rule.count >= 1
    assert heard.kinds == [ChangeKind.ASSIGNED, ChangeKind.REVOKED]
    words = [each.words for each in said(broker, A)]
    assert [kind for kind, _ in words].count(CLAIM) == 1
    assert [each for each in words if each[0] is RELEASE] == [(RELEASE, 3)]
    async with claiming(broker, name="two") as consumer:
        await owns(consumer, A, within=3.0)
        assert await gives(consumer, 1) == [3]


# -- zombies -----------------------------------------------------------------------------------


def with_old_versions(_: ApiVersionsRequest, answer: ApiVersionsResponse) -> ApiVersionsResponse:
    """Offer what the original library speaks, as brokers before 4.0 do."""
    keys = tuple(
        replace(each, min_version=0) if each.api_key == ApiKey.LIST_OFFSETS else each
        for each in answer.api_keys
    )
    return replace(answer, api_keys=keys)


@pytest.mark.parametrize(("compat", "counts"), [("strict", False), ("auto", False), ("go", True)])
async def test_a_heartbeat_that_arrives_behind_the_takeover_counts_by_the_originals_rules_only(
    compat: str, counts: bool
) -> None:
    """Scenario 5. By the original's rules the owner steps down at once; by neither anything is
    handed out by two: what the zombie was handed out it was before the takeover."""
    broker, heard = kafka(release="3.9.1"), Heard()
    broker.answers.rewrite(ApiVersionsRequest, with_old_versions, times=None)
    zombie = foreign(broker)
    epoch = zombie.claim()
    zombie.beat(2, epoch)
    rules: dict[str, Any] = {"compat": compat, "marshal_heartbeat_interval": STANDARD}
    async with claiming(broker, listener=heard, **rules) as consumer:
        assert await gives(consumer, 3, timeout=300) == [2, 3, 4]
        assert (await consumer.commit()).ok
        zombie.beat(2, epoch)
        await anyio.sleep(0.5)
        assert consumer.owns(A) is not counts
        assert heard.of(ChangeKind.LOST) == heard.changes[1:]
        assert len(heard.changes) == 1 + counts
        fill(broker, A, 5)
        assert bool(await consumer.getmany(timeout=30)) is not counts
        if counts:
            assert not consumer.owns(A)


# -- twins -------------------------------------------------------------------------------------


async def test_a_twin_of_the_original_takes_the_partition_from_the_one_that_has_it() -> None:
    """Scenario 21, with the original: it obeys no fence, so its heartbeat makes it the owner, as
    anybody's would. It goes on, and the member of kgroup waits for it to leave."""
    broker, heard = kafka(), Heard()
    twin = Writer(broker.partition(LOG), "one", "twin", headerless=True)
    async with claiming(broker, listener=heard, marshal_heartbeat_interval=STANDARD) as consumer:
        await gives(consumer, 3)
        twin.beat(3)
        await until(lambda: heard.of(ChangeKind.LOST), 5.0, "it is lost")
        claims = len(said(broker, A, CLAIM))
        for tail in range(3, 9):
            await anyio.sleep(20)
            twin.beat(tail)
            assert consumer.assignment() == frozenset()
        assert len(said(broker, A, CLAIM)) == claims
        twin.release(9)
        await owns(consumer, A, within=30.0)
        assert await gives(consumer, 1) == [9]
        assert consumer.failure is None


async def test_a_member_does_not_begin_beside_a_live_twin_of_the_original() -> None:
    """Scenario 21, with the original: its start is unknown, so it is no predecessor."""
    broker = kafka()
    twin = Writer(broker.partition(LOG), "one", "twin", headerless=True)
    twin.claim()
    async with claiming(broker, marshal_heartbeat_interval=STANDARD) as consumer:
        for tail in range(6):
            twin.beat(tail)
            await anyio.sleep(20)
            assert consumer.assignment() == frozenset()
        await owns(consumer, A, within=200.0)
        assert await gives(consumer, 1) == [5]


# -- one that is never done --------------------------------------------------------------------

STUCK, LATER = 7, 10_000


async def test_a_record_that_is_never_done_repeats_only_the_records_behind_it() -> None:
    """Scenario 25: 10,000 later records are done, and published as far as the gap lets them."""
    async with crew(STUCK + 1 + LATER) as group:
        first = group.enter(reads=False, max_poll_records=STUCK + 1)
        await first.gained(0)
        async for batch in first.consumer.batches():
            stuck = batch
            break
        stuck.done(STUCK)
        async for batch in first.consumer.batches():
            batch.done()
            if batch.next_offset > STUCK + LATER:
                break
        await first.consumer.commit_done()
        assert group.messages(HEARTBEAT)[-1].tail == STUCK
        first.die()
        second = group.enter()
        await until(lambda: STUCK + LATER in second.offsets, 300.0, "it reads the tail")
        assert second.offsets == [*range(STUCK, STUCK + 1 + LATER)]
