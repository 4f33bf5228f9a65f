"""A member without a common assignor describes the group, and its error names the group's one."""

from collections.abc import Callable

import anyio

from kgroup.codes import ErrorCode
from kgroup.wire.messages import DescribeGroupsRequest
from tests.consumer.scene import SESSION, Scene, scene, settings


async def error_of_newcomer(spoil: Callable[[Scene], object] = lambda _: None) -> tuple[str, float]:
    """Return what a newcomer's error says, and how long it took to say it."""
    async with scene() as on:
        old = await on.joined(settings("range"))
        before = old.backend.membership
        spoil(on)
        began = anyio.current_time()
        new = await on.member(settings("cooperative-sticky"))
        await new.ends()
        assert new.error is not None
        assert old.backend.membership == before
        return str(new.error), anyio.current_time() - began


async def test_the_error_names_the_assignor_in_use() -> None:
    text, _ = await error_of_newcomer()
    assert "which offers ['cooperative-sticky']; 'range' is in use by 1 member" in text


async def test_without_permission_to_describe_the_error_omits_the_assignor_in_use() -> None:
    text, _ = await error_of_newcomer(
        lambda on: on.refuse(DescribeGroupsRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    )
    assert "which offers ['cooperative-sticky']" in text
    assert "in use" not in text


async def test_a_coordinator_that_does_not_describe_delays_the_error_by_seconds() -> None:
    text, took = await error_of_newcomer(
        lambda on: on.answers.lose(DescribeGroupsRequest, times=None)
    )
    assert "which offers ['cooperative-sticky']" in text
    assert took < SESSION / 3
