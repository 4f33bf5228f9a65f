"""A static member that closes and is to leave never removes another process with its instance."""

import anyio

from kgroup.errors import FencedError
from kgroup.types import ChangeKind, Leave, MemberState, OwnershipChange
from kgroup.wire.messages import JoinGroupRequest, LeaveGroupRequest
from tests.consumer.scene import SESSION, Member, Scene, joins, partitions, scene, settings
from tests.contracts.application import until

ALL = partitions(0, 1, 2, 3)


async def stays(on: Scene, twin: Member) -> None:
    """See that a member is in its group as before, two sessions later."""
    name, generation = twin.member_id, on.group.generation
    await anyio.sleep(2 * SESSION)
    assert on.seen(LeaveGroupRequest) == []
    assert twin.error is None
    assert twin.backend.membership.state is MemberState.STABLE
    assert (twin.member_id, on.group.generation) == (name, generation)
    assert twin.application.settled() == ALL


async def test_who_is_fenced_while_it_closes_leaves_its_twin_in_the_group() -> None:
    """1. The old process closes, its listener takes a while; 2. the new one joins with the same
    instance id; 3. a heartbeat tells the old one; 4. it has handed back, and was to leave."""

    async def takes_its_time(change: OwnershipChange) -> None:
        if change.kind is ChangeKind.REVOKED:
            await anyio.sleep(SESSION)

    async with scene() as on, anyio.create_task_group() as tasks:
        old = await on.joined(settings(group_instance_id="i"), listener=takes_its_time)

        async def closes() -> None:
            await old.backend.leave(Leave.LEAVE, "replaced", timeout=3 * SESSION)

        tasks.start_soon(closes)
        await old.reaches(MemberState.RELEASING)
        twin = await on.joined(settings(group_instance_id="i"))
        await old.ends()
        assert not isinstance(old.error, FencedError), "it was going anyway"
        assert old.backend.membership.state is MemberState.LEFT
        await stays(on, twin)


async def test_who_closes_before_its_join_was_heard_leaves_its_twin_in_the_group() -> None:
    async with scene() as on:
        twin = await on.joined(settings(group_instance_id="i"))
        before = len(joins(on))
        on.answers.ignore(JoinGroupRequest)
        other = await on.member(settings(group_instance_id="i"))
        await until(lambda: len(joins(on)) > before, 10.0, "the JoinGroup")
        await other.backend.leave(Leave.LEAVE, "started by mistake", timeout=5.0)
        await other.ends()
        await stays(on, twin)
