"""A member whose assignors nobody else has asks who is there, and says so in its error."""

import anyio

from kgroup.codes import ErrorCode
from kgroup.testing.scripted import Lost, Rule
from kgroup.wire.messages import (
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    JoinGroupRequest,
)
from tests.consumer.stage import SESSION, scene, settings
from tests.scripted_answers import refused

KEPT_OUT = refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
_CLOSED = DescribeGroupsDescribedGroup(
    error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED,
    group_id="g",
    group_state="",
    protocol_type="",
    protocol_data="",
    members=(),
)
CLOSED = DescribeGroupsResponse(groups=(_CLOSED,))


async def told(answer: Rule | None = None) -> tuple[str, float]:
    """Return what a newcomer's error says, and how long it took to say it."""
    async with scene() as on:
        old = await on.joined(settings("range"))
        before = old.backend.membership
        if answer is not None:
            on.group.coordinator.on(DescribeGroupsRequest, answer)
        on.group.coordinator.once(JoinGroupRequest, KEPT_OUT)
        began = anyio.current_time()
        new = await on.member(settings("cooperative-sticky"))
        await new.ends()
        assert new.error is not None
        assert old.backend.membership == before
        return str(new.error), anyio.current_time() - began


async def test_the_assignor_in_use_and_the_way_over_are_told() -> None:
    text, _ = await told()
    assert "which offers ['cooperative-sticky']; 'range' is in use by 1 member" in text


async def test_a_group_that_may_not_be_described_is_told_without() -> None:
    text, _ = await told(CLOSED)
    assert "which offers ['cooperative-sticky']" in text
    assert "in use" not in text


async def test_a_coordinator_that_does_not_describe_delays_the_error_by_seconds() -> None:
    text, took = await told(Lost())
    assert "which offers ['cooperative-sticky']" in text
    assert took < SESSION / 3
