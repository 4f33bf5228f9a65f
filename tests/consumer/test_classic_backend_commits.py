"""The commit queue of a member: one request in flight, in order, never under an old claim."""

from collections.abc import Callable, Mapping

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ErrorCode
from kgroup.journal import CommitStage, CommitStep, JoinIssued
from kgroup.types import (
    ChangeKind,
    Claim,
    CommitOutcome,
    CommitStatus,
    OffsetAndMetadata,
    OwnershipChange,
    TopicPartition,
)
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.consumer.scene import HEARTBEAT, TOPIC, Member, Scene, scene
from tests.contracts.application import until


def offsets(*pairs: tuple[Claim, int]) -> Mapping[Claim, OffsetAndMetadata]:
    return {claim: OffsetAndMetadata(offset) for claim, offset in pairs}


def sent(on: Scene) -> list[dict[int, int]]:
    """Every OffsetCommit that arrived, as partition -> offset."""
    return [
        {row.partition_index: row.committed_offset for row in seen.request.topics[0].partitions}
        for seen in on.seen(OffsetCommitRequest)
        if isinstance(seen.request, OffsetCommitRequest)
    ]


class Asked:
    """Commits begun one after the other, what came of each, and when."""

    def __init__(self, member: Member, tasks: TaskGroup) -> None:
        self.outcomes: dict[str, CommitOutcome] = {}
        self._heard_at: dict[str, float] = {}
        self._begun: list[str] = []
        self._member = member
        self._tasks = tasks

    async def begin(self, name: str, *pairs: tuple[Claim, int]) -> None:
        self._begun.append(name)
        self._tasks.start_soon(self._one, name, pairs)
        await anyio.sleep(0.001)

    async def _one(self, name: str, pairs: tuple[tuple[Claim, int], ...]) -> None:
        self.outcomes[name] = await self._member.backend.commit(offsets(*pairs))
        self._heard_at[name] = anyio.current_time()

    async def all_done(self) -> None:
        await until(lambda: len(self.outcomes) == len(self._begun), 60.0, "all outcomes")

    def ok(self) -> list[bool]:
        """Tell which were committed, in the order they were begun."""
        return [self.outcomes[name].ok for name in self._begun]

    def status(self, name: str) -> CommitStatus:
        """Return the status of a commit of one partition."""
        (outcome,) = self.outcomes[name].partitions.values()
        return outcome.status

    def heard_in_order(self) -> bool:
        """Tell whether outcomes came in the order in which they were asked for."""
        times = [self._heard_at[name] for name in self._begun]
        return times == sorted(times)


async def test_one_commit_is_in_flight_and_waiting_commits_share_the_next() -> None:
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        held = on.answers.hold(OffsetCommitRequest)
        asked = Asked(member, tasks)
        for number in range(1, 6):
            await asked.begin(str(number), (member.claim(0), number), (member.claim(number % 2), 9))
        assert len(sent(on)) == 1
        held.release()
        await asked.all_done()
        assert sent(on) == [{0: 1, 1: 9}, {0: 5, 1: 9}]
        assert asked.heard_in_order()
        assert asked.ok() == [True] * 5


def slow_partition(
    number: int, tries: int
) -> Callable[[OffsetCommitRequest, OffsetCommitResponse], OffsetCommitResponse]:
    """Apply everything but one partition, which takes so many tries."""
    left = tries

    def answer(request: OffsetCommitRequest, _: OffsetCommitResponse) -> OffsetCommitResponse:
        nonlocal left
        left -= 1
        rows = tuple(
            OffsetCommitResponsePartition(
                partition_index=row.partition_index,
                error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                if row.partition_index == number and left > 0
                else ErrorCode.NONE,
            )
            for row in request.topics[0].partitions
        )
        return OffsetCommitResponse(
            topics=(OffsetCommitResponseTopic(name=TOPIC, partitions=rows),)
        )

    return answer


async def test_callers_hear_in_order_although_the_first_has_to_wait_for_another_try() -> None:
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        on.answers.rewrite(OffsetCommitRequest, slow_partition(1, tries=4), times=None)
        asked = Asked(member, tasks)
        await asked.begin("first", (member.claim(0), 1), (member.claim(1), 1))
        await asked.begin("second", (member.claim(0), 2))
        await asked.begin("refused at once", (Claim(TopicPartition(TOPIC, 3), 99), 3))
        await asked.all_done()
        assert sent(on) == [{0: 1, 1: 1}, {0: 2, 1: 1}, {1: 1}, {1: 1}]
        assert asked.heard_in_order()
        assert asked.ok() == [True, True, False]


async def test_a_commit_waits_for_the_coordinator_while_its_claim_holds() -> None:
    async with scene(2) as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        claim = member.claim(0)
        on.group.move_to(2)
        await anyio.sleep(HEARTBEAT)
        asked = Asked(member, tasks)
        await asked.begin("moved", (claim, 7))
        await asked.all_done()
        assert all(asked.ok())
        assert on.committed(claim.tp) == 7


async def test_text_and_leader_epoch_survive() -> None:
    async with scene() as on:
        member = await on.joined()
        claim = member.claim(0)
        position = OffsetAndMetadata(7, "from here", 3)
        assert (await member.backend.commit({claim: position})).ok
        read = await member.backend.committed({claim.tp}, timeout=5.0)
        assert read == {claim.tp: position}


async def test_an_unanswered_commit_fails_before_the_join_that_gives_its_partition_up() -> None:
    """1. on_revoked asks for a commit, and waits for it no longer; 2. the coordinator takes none
    as yet: it waits for another try; 3. JoinGroup leaves. No later answer may tell of it."""
    async with scene() as on, anyio.create_task_group() as tasks:

        async def asks(change: OwnershipChange) -> None:
            if change.kind is ChangeKind.REVOKED:
                asked = Asked(member, tasks)
                await asked.begin("of what goes", *((claim, 5) for claim in change.removed))

        member = await on.joined(listener=asks)
        on.refuse(OffsetCommitRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        on.peers.add("other", "t")
        await until(lambda: on.peers.given("other"), 60.0, "the other is given something")
        steps = [each for each in member.sink.events if isinstance(each, (CommitStep, JoinIssued))]
        gone = {each.claim for each in steps if isinstance(each, CommitStep)}
        assert len(gone) == 2
        gives_up = next(
            number
            for number, each in enumerate(steps)
            if isinstance(each, JoinIssued) and len(each.owned) == 2
        )
        ended = [each for each in steps[:gives_up] if isinstance(each, CommitStep)]
        assert {each.claim for each in ended if each.stage is CommitStage.ERROR} == gone


async def status(member: Member, claim: Claim, offset: int) -> CommitStatus:
    outcome = await member.backend.commit(offsets((claim, offset)))
    return outcome.partitions[claim.tp].status


async def test_a_commit_in_flight_when_its_member_ends_is_unknown_and_others_are_refused() -> None:
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        on.answers.hold(OffsetCommitRequest)
        asked = Asked(member, tasks)
        await asked.begin("in flight", (member.claim(0), 1))
        await asked.begin("waiting", (member.claim(0), 2))
        claim = member.claim(0)
        member.scope.cancel()
        await asked.all_done()
        assert asked.status("in flight") is CommitStatus.UNKNOWN
        assert asked.status("waiting") is CommitStatus.REFUSED
        assert await status(member, claim, 3) is CommitStatus.REFUSED


async def test_a_commit_whose_claim_ends_while_it_waits_is_refused_and_not_sent() -> None:
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        claim = member.claim(0)
        on.refuse(FindCoordinatorRequest, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        on.answers.error(HeartbeatRequest, ErrorCode.NOT_COORDINATOR)
        await until(lambda: member.backend.membership.coordinator is None, 10.0, "no coordinator")
        asked = Asked(member, tasks)
        await asked.begin("too late", (claim, 7))
        await until(lambda: not member.backend.membership.claims, 15.0, "all is lost")
        await asked.all_done()
        assert asked.status("too late") is CommitStatus.REFUSED
        assert sent(on) == []
