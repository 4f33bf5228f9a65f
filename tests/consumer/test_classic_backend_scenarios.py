"""Scenarios of the group protocol from one member's side: commits, heartbeats and ids in rounds."""

from itertools import pairwise

import anyio

from kgroup.types import ChangeKind, CommitStatus, OwnershipChange
from kgroup.wire.messages import HeartbeatRequest, SyncGroupRequest
from tests.consumer.scene import HEARTBEAT, SESSION, another_waits, joins, next_round, offset, scene
from tests.contracts.application import until


async def test_a_commit_is_taken_before_the_barrier_and_behind_it_in_the_next_generation() -> None:
    """Offset commits during a rebalance: the coordinator takes them while members rejoin, and
    refuses them between the join and the sync."""
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        claim = member.claim(0)
        await another_waits(on, member)
        assert (await member.backend.commit({claim: offset(5)})).ok
        assert on.committing() == [1]
        held = on.answers.hold_request(SyncGroupRequest)
        on.peers.give_up()
        await until(lambda: held.asked, 10.0, "the barrier is passed")
        outcomes = []

        async def commit() -> None:
            outcomes.append(await member.backend.commit({claim: offset(6)}))

        tasks.start_soon(commit)
        await anyio.sleep(HEARTBEAT)
        assert not outcomes
        assert on.committed(claim.tp) == 5
        held.release()
        await until(lambda: outcomes, 10.0, "the outcome")
        assert outcomes[0].partitions[claim.tp].status is CommitStatus.COMMITTED
        assert on.committed(claim.tp) == 6
        assert on.committing()[-1] == 2


async def test_heartbeats_go_on_with_the_old_generation_while_a_round_waits() -> None:
    async with scene() as on:
        member = await on.joined()
        await another_waits(on, member)
        before = anyio.current_time()
        await anyio.sleep(2 * SESSION)
        beats = [seen for seen in on.seen(HeartbeatRequest) if seen.at > before]
        gaps = [later.at - sooner.at for sooner, later in pairwise(beats)]
        assert max(gaps) <= 1.2 * HEARTBEAT
        asked = [seen.request for seen in beats]
        assert {each.generation_id for each in asked if isinstance(each, HeartbeatRequest)} == {1}
        assert all(member.backend.may_deliver(claim) for claim in member.backend.membership.claims)


async def test_a_member_keeps_the_id_it_was_given_over_every_round() -> None:
    """KIP-394: the first JoinGroup is only answered with an id, under which the second joins."""
    async with scene() as on:
        member = await on.joined()
        for _ in range(3):
            await next_round(member)
        assert [join.member_id for join in joins(on)] == ["", *[member.member_id] * 4]


async def test_what_moves_to_a_newcomer_is_revoked_and_the_rest_is_not_touched() -> None:
    async with scene() as on:
        changes: list[OwnershipChange] = []

        async def hears(change: OwnershipChange) -> None:
            changes.append(change)

        member = await on.joined(listener=hears)
        before = {claim.tp: claim for claim in member.backend.membership.claims}
        on.peers.add("other", "t")
        await until(lambda: len(on.peers.given("other")) == 2, 60.0, "the newcomer owns half")
        await until(member.application.settled, 60.0, "all is settled")
        (revoked,) = [change for change in changes if change.kind is ChangeKind.REVOKED]
        assert {claim.tp for claim in revoked.removed} == on.peers.given("other")
        assert {claim.tp: claim for claim in member.backend.membership.claims} == {
            tp: claim for tp, claim in before.items() if tp not in on.peers.given("other")
        }
