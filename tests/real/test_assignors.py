"""Assignors of one's own divide groups on real brokers; when one fails, the group outlives it.

A round that cannot be assigned ends before SyncGroup. The leader says why, stays a member, and
has it tried again; the others wait for it. Nobody is thrown out, and nobody's reading stops in a
cooperative group: what they hold is theirs until it is revoked.
"""

import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import anyio
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from docs.examples.assignors.grace import GraceAssignor
from docs.examples.assignors.weighted import WeightedAssignor
from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription, RebalanceProtocol
from kgroup.errors import AssignorError, ConfigError
from kgroup.testing.kafka import RealKafka
from kgroup.types import Cause, ChangeKind
from tests.real.ground import eventually, fresh, lay_ground
from tests.real.members import CROSSED, Group, Member, group_on
from tests.real.switched import Mode, SwitchedAssignor

pytestmark = pytest.mark.real


SESSION = 2.0
"""Seconds; rounds fail for longer, so that a member without heartbeats is thrown out meanwhile."""

PLUG_IN = """\
from kgroup.assignors import RebalanceProtocol


class LastComesFirst:
    name = "last-comes-first"
    supported_protocols = (RebalanceProtocol.EAGER,)

    def assign(self, group):
        draft = group.draft()
        for number, partition in enumerate(group.partitions):
            able = group.subscribers(partition.topic)[::-1]
            draft.give(partition, to=able[number % len(able)])
        return draft.freeze()
"""


def install(site: Path, name: str, target: str, source: str) -> None:
    """Lay out what an installed distribution with one plug-in leaves in a folder."""
    (site / "kgroup_plug_in.py").write_text(source)
    about = site / "kgroup_plug_in-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kgroup-plug-in\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[kgroup.assignors]\n{name} = {target}\n")


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_an_installed_assignor_is_chosen_by_its_name(
    kafka: RealKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry point of the group `kgroup.assignors`; a built-in one may stand beside it."""
    site = tmp_path / "site"
    site.mkdir()
    install(site, "last-comes-first", "kgroup_plug_in:LastComesFirst", PLUG_IN)
    monkeypatch.syspath_prepend(site)
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, assignors=("last-comes-first", "range")) as group:
        await group.join("m1")
        await group.join("m2")
        await group.settled(2, 2)
        assert {m.consumer.membership.assignor for m in group.members} == {"last-comes-first"}
        first = max(group.members, key=lambda member: member.member_id)
        assert {tp.partition for tp in first.owned} == {0, 2}
        await ground.fill(10)
        await group.all_read()
        with pytest.raises(ConfigError, match=r"'last-comes-first' \(kgroup-plug-in 1\.2\)"):
            await group.join("m3", assignors=("last-comes",))
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated) == (0, 0)


# -- when it fails ------------------------------------------------------------------------------


async def outlived(
    group: Group, own: SwitchedAssignor, mode: Mode, offence: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Have rounds fail for longer than a session, then work again without any help.

    The newcomer that begins the first of these rounds gets nothing as long as they fail.
    """
    old = list(group.members)
    ids = {member.member_id for member in old}
    leader = next(member for member in old if member.consumer.membership.leader)
    with caplog.at_level(logging.WARNING, "kgroup.backends.classic.effects"):
        own.mode = mode
        new = await group.join("newcomer")
        await eventually(lambda: offence in caplog.text, "the leader says what is wrong")
        runs = own.runs
        await anyio.sleep(SESSION * 1.25)
    assert caplog.text.count("nothing was sent, the round is repeated") == 1, "said once"
    assert isinstance(trouble_of(leader), AssignorError)
    assert offence in str(trouble_of(leader))
    assert own.runs > runs, "it is tried again"
    assert not new.owned
    own.mode = Mode.WELL
    await group.settled(2, 2, 2)
    assert trouble_of(leader) is None
    assert {member.member_id for member in old} == ids
    assert [member.took(ChangeKind.LOST) for member in group.members] == [[], [], []]


def trouble_of(member: Member) -> Exception | None:
    return member.consumer.membership.trouble


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_eager_group_outlives_an_assignor_that_raises_for_a_while(
    kafka: RealKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Everything was handed back for the round, so nothing is read until one succeeds."""
    own, ground = SwitchedAssignor("sticky"), await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path, assignors=(own,), session_timeout=SESSION) as group:
        await group.join("m1")
        await group.join("m2")
        await group.settled(3, 3)
        await ground.fill(10)
        offence = "assignor 'switched' raised ZeroDivisionError"
        await outlived(group, own, Mode.RAISES, offence, caplog)
        await group.all_read()
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated) == (0, 0)


@pytest.mark.parametrize(
    ("kafka", "mode", "offence", "anyio_backend"),
    [
        ("4.3.1", Mode.FORGETS_A_PARTITION, "nobody", "trio"),
        ("3.9.1", Mode.HANDS_OVER_TOO_EARLY, "has to withhold", "asyncio"),
    ],
    indirect=["kafka"],
)
async def test_a_cooperative_group_reads_on_while_its_assignor_fails(
    kafka: RealKafka,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    mode: Mode,
    offence: str,
) -> None:
    """What members hold is theirs until it is revoked, whatever becomes of the round."""
    own, ground = SwitchedAssignor(), await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path, assignors=(own,), session_timeout=SESSION) as group:
        await group.join("m1")
        await group.join("m2")
        await group.settled(3, 3)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            await outlived(group, own, mode, offence, caplog)
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read()
        await group.end()
    found = await group.verdict()
    assert (found.total.lost, found.total.duplicated, found.total.two_owners) == (0, 0, 0)
    assert max(row.silence or 0.0 for row in found.partitions) < SESSION


@CROSSED
async def test_an_eager_leader_hands_nothing_over_that_a_cooperative_member_holds(
    kafka: RealKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """KIP-429, in the middle of the second restart: the leader lists an eager assignor too, the
    others do not. What the chosen one may do wrong is looked for whatever the leader itself is."""
    own, ground = SwitchedAssignor(), await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path, assignors=(own,)) as group:
        leader = await group.join("eager", assignors=(own, "range"))
        await group.settled(6)
        kept = await group.join("cooperative")
        await group.settled(3, 3)
        await group.steady()
        before = frozenset(kept.consumer.membership.claims)
        own.mode = Mode.HANDS_OVER_TOO_EARLY
        leader.consumer.enforce_rebalance("the test wants a round")
        await eventually(lambda: "has to withhold" in caplog.text, "the round fails")
        assert frozenset(kept.consumer.membership.claims) == before
        own.mode = Mode.WELL
        await group.settled(3, 3)
        assert frozenset(kept.consumer.membership.claims) == before
        await group.end()


# -- what travels with an assignment, and rounds that it asks for ------------------------------


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_what_a_member_leaves_behind_waits_for_its_successor_and_then_for_nobody(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """The example with a grace period: the memory is with the members, for the leader left; and
    the round that ends the wait begins by itself (`rejoin_after`)."""
    ground, grace = await lay_ground(kafka, 6), 3.0
    async with group_on(ground, tmp_path, assignors=(GraceAssignor(grace),)) as group:
        first = await group.join("m1")
        await group.settled(6)
        others = [await group.join("m2"), await group.join("m3")]
        await group.settled(2, 2, 2)
        await ground.fill(10)
        await group.all_read()
        left, kept = first.owned, [frozenset(m.consumer.membership.claims) for m in others]
        assert first.consumer.membership.leader
        await group.leave(first)
        await in_another_round(others)
        heir = await group.join("m4")
        await group.settled(2, 2, 2)
        assert heir.owned == left
        assert [frozenset(m.consumer.membership.claims) for m in others] == kept
        went = anyio.current_time()
        await group.leave(heir)
        await group.settled(3, 3)
        assert grace - 1.0 < anyio.current_time() - went < grace + 3.0
        assert Cause.REJOIN_DUE in {m.consumer.membership.cause for m in others}
        await ground.fill(10)
        await group.all_read(first, heir)
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated) == (0, 0)


async def in_another_round(members: Sequence[Member]) -> None:
    """Wait until members have gone through a round, all the same one."""
    before = {member.generation_id for member in members}

    def is_so() -> bool:
        now = {member.generation_id for member in members}
        return len(now) == 1 and now.isdisjoint(before) and all(m.knows_its_round for m in members)

    await eventually(is_so, "there is a new generation")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_members_say_what_they_can_bear_and_get_as_much(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """The example with capacities: each member's user data reaches the leader."""
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path) as group:
        await group.join("large", assignors=(WeightedAssignor(4),))
        small = [await group.join(f"m{n}", assignors=(WeightedAssignor(1),)) for n in (1, 2)]
        await group.settled(1, 1, 4)
        assert [len(member.owned) for member in small] == [1, 1]
        await ground.fill(10)
        await group.all_read()
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


# -- assignors large ------------------------------------------------------------------------------
#
# A group whose members say so much that dividing it is work: that stops no member.
#
# The leader's assignor runs off the event loop when there is much to divide, so its heartbeats go
# on, and so does its reading, even when dividing takes longer than a session.


TOPICS, EACH = 80, 2
"""Few partitions, for making and removing thousands keeps the broker from the tests to come; but
with names as long as they may be, so that what members say of them is much to read."""

SESSION, THINKING = 3.0, 3.5


class Thoughtful:
    """Divides like `cooperative-sticky`, after it has computed for seconds if it is asked to."""

    name: ClassVar[str] = "thoughtful"
    supported_protocols: ClassVar[Sequence[RebalanceProtocol]] = (RebalanceProtocol.COOPERATIVE,)

    def __init__(self) -> None:
        self.thinking = 0.0
        self.thought: list[tuple[float, float]] = []

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        began, until = time.monotonic(), time.monotonic() + self.thinking
        while time.monotonic() < until:
            sum(range(1000))
        self.thought.append((began, time.monotonic()))
        return BUILT_IN["cooperative-sticky"].assign(group)


@asynccontextmanager
async def many_topics(kafka: RealKafka) -> AsyncIterator[list[str]]:
    """Have topics with long names for one block."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    names = [f"{fresh('many')}-{'x' * 230}" for _ in range(TOPICS)]

    def make() -> None:
        for made in admin.create_topics([NewTopic(name, EACH, 1) for name in names]).values():
            made.result(20)

    def remove() -> None:
        for removed in admin.delete_topics(names).values():
            removed.result(20)

    await anyio.to_thread.run_sync(make)
    try:
        yield names
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_leader_that_divides_for_longer_than_a_session_stays_and_reads_on(
    kafka: RealKafka, tmp_path: Path
) -> None:
    own, ground = Thoughtful(), await lay_ground(kafka, 1)
    async with (
        many_topics(kafka) as names,
        group_on(ground, tmp_path, assignors=(own,), session_timeout=SESSION) as group,
    ):
        topics = (ground.topic, *names)
        leader = await group.join("leader", topics=topics)
        await eventually(lambda: len(leader.owned) == TOPICS * EACH + 1, "it owns everything")
        member_id = leader.member_id
        own.thinking = THINKING
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            other = await group.join("other", topics=topics)
            await eventually(lambda: own.thought[-1][1] - own.thought[-1][0] > THINKING, "thinking")
            own.thinking = 0.0
            await eventually(lambda: halves(leader, other), "each owns its half")
            tasks.cancel_scope.cancel()
        assert leader.member_id == member_id
        assert leader.took(ChangeKind.LOST) == other.took(ChangeKind.LOST) == []
        began, ended = max(own.thought, key=lambda span: span[1] - span[0])
        read_at = [began, *(read.at for read in leader.reads if began < read.at < ended), ended]
        assert longest_pause(read_at) < SESSION / 2
        await group.end()


def halves(*members: Member) -> bool:
    """Tell whether members own everything, each as much as the other, give or take one."""
    sizes = [len(member.owned) for member in members]
    return sum(sizes) == TOPICS * EACH + 1 and max(sizes) - min(sizes) <= 1


def longest_pause(times: Sequence[float]) -> float:
    return max(after - before for before, after in pairwise(times))
