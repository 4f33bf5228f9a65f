"""A group whose members are replaced one by one while records flow, and what it costs.

Decides: how long a partition had no owner, and how long nothing of it was read.
Never: tells a member anything but to come and to go.

One member of kgroup's own may stay throughout. It counts the generations, which nobody else tells.
What the others own is looked at every few ms; members of other libraries are asked themselves, at
every of their reads, so what is known of them is up to 0.1 s late.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from kgroup.types import TopicPartition
from tests.real.ground import committed, describe, eventually
from tests.real.members import Group, Member
from tests.real.peers import Peer

PARTITIONS = 6
ONE_REBALANCE = 5.0
"""Seconds a partition may be without an owner, or unread. Less than a session (6 s) after the last
of its heartbeats (every 0.3 s): members hear of a round that soon and go through it at once, so
what lasts longer is not one round but a member that was waited for."""

_LOOK_AGAIN = 0.02
_PATIENCE = 20.0

Make = Callable[[str], Peer]
"""Makes a member of another library, for a group."""


@dataclass
class Gaps:
    """How long something was away, and how often, for each partition.

    Args:
        since: partition -> when it went; only those that are away.
        longest: seconds.
        count: partition -> how often it went.
    """

    since: dict[TopicPartition, float] = field(default_factory=dict)
    longest: float = 0.0
    count: dict[TopicPartition, int] = field(default_factory=dict)

    def gone(self, tp: TopicPartition, now: float) -> None:
        if tp not in self.since:
            self.since[tp] = now
            self.count[tp] = self.count.get(tp, 0) + 1

    def back(self, tp: TopicPartition, now: float) -> None:
        if tp in self.since:
            self.longest = max(self.longest, now - self.since.pop(tp))

    def end(self, now: float) -> None:
        """Count what is still away up to now: nothing looks any more."""
        for tp in tuple(self.since):
            self.back(tp, now)

    @property
    def most(self) -> int:
        return max(self.count.values(), default=0)


class Rollout:
    """A group in which members come and go.

    Args:
        group: of kgroup's own members.
        tasks: owns the tasks of the others.
    """

    def __init__(self, group: Group, tasks: TaskGroup) -> None:
        self.group = group
        self.here: list[Peer | Member] = []
        self.everybody: list[Peer | Member] = []
        self.ownerless = Gaps()
        self.unread = Gaps()
        self._tasks = tasks
        self._read_up_to: dict[int, int] = {}

    # -- joining and leaving ---------------------------------------------------------------

    async def come(self, make: Make | None, label: str) -> Peer | Member:
        """Have a member join: another library's, or with None one of kgroup's own."""
        new: Peer | Member
        if make is None:
            new = await self.group.join(label)
        else:
            new = make(self.group.name)
            await self._tasks.start(new.run)
        self.here.append(new)
        self.everybody.append(new)
        return new

    async def go(self, old: Peer | Member) -> None:
        """Have a member leave the group, with everything it read committed."""
        if isinstance(old, Member):
            await self.group.leave(old)
        else:
            old.stop()
            await eventually(lambda: not old.owned, "it has given up what it had")
        self.here.remove(old)

    async def replace(self, old: Peer | Member, make: Make | None, label: str) -> Peer | Member:
        """Replace a member by another, which comes when the old one has gone."""
        await self.go(old)
        new = await self.come(make, label)
        await self.settled()
        return new

    async def there_and_back(
        self, old: Sequence[Peer | Member], new: Make | None, back: Make, assignor: str
    ) -> list[Peer | Member]:
        """Replace members by others, and those by what was there before, one by one.

        Args:
            old: the member that goes.
            new: what comes for them, None for members of kgroup's own.
            back: what comes for those.
            assignor: the one that must be in use in the middle and at the end.

        Returns:
            Those that came and went.
        """
        came = [await self.replace(each, new, f"ours-{n}") for n, each in enumerate(old)]
        assert await self.assignor_in_use() == assignor
        for each in came:
            await self.replace(each, back, "")
        assert await self.assignor_in_use() == assignor
        return came

    async def leave(self, *, in_rounds: bool = True) -> None:
        """Have everybody leave, once everything that was written is read.

        Args:
            in_rounds: whether those that stay take over each time, as from static members nobody
                does.
        """
        await self.group.ground.stored()
        await self.group.all_read(*self.everybody)
        while self.here:
            # A member closed in the middle of a round may leave without a commit: librdkafka did.
            if in_rounds:
                await self.settled()
            await self.go(self.here[0])

    async def settled(self) -> None:
        """Wait until all partitions are owned, evenly, and each new owner has read something."""
        size = PARTITIONS // len(self.here)

        def is_so() -> bool:
            owned = [tp for each in self.here for tp in each.owned]
            return (
                sorted(owned) == sorted(self.group.ground.all_partitions)
                and {len(each.owned) for each in self.here} == {size}
                and all(each.seen for each in self.here)
            )

        try:
            await eventually(is_so, f"each of {len(self.here)} members owns {size} partitions")
        except TimeoutError as error:
            error.add_note("\n".join(f"{each}: {sorted(each.owned)}" for each in self.here))
            raise

    async def quiet(self, counting: Member) -> int:
        """Wait until no generation has begun for a second; return the one that is on."""
        while True:
            before = counting.generation_id
            await anyio.sleep(1.0)
            await self.settled()
            if before is not None and before == counting.generation_id:
                return before

    async def assignor_in_use(self) -> str:
        """Ask the coordinator, until it finds the group in order.

        A leader that looks at its topics again may have begun one more round.
        """
        kafka, name = self.group.ground.kafka, self.group.name
        with anyio.fail_after(_PATIENCE):
            while True:
                found = await anyio.to_thread.run_sync(describe, kafka, name)
                if (found.group_state, len(found.members)) == ("Stable", len(self.here)):
                    return found.protocol_data
                await anyio.sleep(_LOOK_AGAIN)

    # -- what it costs ---------------------------------------------------------------------

    async def watch(self) -> None:
        """Look at what is owned and read, until cancelled.

        What nobody owns or reads by then counts, too, and so does what was never read.
        """
        for tp in self.group.ground.all_partitions:
            self.unread.gone(tp, time.monotonic())
        try:
            while True:
                self.look(time.monotonic())
                await anyio.sleep(_LOOK_AGAIN)
        finally:
            self.ownerless.end(time.monotonic())
            self.unread.end(time.monotonic())

    def look(self, now: float) -> None:
        """Note what is owned and read at an instant."""
        owned = frozenset().union(*(each.owned for each in self.here))
        fresh = self._read_since()
        for tp in self.group.ground.all_partitions:
            (self.ownerless.back if tp in owned else self.ownerless.gone)(tp, now)
            if tp in fresh:
                self.unread.back(tp, now)
                self.unread.gone(tp, now)  # the next record is 50 ms away

    def _read_since(self) -> set[TopicPartition]:
        """Return the partitions of which anything was read since the last look."""
        fresh: set[TopicPartition] = set()
        for number, each in enumerate(self.everybody):
            begun = self._read_up_to.get(number, 0)
            news = each.seen[begun:]
            self._read_up_to[number] = begun + len(news)
            fresh.update(tp for tp, _ in news)
        return fresh

    async def judge(
        self, *, at_most: int, generations: int | None = None, absences: int = 0
    ) -> None:
        """Judge the whole: no member refused, nothing lost, all committed, nothing away for long.

        A round takes a partition from its owner once at most.

        Args:
            at_most: how many generations there may be.
            generations: how many began while members were replaced; None when nobody counted.
            absences: how often a member was away without a round, as static ones are.
        """
        rounds = at_most if generations is None else generations
        ground = self.group.ground
        failures = [each.failure for each in self.everybody if isinstance(each, Member)]
        assert set(failures) <= {None}  # a peer's own ends the test as it comes
        seen = {place for each in self.everybody for place in each.seen}
        assert ground.expected() - seen == set()
        assert await anyio.to_thread.run_sync(committed, ground.kafka, self.group.name) == (
            ground.sent
        )
        assert rounds <= at_most
        assert self.ownerless.most <= rounds + absences
        longest = self.ownerless.longest, self.unread.longest
        assert max(longest) < ONE_REBALANCE, f"without an owner, unread: {longest} s"


@asynccontextmanager
async def rolling(
    group: Group, make: Make, *, static: bool = False
) -> AsyncIterator[tuple[Rollout, Member]]:
    """Have a group of two members of a kind and one of kgroup's own; records flow for one block.

    At the end of the block all has been read, and all have left.

    Args:
        group: without members.
        make: the members that are there first; the first of them leads.
        static: whether they are static, so that nobody takes over when one goes.
    """
    async with anyio.create_task_group() as tasks:
        rollout = Rollout(group, tasks)
        await _begin(rollout, make)
        await rollout.come(make, "")
        counting = await rollout.come(None, "counting")
        assert isinstance(counting, Member)
        async with anyio.create_task_group() as background:
            background.start_soon(group.ground.stream)
            await rollout.settled()
            await rollout.quiet(counting)
            background.start_soon(rollout.watch)
            yield rollout, counting
            background.cancel_scope.cancel()
        await rollout.leave(in_rounds=not static)


@asynccontextmanager
async def among_themselves(group: Group, make: Make, size: int) -> AsyncIterator[Rollout]:
    """Have a group of members of another library only; records flow for one block.

    At the end of the block all has been read, and all have left.

    Args:
        group: without members; none of kgroup's own joins it.
        make: the members that are there first; the first of them leads.
        size: how many they are.
    """
    async with anyio.create_task_group() as tasks:
        rollout = Rollout(group, tasks)
        await _begin(rollout, make)
        for _ in range(1, size):
            await rollout.come(make, "")
        async with anyio.create_task_group() as background:
            background.start_soon(group.ground.stream)
            await rollout.settled()
            background.start_soon(rollout.watch)
            yield rollout
            await rollout.settled()
            background.cancel_scope.cancel()
        await rollout.leave()


async def _begin(rollout: Rollout, make: Make) -> None:
    """Have one member that owns all, and has read something."""
    first = await rollout.come(make, "")
    await rollout.group.ground.fill(1)
    await eventually(lambda: len(first.owned) == PARTITIONS, "the first owns all")
