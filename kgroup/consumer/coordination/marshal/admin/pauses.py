"""Pausing a group: nobody but the administrator may claim, and everybody lets go.

Decides: that a pause is in every coordination partition that it is needed in before it counts, that
it is renewed long before it ends, and that none is written where a member of the original library
may read it: it cannot, and would take what it read so far for the whole log.
Never: waits for a member that does not let go beyond the patience of whoever asked.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from kgroup.consumer.coordination.marshal.admin.desk import Desk
from kgroup.consumer.coordination.marshal.admin.settings import check_kept_pause
from kgroup.errors import GroupError, KGroupError
from kgroup.marshal.key_state import LONGEST_PAUSE, Pause
from kgroup.marshal.survey import Holder, Mixed, holders, mixed_keys, pause_left
from kgroup.types import TopicPartition

__all__ = [
    "GroupPause",
    "PausePlan",
    "Say",
    "held",
    "mixed",
    "pause_group",
    "plan_pause",
    "refuse_headerless",
    "release_keys",
    "resume",
    "say_once",
]

Say = Callable[[str], None]
"""Hears what is going on, a line at a time."""

_SHOWN: Final = 3
_LOOK_AGAIN: Final = 1.0
_RELEASE_PAUSE: Final = 60.0
_MS: Final = 1000


def refuse_headerless(desk: Desk, instead: str) -> None:
    """Refuse to pause where members of the original library are, in whatever group.

    Each of them reads all coordination partitions, so all that this desk reads are looked at.

    Args:
        desk: at the log.
        instead: what to do, in words.

    Raises:
        GroupError: one of them wrote lately; the text names its key, and says until when.
    """
    found = mixed(desk)
    if not found:
        return
    last = max(found, key=lambda each: each.until)
    seconds = max(last.until - desk.time, 0) / _MS
    raise GroupError(
        f"a member of the original library wrote about {last.tp} of group {last.group!r} lately: "
        f"it cannot read a pause, and would go wrong over one. {instead} It is taken into account "
        f"for another {seconds:.0f} s after its last message"
    )


def mixed(desk: Desk) -> list[Mixed]:
    """Return the keys, of all groups, that members of the original library spoke of lately."""
    time = desk.time
    return [each for number in desk.partitions for each in mixed_keys(desk.world(number), time)]


def held(
    desk: Desk, tps: Collection[TopicPartition] | None, numbers: Sequence[int]
) -> list[Holder]:
    """Return who has keys of the group now; all keys of these partitions when `tps` is None."""
    group, time = desk.settings.group_id, desk.time
    return [each for number in numbers for each in holders(desk.world(number), group, tps, time)]


@dataclass(frozen=True, slots=True)
class PausePlan:
    """What a pause, or the end of one, would change.

    Args:
        numbers: the coordination partitions in which it would be written.
        held: who has keys of the group now.
        left: seconds that the group is paused for already, 0.0 when it is not.
    """

    numbers: tuple[int, ...]
    held: tuple[Holder, ...]
    left: float


def plan_pause(
    desk: Desk, numbers: Sequence[int], topics: frozenset[str] | None = None
) -> PausePlan:
    """Look what a pause would change, and write nothing.

    Args:
        desk: at the log.
        numbers: the coordination partitions in question.
        topics: whose keys are meant; None for all.

    Raises:
        GroupError: a member of the original library is about.
    """
    refuse_headerless(desk, "Stop all members of the group instead.")
    meant = (each for each in held(desk, None, numbers) if not topics or each.tp.topic in topics)
    left = max((pause_left(desk.pause(number), desk.time) for number in numbers), default=0.0)
    return PausePlan(tuple(numbers), tuple(meant), left)


@dataclass(slots=True, eq=False)
class GroupPause:
    """A pause of one group that is kept up.

    Args:
        desk: at the log.
        numbers: the coordination partitions in which it is needed.
        seconds: how long it lasts from each time it is renewed.
    """

    desk: Desk
    numbers: tuple[int, ...]
    seconds: float

    def refuse_others(self) -> None:
        """Refuse while another administrator has paused the group.

        Raises:
            GroupError: it names who, and for how long.
            TimeoutError: a coordination partition is being read anew.
        """
        for number in self.numbers:
            pause = self.desk.pause(number)
            left = pause_left(pause, self.desk.time)
            if pause is not None and left and pause.client_id != self.desk.who:
                who = pause.client_id.decode(errors="backslashreplace")
                raise GroupError(
                    f"group {self.desk.settings.group_id!r} is paused by {who!r} for another "
                    f"{left:.0f} s: let it end, end it with `kgroup marshal resume`, or, if it is "
                    "yours and nothing else is at work under that name, go on under it"
                )

    async def begin(self) -> None:
        """Write it, and read it back everywhere.

        1. Two administrators look, and see no pause; 2. both write one; 3. the last one counts,
        and the one before is not read back, or was.

        Raises:
            GroupError: another administrator was faster, or later.
            KGroupError, TimeoutError: it was not written, or not read back.
        """
        try:
            await self._write(dict.fromkeys(self.numbers, self.seconds))
        except TimeoutError:
            self.refuse_others()
            raise
        self.refuse_others()

    async def keep(self) -> None:
        """Write it again where less than half of it is left."""
        time = self.desk.time
        low = [
            number
            for number in self.numbers
            if pause_left(self.desk.pause(number), time) < self.seconds / 2
        ]
        await self._write(dict.fromkeys(low, self.seconds))

    def standing(self) -> dict[int, int]:
        """Return where a pause of ours stands, and until when: milliseconds of log time."""
        there = {number: self.desk.pause(number) for number in self.numbers}
        who = self.desk.who
        return {each: pause.until for each, pause in there.items() if pause and _of(pause) == who}

    async def end(self, former: Mapping[int, int]) -> None:
        """Have it end, or go on where there was one; one of somebody else's goes on.

        Where none is seen ours may be on its way still.

        Args:
            former: what `standing` was before it began.
        """
        there = {number: self.desk.pause(number) for number in self.numbers}
        ours = (None, self.desk.who)
        mine = [each for each, pause in there.items() if _of(pause) in ours]
        left = {each: (former.get(each, 0) - self.desk.time) / _MS for each in mine}
        await self._write({each: more if more > 1 else 0.0 for each, more in left.items()})

    async def end_or_say(self, former: Mapping[int, int], say: Say) -> None:
        """Have it end as `end` does, and say so when nobody knows whether it has."""
        timeout = self.desk.settings.timeout
        try:
            with anyio.fail_after(timeout):
                await self.end(former)
        except (KGroupError, TimeoutError) as error:
            why = str(error) or f"no answer within {timeout:g} s"
            say(
                f"whether the pause has ended is not known; it lasts {self.seconds:g} s at the "
                f"most, `kgroup marshal resume` ends it: {why}"
            )

    async def end_whosever(self) -> None:
        """Have the group go on, whoever asked for the pause."""
        await self._write(dict.fromkeys(self.numbers, 0.0))

    async def _write(self, lengths: Mapping[int, float]) -> None:
        """Write pauses: coordination partition -> seconds."""
        failed: list[Exception] = []

        async def one(number: int, seconds: float) -> None:
            try:
                await self.desk.write_pause(number, seconds)
            except Exception as error:  # noqa: BLE001 - raised below, without the group around it
                failed.append(error)

        async with anyio.create_task_group() as tasks:
            for number, seconds in lengths.items():
                tasks.start_soon(one, number, seconds)
        if failed:
            raise failed[0]


def _of(pause: Pause | None) -> bytes | None:
    return pause.client_id if pause else None


async def pause_group(
    desk: Desk, numbers: Sequence[int], seconds: float, say: Say = lambda _: None
) -> None:
    """Pause a group; a pause of before is replaced, whoever asked for it.

    No reader of the log believes a pause for longer than `LONGEST_PAUSE`: who begins to read later
    does not find it. One that is to last longer is renewed until what is left of it can be written
    at once; that is when this returns. Who is cancelled before leaves a pause that ends by itself.
    One that does not come to stand everywhere is ended where it does: no half of a group is paused.

    Args:
        desk: at the log.
        numbers: the coordination partitions in which it is needed.
        seconds: how long, from 1 to `LONGEST_KEPT`.
        say: hears that it is being kept up, or that nobody knows whether it was ended.

    Raises:
        ArgumentError: nobody would keep it up for so long.
        GroupError: a member of the original library is about; or it was ended, or replaced, by
            somebody else while it was kept up.
        KGroupError, TimeoutError: it was not written, or not read back, everywhere.
    """
    check_kept_pause(seconds)
    refuse_headerless(desk, "Stop all members of the group instead.")
    now = desk.cluster.ports.clock
    ends_at = now() + seconds
    pause = GroupPause(desk, tuple(numbers), min(seconds, LONGEST_PAUSE))
    former = pause.standing()
    try:
        await pause.begin()
    except (KGroupError, TimeoutError):
        await pause.end_or_say(former, say)
        raise
    if seconds > LONGEST_PAUSE:
        text = f"a pause lasts {LONGEST_PAUSE} s at the most: it is renewed until this command ends"
        say(f"group {desk.settings.group_id} is paused by {desk.settings.client_id}; {text}")
    while ends_at - now() > pause.seconds:
        await _renewed(pause, ends_at)


async def _renewed(pause: GroupPause, ends_at: float) -> None:
    """Wait until half of a pause is over, and write what is still to come of it."""
    desk, now = pause.desk, pause.desk.cluster.ports.clock
    over_at = now() + pause.seconds
    written = {each: desk.pause(each) for each in pause.numbers if each in desk.partitions}

    def is_replaced() -> bool:
        known = (number for number in written if number in desk.partitions)
        return any(desk.pause(number) != written[number] for number in known)

    if await desk.until(is_replaced, pause.seconds / 2):
        group = desk.settings.group_id
        raise GroupError(f"the pause of group {group!r} was ended, or replaced, by somebody else")
    while True:
        refuse_headerless(desk, "The pause ends by itself.")
        pause.seconds = min(LONGEST_PAUSE, max(ends_at - now(), 1.0))
        try:
            await pause.begin()
            return
        except (KGroupError, TimeoutError):
            # There is time: it has half of its length to go.
            if now() >= over_at - desk.settings.timeout:
                raise
        await anyio.sleep(_LOOK_AGAIN)


async def resume(desk: Desk, numbers: Sequence[int]) -> tuple[int, ...]:
    """End the pause of a group, whoever asked for it.

    Returns:
        The coordination partitions in which there was one; nothing is written in the others.

    Raises:
        GroupError: a member of the original library is about.
        KGroupError, TimeoutError: it was not written, or not read back, everywhere.
    """
    paused = tuple(each for each in numbers if desk.pause(each) is not None)
    if paused:
        refuse_headerless(desk, "The pause ends by itself.")
        await GroupPause(desk, paused, 1.0).end_whosever()
    return paused


async def release_keys(
    desk: Desk,
    numbers: Sequence[int],
    topics: frozenset[str] | None,
    patience: float,
    say: Say,
) -> list[Holder]:
    """Have all members let go of keys by a short pause, and let them claim again.

    Args:
        desk: at the log.
        numbers: coordination partitions that are paused.
        topics: whose keys are waited for; None for all.
        patience: seconds to wait.
        say: hears who is waited for.

    Returns:
        Who has not let go; empty when all have.

    Raises:
        GroupError: a member of the original library is about, or another administrator.
        KGroupError, TimeoutError: the pause was not written, or not read back.
    """
    refuse_headerless(desk, "Stop the member that has the keys instead.")
    pause = GroupPause(desk, tuple(numbers), _RELEASE_PAUSE)
    pause.refuse_others()
    former = pause.standing()
    try:
        await pause.begin()
        return await _let_go(pause, topics, patience, say)
    finally:
        with anyio.move_on_after(desk.settings.timeout, shield=True) as scope:
            await pause.end(former)
        if scope.cancelled_caught:
            say(
                "whether the pause has ended is not known; it lasts "
                f"{_RELEASE_PAUSE:g} s at the most"
            )


async def _let_go(
    pause: GroupPause, topics: frozenset[str] | None, patience: float, say: Say
) -> list[Holder]:
    desk, told = pause.desk, set[str]()

    def left() -> list[Holder]:
        found = held(desk, None, pause.numbers)
        return [each for each in found if topics is None or each.tp.topic in topics]

    deadline = desk.cluster.ports.clock() + patience
    while (there := left()) and desk.cluster.ports.clock() < deadline:
        say_once(there, desk.time, told, say)
        pause.refuse_others()
        await pause.keep()
        await desk.until(lambda: not left(), _LOOK_AGAIN)
    return there


def say_once(left: Sequence[Holder], time: int, told: set[str], say: Say) -> None:
    """Say of each owner once that it is waited for, and until when at the latest."""
    by_owner: dict[str, list[Holder]] = {}
    for each in left:
        by_owner.setdefault(f"{each.client_id}/{each.instance_id}", []).append(each)
    for owner, keys in by_owner.items():
        if owner not in told:
            told.add(owner)
            names = ", ".join(str(each.tp) for each in keys[:_SHOWN])
            names += f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
            seconds = max(max(each.until for each in keys) - time, 0) / _MS
            say(f"waiting for {owner} to let go of {names}; if it is dead, another {seconds:.0f} s")
