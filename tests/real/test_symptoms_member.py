"""Named symptoms of other clients that concern a member, on real brokers.

Each docstring names the report and what is required. The same requirements are tested answer by
answer in `tests/consumer/test_classic_backend_symptoms.py`; here the broker decides what it says.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription
from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import CommitFailedError
from kgroup.journal import AnswerReceived, Event, JoinIssued, MemorySink
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.types import Cause, ChangeKind, MemberState, OffsetAndMetadata, RebalanceProtocol
from tests.real.ground import describe, eventually, lay_ground
from tests.real.members import BOTH, ENDING, Group, Member, group_on
from tests.real.straggler import Straggler, evict

pytestmark = pytest.mark.real

AT_ONCE = 0.1
"""Seconds."""


class Stamped(MemorySink):
    """A sink that also keeps when each event came."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        super().__init__()
        self.at: list[float] = []

    def emit(self, event: Event) -> None:
        super().emit(event)
        self.at.append(time.monotonic())

    def first(self, what: Callable[[Event], bool], since: float = 0.0) -> float | None:
        """Return when the first event of a kind came."""
        found = zip(self.events, self.at, strict=True)
        return next((at for event, at in found if at >= since and what(event)), None)


async def commit_on(member: Member, outcomes: list[bool]) -> None:
    """Commit everything that is owned, again and again, without a pause."""
    while True:
        offsets = {tp: OffsetAndMetadata(0) for tp in member.owned}
        try:
            outcomes.append((await member.consumer.commit(offsets)).ok)
        except CommitFailedError as error:
            # A partition that has moved meanwhile cannot be committed any more; kept ones must.
            outcomes.append(not set(error.outcome.failed()) & member.owned)
        await anyio.sleep(0.005)


# -- 6, 13, 17 ----------------------------------------------------------------------------------


async def test_6_members_that_commit_all_the_time_are_never_reset_by_rounds(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """aiokafka#727, #747: endless rebalances under load, because UNKNOWN_MEMBER_ID on a commit
    during a rejoin reset the generation of the new join.

    Required: a response carrying generation g never changes the state of a member at g+1.
    """
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        one, two = await group.join("m1"), await group.join("m2")
        await group.settled(3, 3)
        ids = [member.member_id for member in (one, two)]
        outcomes: list[bool] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(commit_on, one, outcomes)
            tasks.start_soon(commit_on, two, outcomes)
            for number in range(3):
                passing = await group.join(f"passing-{number}")
                await group.settled(2, 2, 2)
                await group.leave(passing)
                await group.settled(3, 3)
            tasks.cancel_scope.cancel()
        assert [member.member_id for member in (one, two)] == ids
        assert one.took(ChangeKind.LOST) == two.took(ChangeKind.LOST) == []
        assert outcomes
        assert all(outcomes)
        # Each change of the group takes two rounds at most.
        assert one.consumer.rebalances <= 2 + 2 * 2 * 3 + 2


@BOTH
async def test_13_rounds_keep_member_id_and_count_generations_up(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """kafka-python#2610, PR#2614, PR#2623: the generation was lost on REBALANCE_IN_PROGRESS.

    Required: REBALANCE_IN_PROGRESS keeps member id and generation.
    """
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path) as group:
        one, two = await group.join("m1"), await group.join("m2")
        await group.settled(2, 2)
        await group.steady()
        before = [(m.member_id, m.owned, m.took(*ENDING)) for m in (one, two)]
        for _ in range(4):
            generation, rounds = one.generation_id, two.consumer.rebalances
            assert generation is not None
            one.consumer.enforce_rebalance("the test wants a round")
            await eventually(lambda: two.consumer.rebalances > rounds, "two hears of it")  # noqa: B023
            await group.settled(2, 2)
            assert one.generation_id is not None
            assert one.generation_id > generation
        assert [(m.member_id, m.owned, m.took(*ENDING)) for m in (one, two)] == before


@BOTH
async def test_17_commits_through_a_cooperative_round_lose_nothing_that_is_kept(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """librdkafka#4059, PR#4908: ILLEGAL_GENERATION on a commit cost the whole assignment.

    Required: a commit that fails in a cooperative round does not lose retained partitions; the
    late commit is retried in the new generation.
    """
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        member = await group.join("m1")
        await group.settled(6)
        first = {claim.tp: claim for claim in member.consumer.membership.claims}
        outcomes: list[bool] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(commit_on, member, outcomes)
            await group.join("m2")
            await group.settled(3, 3)
            for _ in range(3):
                before = member.consumer.rebalances
                member.consumer.enforce_rebalance("the test wants a round")
                await eventually(lambda: member.consumer.rebalances > before, "a round")  # noqa: B023
            await group.settled(3, 3)
            tasks.cancel_scope.cancel()
        assert outcomes
        assert all(outcomes)
        kept = {claim.tp: claim for claim in member.consumer.membership.claims}
        assert kept.items() <= first.items(), "each is still in its first period of ownership"
        assert member.took(ChangeKind.LOST) == []


# -- 23 -----------------------------------------------------------------------------------------


class Idle:
    """Work of a member that reads until it is asked to stop, and then only waits."""

    def __init__(self) -> None:
        self.stop = anyio.Event()
        self.over = anyio.Event()

    async def work(self, member: Member) -> None:
        while not self.stop.is_set():
            for batch in (await member.consumer.getmany(timeout=0.1)).values():
                member.take(batch)
        await self.over.wait()


async def test_23_an_application_that_stops_reading_in_a_round_loses_its_partitions(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """librdkafka PR#5604: "lost" was reported as "revoked" when max.poll expired in a rebalance.

    Required: on_lost is called exactly if ownership ended without the broker's consent.
    """
    ground = await lay_ground(kafka, 4)
    claim_log = Idle()
    async with (
        group_on(ground, tmp_path, max_poll_interval=3.0) as group,
        Straggler(kafka, group.name) as straggler,
    ):
        member = await group.join("m1", claim_log.work)
        await group.settled(4)
        await straggler.take_part()
        await eventually(lambda: member.is_in(MemberState.STABLE), "the round is over")
        assert member.took(*ENDING) == []
        claim_log.stop.set()
        await anyio.sleep(1.5)
        member.consumer.enforce_rebalance("a round that the straggler holds up")
        await eventually(lambda: member.is_in(MemberState.JOINING), "it waits in the round")
        await eventually(lambda: member.took(*ENDING), "its partitions end")
        assert member.took(*ENDING) == [ChangeKind.LOST]
        assert member.changes[-1].cause is Cause.POLL_TIMEOUT
        assert len(member.changes[-1].removed) == 4
        claim_log.over.set()


async def test_23_what_moves_in_a_round_is_revoked_and_never_lost(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """librdkafka PR#5604, the other way round: with the broker's consent nothing is lost."""
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path) as group:
        member = await group.join("m1")
        await group.settled(4)
        other = await group.join("m2")
        await group.settled(2, 2)
        member.consumer.unsubscribe()
        await eventually(lambda: not member.owned, "everything is given up")
        assert member.took(*ENDING) == [ChangeKind.REVOKED, ChangeKind.REVOKED]
        assert other.took(*ENDING) == []


# -- 27 -----------------------------------------------------------------------------------------


def said(api: ApiKey, code: ErrorCode) -> Callable[[Event], bool]:
    def matches(event: Event) -> bool:
        return isinstance(event, AnswerReceived) and (event.api, event.error) == (api, code)

    return matches


def joins(event: Event) -> bool:
    return isinstance(event, JoinIssued)


class Evicting:
    """An assignor during whose first run in a second round its own member is thrown out."""

    name = "range"
    supported_protocols: Sequence[RebalanceProtocol] = (RebalanceProtocol.EAGER,)

    def __init__(self, throw_out: Callable[[str], None]) -> None:
        self._throw_out = throw_out
        self.runs = 0

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        self.runs += 1
        if self.runs == 2:
            self._throw_out(group.members[0].member_id)
        return BUILT_IN["range"].assign(group)


async def thrown_out(kafka: RealKafka, group: Group, member: Member) -> None:
    address = parse_bootstrap(kafka.bootstrap)[0]
    await anyio.to_thread.run_sync(evict, address, group.name, member.member_id)


async def rejoined_at_once(sink: Stamped, answered_at: float | None) -> None:
    assert answered_at is not None, "the error that was provoked has come"
    await eventually(lambda: sink.first(joins, answered_at), "it joins again")
    joined_at = sink.first(joins, answered_at)
    assert joined_at is not None
    assert joined_at - answered_at < AT_ONCE


async def test_27_a_heartbeat_that_ends_the_membership_triggers_the_rejoin_at_once(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """franz-go PR#1326, v1.21.4: stale claims, two owners; the rejoin waited for a heartbeat.

    Required: a fatal member error on heartbeat, commit or sync triggers the rejoin in 100 ms.
    """
    ground = await lay_ground(kafka, 2)
    sink = Stamped()
    async with group_on(ground, tmp_path) as group:
        member = await group.join("m1", journal=sink)
        await group.settled(2)
        await thrown_out(kafka, group, member)
        await eventually(lambda: member.took(ChangeKind.LOST), "it hears of it")
        refusal = said(ApiKey.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await rejoined_at_once(sink, sink.first(refusal))
        await group.settled(2)


async def test_27_a_commit_that_ends_the_membership_triggers_the_rejoin_at_once(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """franz-go PR#1326: see above; the next heartbeat would be seconds away."""
    ground = await lay_ground(kafka, 2)
    sink = Stamped()
    async with group_on(
        ground, tmp_path, heartbeat_interval=2.0, enable_auto_commit=False
    ) as group:
        member = await group.join("m1", journal=sink)
        await group.settled(2)
        beats = lambda event: isinstance(event, AnswerReceived) and event.api == ApiKey.HEARTBEAT  # noqa: E731
        await eventually(lambda: sink.first(beats), "a heartbeat is answered")
        await thrown_out(kafka, group, member)
        with pytest.raises(CommitFailedError, match="UNKNOWN_MEMBER_ID"):
            await member.consumer.commit({ground.tp(0): OffsetAndMetadata(0)})
        answer = lambda e: isinstance(e, AnswerReceived) and e.api == ApiKey.OFFSET_COMMIT  # noqa: E731
        await rejoined_at_once(sink, sink.first(answer))
        await group.settled(2)


async def test_27_a_sync_that_ends_the_membership_triggers_the_rejoin_at_once(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """franz-go PR#1326: see above; the member is thrown out while it assigns."""
    ground = await lay_ground(kafka, 2)
    sink = Stamped()
    address = parse_bootstrap(kafka.bootstrap)[0]
    async with group_on(ground, tmp_path) as group:
        assignor = Evicting(partial(evict, address, group.name))
        member = await group.join("m1", journal=sink, assignors=(assignor,))
        await group.settled(2)
        member.consumer.enforce_rebalance("the test wants a round")
        refusal = said(ApiKey.SYNC_GROUP, ErrorCode.UNKNOWN_MEMBER_ID)
        await eventually(lambda: sink.first(refusal), "the sync is refused")
        await rejoined_at_once(sink, sink.first(refusal))
        await group.settled(2)
        assert assignor.runs == 3


# -- 30 -----------------------------------------------------------------------------------------


def has_two(kafka: RealKafka, group: Group) -> bool:
    """Tell whether the coordinator has had the JoinGroup of a second member."""
    return len(describe(kafka, group.name).members) == 2


async def members_known(kafka: RealKafka, group: Group) -> set[str]:
    known = await anyio.to_thread.run_sync(describe, kafka, group.name)
    return {row.member_id for row in known.members}


async def test_30_closing_while_joining_leaves_the_group(kafka: RealKafka, tmp_path: Path) -> None:
    """scality/backbeat#2819: SIGTERM in a rebalance never left; the group waited for the session.

    Required: close() during join or sync sends LeaveGroup for the known member id.
    """
    ground = await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path) as group, Straggler(kafka, group.name) as straggler:
        member = await group.join("m1")
        await group.settled(2)
        await straggler.take_part()
        await eventually(lambda: member.is_in(MemberState.STABLE), "the round is over")
        member.consumer.enforce_rebalance("a round that the straggler holds up")
        await eventually(lambda: member.is_in(MemberState.JOINING), "it waits in the round")
        began = time.monotonic()
        await group.leave(member)
        assert time.monotonic() - began < 2.0
        assert await members_known(kafka, group) == {straggler.member_id}


async def test_30_closing_a_newcomer_that_waits_for_its_first_round_leaves_the_group(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """scality/backbeat#2819, for a member that has nothing but its id (KIP-394)."""
    ground = await lay_ground(kafka, 2)
    sink = Stamped()
    async with group_on(ground, tmp_path) as group, Straggler(kafka, group.name) as straggler:
        await straggler.take_part()
        member = await group.join("m1", journal=sink)
        with_id = lambda event: isinstance(event, JoinIssued) and event.member_id is not None  # noqa: E731
        await eventually(lambda: sink.first(with_id), "it joins under its id")
        await eventually(lambda: has_two(kafka, group), "the coordinator has had that")
        await group.leave(member)
        assert await members_known(kafka, group) == {straggler.member_id}


async def test_30_closing_while_syncing_leaves_the_group(kafka: RealKafka, tmp_path: Path) -> None:
    """scality/backbeat#2819, for a member whose leader does not assign."""
    ground = await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path) as group, Straggler(kafka, group.name) as straggler:
        await straggler.take_part()
        member = await group.join("m1")
        await eventually(lambda: member.is_in(MemberState.JOINING), "it joins")
        await eventually(lambda: has_two(kafka, group), "the coordinator has had that")
        await straggler.join()
        await eventually(lambda: member.is_in(MemberState.SYNCING), "it waits for the leader")
        await group.leave(member)
        assert await members_known(kafka, group) == {straggler.member_id}
