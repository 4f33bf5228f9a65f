"""Defects of other clients that concern a member, each with the requirement for kgroup.

The same requirements are tested on real brokers in `tests/real/test_symptoms_member.py`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import FencedError
from kgroup.types import ChangeKind, Leave, MemberState
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import Message, Request
from tests.consumer.scene import (
    HEARTBEAT,
    PATIENT,
    REBALANCE,
    SESSION,
    Member,
    Scene,
    another_waits,
    claims_of,
    joins,
    next_round,
    offset,
    partitions,
    scene,
    settings,
)
from tests.contracts.application import until

AT_ONCE = 0.1
"""Seconds."""

RESETS = [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION]


def generation_claimed(join: JoinGroupRequest) -> int | None:
    return decode_subscription(join.protocols[0].metadata).generation_id


# -- 6 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", RESETS)
@pytest.mark.parametrize("kind", [OffsetCommitRequest, HeartbeatRequest])
async def test_6_an_answer_of_an_older_generation_never_changes_the_state_of_a_newer_one(
    kind: type[Request[Message]], code: ErrorCode
) -> None:
    """aiokafka#727, #747: endless rebalances under load, because UNKNOWN_MEMBER_ID on a commit
    during a rejoin reset the generation of the new join.

    Required: a response carrying generation g never changes the state of a member at g+1.
    """
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        held = on.answers.hold(kind)
        if kind is OffsetCommitRequest:
            tasks.start_soon(member.backend.commit, {member.claim(0): offset(5)})
        await until(lambda: held.asked, 2 * HEARTBEAT, "a request of the old generation")
        await next_round(member)
        before = member.backend.membership
        held.release(code)
        await anyio.sleep(2 * HEARTBEAT)
        now = member.backend.membership
        assert (now.generation, now.claims, now.rebalances) == (
            before.generation,
            before.claims,
            before.rebalances,
        )
        assert member.application.of_kind(ChangeKind.LOST) == []


# -- 13 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", [ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT, ApiKey.SYNC_GROUP])
async def test_13_a_rebalance_in_progress_keeps_member_id_and_generation(api: ApiKey) -> None:
    """kafka-python#2610, PR#2614: the generation was lost on a retriable error.

    Required: REBALANCE_IN_PROGRESS keeps member id and generation.
    """
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        before = member.backend.membership
        assert before.generation is not None
        expected = before.generation.generation_id
        refusing = on.refuse(REQUESTS[api], ErrorCode.REBALANCE_IN_PROGRESS)
        count = len(joins(on))
        if api is ApiKey.SYNC_GROUP:
            member.backend.enforce_rebalance("the test wants a round")
            count, expected = count + 1, expected + 1
        if api is ApiKey.OFFSET_COMMIT:
            tasks.start_soon(member.backend.commit, {member.claim(0): offset(5)})
        await until(lambda: len(joins(on)) > count, 2 * HEARTBEAT, "the member rejoins")
        refusing.cancel()
        rejoin = joins(on)[count]
        assert rejoin.member_id == before.generation.member_id
        assert generation_claimed(rejoin) == expected
        await member.owns(before.partitions)
        assert member.application.of_kind(ChangeKind.LOST) == []
        assert member.backend.membership.claims == before.claims


@pytest.mark.parametrize("code", RESETS)
async def test_13_unknown_member_and_illegal_generation_reset_exactly_once(code: ErrorCode) -> None:
    """kafka-python#2610, PR#2623. Required: they reset exactly once, on however many requests."""
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        member_id, count = member.member_id, len(joins(on))
        claims = member.backend.membership.claims

        def stale(request: Request[Message]) -> bool:
            """Tell whether a request names the first generation."""
            generation = getattr(request, "generation_id", None)
            return getattr(request, "generation_id_or_member_epoch", generation) == 1

        for kind in (HeartbeatRequest, OffsetCommitRequest):
            on.answers.error(kind, code, where=stale, times=None)
        for claim in claims:
            tasks.start_soon(member.backend.commit, {claim: offset(5)})
        lost = lambda: member.application.of_kind(ChangeKind.LOST)  # noqa: E731
        await until(lost, 2 * HEARTBEAT, "the reset")
        await member.owns(partitions(0, 1, 2, 3))
        assert len(lost()) == 1
        rejoin = joins(on)[count]
        kept = code == ErrorCode.ILLEGAL_GENERATION
        assert rejoin.member_id == (member_id if kept else "")
        assert decode_subscription(rejoin.protocols[0].metadata).owned == ()


# -- 17 ----------------------------------------------------------------------------------------


async def test_17_a_commit_that_fails_in_a_cooperative_round_loses_nothing_and_is_retried() -> None:
    """librdkafka#4059, PR#4908: ILLEGAL_GENERATION on a commit was treated as fencing and cost the
    whole assignment.

    Required: a commit that fails in a cooperative round does not lose retained partitions; the
    late commit is retried in the new generation.
    """
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        kept = member.claim(0)
        await another_waits(on, member)
        held = on.answers.hold_request(OffsetCommitRequest)
        outcomes = []

        async def commit() -> None:
            outcomes.append(await member.backend.commit({kept: offset(5)}))

        tasks.start_soon(commit)
        await until(lambda: held.asked, 1.0, "the commit is on its way")
        on.peers.give_up()
        await until(lambda: on.group.generation == 2, 1.0, "the round ends before it arrives")
        held.release()
        await until(lambda: outcomes, 30.0, "the outcome")
        assert outcomes[0].ok
        assert on.committing() == [1, 2]
        assert on.committed(kept.tp) == 5
        assert kept in member.backend.membership.claims
        assert member.application.of_kind(ChangeKind.LOST, ChangeKind.REVOKED) == []


# -- 23 ----------------------------------------------------------------------------------------


async def stable(on: Scene) -> Member:
    return await on.joined()


async def joining(on: Scene) -> Member:
    member = await on.joined()
    await another_waits(on, member)
    return member


async def syncing(on: Scene) -> Member:
    member = await on.joined()
    on.answers.lose(SyncGroupRequest, times=None)
    on.group.rebalance()
    await member.reaches(MemberState.SYNCING)
    return member


async def backing_off(on: Scene) -> Member:
    member = await on.joined()
    on.refuse(JoinGroupRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    on.group.rebalance()
    await member.reaches(MemberState.BACKING_OFF)
    return member


async def preparing(on: Scene) -> Member:
    """Eager, with a batch in hand that holds the hand-back up."""
    member = await on.joined(settings("range"))
    member.backend.taken(member.claim(0))
    on.group.rebalance()
    await member.reaches(MemberState.PREPARING)
    return member


PLACES = [stable, joining, syncing, backing_off]


@pytest.mark.parametrize("place", PLACES)
async def test_23_a_member_that_is_not_polled_loses_its_partitions_in_any_state(
    place: Callable[[Scene], Awaitable[Member]],
) -> None:
    """librdkafka PR#5604: "lost" was reported as "revoked" when max.poll expired in a rebalance.

    Required: on_lost is called if ownership ended without the coordinator's consent.
    """
    async with scene() as on:
        member = await place(on)
        member.application.polls = False
        await member.reaches(MemberState.DORMANT, within=2 * REBALANCE)
        await anyio.sleep(1.0)
        ended = member.application.of_kind(ChangeKind.LOST, ChangeKind.REVOKED)
        assert [each.change.kind for each in ended] == [ChangeKind.LOST]
        assert {claim.tp for claim in ended[0].change.removed} == partitions(0, 1, 2, 3)


async def test_23_a_batch_in_hand_beyond_the_session_is_lost_not_revoked() -> None:
    """librdkafka PR#5604, for a round that waits for a batch and a coordinator that is gone."""
    async with scene() as on:
        member = await preparing(on)
        on.go_down()
        await until(lambda: not claims_of(member), 2 * SESSION, "the session is over")
        await anyio.sleep(0.1)
        (ended,) = member.application.of_kind(ChangeKind.LOST, ChangeKind.REVOKED)
        assert ended.change.kind is ChangeKind.LOST


@pytest.mark.parametrize("place", PLACES)
async def test_23_partitions_given_up_by_the_application_are_revoked_in_any_state(
    place: Callable[[Scene], Awaitable[Member]],
) -> None:
    """librdkafka PR#5604. Required: on_lost is called only if consent was missing."""
    async with scene() as on:
        member = await place(on)
        member.backend.subscribe(None)
        await until(lambda: not claims_of(member), 30.0, "all is given up")
        (ended,) = member.application.of_kind(ChangeKind.LOST, ChangeKind.REVOKED)
        assert ended.change.kind is ChangeKind.REVOKED


# -- 26 ----------------------------------------------------------------------------------------


async def test_26_a_restart_gives_the_same_partitions_and_an_impostor_fences_the_older() -> None:
    """franz-go#931, #837: a static member was fenced, or had the wrong id, after a restart.

    Required: a restart with the same instance id gives the same partitions without a rebalance;
    an impostor makes the older one raise FencedError.
    """
    async with scene() as on:
        first = await on.joined(settings(group_instance_id="a"))
        other = await on.joined(settings(group_instance_id="b"))
        await until(lambda: len(claims_of(first)) == 2, 60.0, "both own their share")
        held, generation, changes = (
            claims_of(first),
            on.group.generation,
            len(other.application.heard),
        )
        for _ in range(3):
            await first.backend.leave(Leave.DEFAULT, "restarting", timeout=5.0)
            first = await on.joined(settings(group_instance_id="a"))
            assert claims_of(first) == held
        impostor = await on.joined(settings(group_instance_id="a"))
        await first.ends(2 * HEARTBEAT)
        assert isinstance(first.error, FencedError)
        assert "'a'" in str(first.error)
        assert claims_of(impostor) == held
        assert on.group.generation == generation
        assert len(other.application.heard) == changes


# -- 27 ----------------------------------------------------------------------------------------


FATAL = [
    (ApiKey.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.HEARTBEAT, ErrorCode.ILLEGAL_GENERATION),
    (ApiKey.OFFSET_COMMIT, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.OFFSET_COMMIT, ErrorCode.ILLEGAL_GENERATION),
    (ApiKey.OFFSET_COMMIT, ErrorCode.GROUP_ID_NOT_FOUND),
    (ApiKey.SYNC_GROUP, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.SYNC_GROUP, ErrorCode.ILLEGAL_GENERATION),
]

REQUESTS: dict[ApiKey, type[Request[Message]]] = {
    ApiKey.HEARTBEAT: HeartbeatRequest,
    ApiKey.OFFSET_COMMIT: OffsetCommitRequest,
    ApiKey.SYNC_GROUP: SyncGroupRequest,
}


@pytest.mark.parametrize(("api", "code"), FATAL)
async def test_27_a_fatal_member_error_on_any_request_triggers_the_rejoin_at_once(
    api: ApiKey, code: ErrorCode
) -> None:
    """franz-go PR#1326: a commit's fatal member error did not trigger the rejoin; stale claims and
    two owners followed.

    Required: a fatal member error on heartbeat, commit or sync triggers the rejoin within 100 ms.
    """
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        claim = member.claim(0)
        on.answers.error(REQUESTS[api], code)
        if api is ApiKey.OFFSET_COMMIT:
            tasks.start_soon(member.backend.commit, {claim: offset(5)})
        if api is ApiKey.SYNC_GROUP:
            member.backend.enforce_rebalance("the test wants a round")
        lost = lambda: member.application.of_kind(ChangeKind.LOST)  # noqa: E731
        await until(lost, 2 * HEARTBEAT, "the loss")
        await anyio.sleep(AT_ONCE)
        answered_at = lost()[0].heard_at
        rejoins = [seen for seen in on.seen(JoinGroupRequest) if seen.at >= answered_at]
        assert rejoins
        assert rejoins[0].at - answered_at <= AT_ONCE
        await member.owns(partitions(0, 1, 2, 3))
        assert claim not in member.backend.membership.claims, "a new period of ownership"


# -- 30 ----------------------------------------------------------------------------------------


async def pending(on: Scene) -> Member:
    """A newcomer that was given its id and waits in its first JoinGroup."""
    member = await on.member()
    await until(lambda: len(joins(on)) == 2, 10.0, "the second JoinGroup")
    return member


@pytest.mark.parametrize("place", [joining, syncing, pending])
async def test_30_closing_in_the_middle_of_a_round_leaves_the_group(
    place: Callable[[Scene], Awaitable[Member]],
) -> None:
    """scality/backbeat#2819: SIGTERM in the middle of a rebalance never left, and the group waited
    for the session timeout.

    Required: close() during join or sync sends LeaveGroup for the known member id, pending ones
    included.
    """
    async with scene(brokers_settings=replace(PATIENT, initial_rebalance_delay=3.0)) as on:
        member = await place(on)
        known = {join.member_id for join in joins(on)} - {""}
        before = anyio.current_time()
        await member.backend.leave(Leave.DEFAULT, "closing", timeout=5.0)
        assert anyio.current_time() - before < 1.0
        (seen,) = on.seen(LeaveGroupRequest)
        assert isinstance(seen.request, LeaveGroupRequest)
        assert {row.member_id for row in seen.request.members} == known
        assert known.isdisjoint(each.member_id for each in on.group.members)
