"""A pause of one group as it stands in the log: written, looked after, and taken away again.

Decides: that a pause is in every coordination partition that it is needed in before it counts; that
one that somebody has ended in some of them is over in all.
Never: writes over the pause of somebody else without being asked to; stays where it came to stand
behind the end of its own.

Partitions of the log have no common order. 1. A pause comes to stand in one; 2. somebody ends it
there, and sees none in another; 3. it comes to stand in the other one. Half of the group stands
still. So both write first, and read all partitions to their ends afterwards: whichever of the two
looks later sees what the other has done, and then there is no pause.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final

import anyio

from kgroup.admin.marshal.claim_log import ClaimLog, WrittenPause
from kgroup.errors import GroupError, KGroupError
from kgroup.marshal.key_state import Pause
from kgroup.marshal.survey import pause_left
from kgroup.values import dataclass

Say = Callable[[str], None]
"""Hears what is going on, a line at a time."""

_MS: Final = 1000


@dataclass(slots=True, eq=False)
class GroupPause:
    """A pause of one group that is kept up.

    Args:
        claim_log: at the log.
        numbers: the coordination partitions in which it is needed.
        seconds: how long it lasts from each time it is renewed.
    """

    claim_log: ClaimLog
    numbers: tuple[int, ...]
    seconds: float
    _stood: dict[int, WrittenPause] = field(default_factory=dict)
    """Until when ours was read back last, and where first, by coordination partition."""

    def refuse_others(self) -> None:
        """Refuse while another administrator has paused the group.

        Raises:
            GroupError: another administrator paused the group; it names that one, and how long.
            TimeoutError: a coordination partition is being read anew.
        """
        for number in self.numbers:
            pause = self.claim_log.pause(number)
            left = pause_left(pause, self.claim_log.time)
            if pause is not None and left and pause.client_id != self.claim_log.who:
                who = pause.client_id.decode(errors="backslashreplace")
                raise GroupError(
                    f"group {self.claim_log.settings.group_id!r} is paused by {who!r} for another "
                    f"{left:.0f} s: let it end, end it with `kgroup marshal resume`, or, if it is "
                    "yours and nothing else is at work under that name, go on under it"
                )

    def refuse_change(self) -> None:
        """Refuse to go on under a pause that somebody has replaced, or ended before its time.

        Raises:
            GroupError: it says which.
            TimeoutError: a coordination partition is being read anew.
        """
        self.refuse_others()
        if self._was_ended():
            raise GroupError(
                f"the pause of group {self.claim_log.settings.group_id!r} was ended by somebody "
                "else before its time: the group goes on"
            )

    def _was_ended(self) -> bool:
        """Tell whether ours is gone somewhere before it was over, or was before it came anew.

        1. It is written again; 2. somebody ends it everywhere, and sees none; 3. what was written
        comes to stand behind the ends. So an end counts wherever it stands behind our first one.
        """
        return any(self._was_ended_in(number) for number in self._stood)

    def _was_ended_in(self, number: int) -> bool:
        until, first = self._stood[number]
        is_gone = self.claim_log.pause(number) is None and self.claim_log.world(number).time < until
        return is_gone or self.claim_log.pause_ended_at(number) > first

    async def begin(self) -> None:
        """Write it, read it back everywhere, and look whether it stands everywhere then.

        1. Two administrators look, and see no pause; 2. both write one; 3. the last one counts,
        and the one before is not read back, or was.

        Raises:
            GroupError: another administrator was faster, or later, or has ended it.
            KGroupError, TimeoutError: it was not written, or not read back.
        """
        try:
            await self._write(dict.fromkeys(self.numbers, self.seconds))
            await self.claim_log.catch_up(self.numbers)
        except TimeoutError:
            self.refuse_others()
            raise
        self.refuse_change()

    async def keep(self) -> None:
        """Write it again where less than half of it is left; `refuse_change` is asked behind it."""
        time = self.claim_log.time
        low = [
            number
            for number in self.numbers
            if pause_left(self.claim_log.pause(number), time) < self.seconds / 2
        ]
        await self._write(dict.fromkeys(low, self.seconds))

    def ours(self) -> dict[int, int]:
        """Return where a pause of ours stands, and until when: milliseconds of log time."""
        there = {number: self.claim_log.pause(number) for number in self.numbers}
        who = self.claim_log.who
        return {each: pause.until for each, pause in there.items() if pause and _of(pause) == who}

    async def end(self, former: Mapping[int, int]) -> None:
        """Have it end, or go on where there was one; one of somebody else's goes on.

        Where none is seen ours may be on its way still, unless it was read back before. One that
        somebody has ended goes on nowhere.

        Args:
            former: what `ours` was before it began.
        """
        await self._leave({} if self._was_ended() else former)
        if self._stood:
            await self.claim_log.catch_up(self.numbers)
            if self._was_ended():
                await self._leave({})

    async def _leave(self, former: Mapping[int, int]) -> None:
        there = {number: self.claim_log.pause(number) for number in self.numbers}
        mine = [
            each
            for each, pause in there.items()
            if (each not in self._stood if pause is None else _of(pause) == self.claim_log.who)
        ]
        left = {each: (former.get(each, 0) - self.claim_log.time) / _MS for each in mine}
        await self._write({each: more if more > 1 else 0.0 for each, more in left.items()})

    async def end_or_say(self, former: Mapping[int, int], say: Say) -> None:
        """Have it end as `end` does, and say so when nobody knows whether it has."""
        timeout = self.claim_log.settings.timeout
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
        """Have the group go on, also when another administrator asked for the pause."""
        await self._write(dict.fromkeys(self.numbers, 0.0))

    async def _write(self, lengths: Mapping[int, float]) -> None:
        """Write pauses: coordination partition -> seconds."""
        failed: list[Exception] = []

        async def one(number: int, seconds: float) -> None:
            try:
                written = await self.claim_log.write_pause(number, seconds)
            except Exception as error:  # noqa: BLE001 - raised below, without the group around it
                failed.append(error)
                return
            first = self._stood.pop(number, written).offset
            if seconds:
                self._stood[number] = WrittenPause(written.until, first)

        async with anyio.create_task_group() as tasks:
            for number, seconds in lengths.items():
                tasks.start_soon(one, number, seconds)
        if failed:
            raise failed[0]


def _of(pause: Pause | None) -> bytes | None:
    return pause.client_id if pause else None
