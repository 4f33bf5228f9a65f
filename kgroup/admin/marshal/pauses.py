"""Pausing a group, and having it go on: what is refused and renewed, which holders it waits for.

Decides: that a pause is renewed long before it ends, that the end of one is followed up until none
stands, and that none is written where a member of the original library may read it: it cannot, and
would take what it read so far for the whole log.
Never: waits for a member that does not let go beyond the caller's patience.
"""

from collections.abc import Collection, Sequence
from typing import Final

import anyio

from kgroup.admin.marshal.claim_log import ClaimLog
from kgroup.admin.marshal.group_pause import GroupPause, Say
from kgroup.admin.marshal.settings import check_kept_pause
from kgroup.errors import GroupError, KGroupError
from kgroup.marshal.key_state import LONGEST_PAUSE
from kgroup.marshal.survey import Holder, Mixed, holders, mixed_keys, pause_left
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_SHOWN: Final = 3
_LOOK_AGAIN: Final = 1.0
_RELEASE_PAUSE: Final = 60.0
_MS: Final = 1000
_TIMES: Final = 5
"""How often the end of a pause is followed up; each time somebody has begun one meanwhile."""


def refuse_headerless(claim_log: ClaimLog, instead: str) -> None:
    """Refuse to pause where members of the original library are, in whatever group.

    Each of them reads all coordination partitions, so all that this claim_log reads are looked at.

    Args:
        claim_log: at the log.
        instead: what to do, in words.

    Raises:
        GroupError: one of them wrote lately; the text names its key, and says until when.
    """
    found = mixed(claim_log)
    if not found:
        return
    last = max(found, key=lambda each: each.until)
    seconds = max(last.until - claim_log.time, 0) / _MS
    raise GroupError(
        f"a member of the original library wrote about {last.tp} of group {last.group!r} lately: "
        f"it cannot read a pause, and would go wrong over one. {instead} It is taken into account "
        f"for another {seconds:.0f} s after its last message"
    )


def mixed(claim_log: ClaimLog) -> list[Mixed]:
    """Return the keys, of all groups, that members of the original library spoke of lately."""
    time = claim_log.time
    return [
        each
        for number in claim_log.partitions
        for each in mixed_keys(claim_log.world(number), time)
    ]


def held(
    claim_log: ClaimLog, tps: Collection[TopicPartition] | None, numbers: Sequence[int]
) -> list[Holder]:
    """Return the holders of the group's keys; all keys of these partitions when `tps` is None."""
    group, time = claim_log.settings.group_id, claim_log.time
    return [
        each for number in numbers for each in holders(claim_log.world(number), group, tps, time)
    ]


@dataclass(frozen=True, slots=True)
class PausePlan:
    """What a pause, or the end of one, would change.

    Args:
        numbers: the coordination partitions in which it would be written.
        held: the holders of the group's keys now.
        left: seconds that the group is paused for already, 0.0 when it is not.
    """

    numbers: tuple[int, ...]
    held: tuple[Holder, ...]
    left: float


def plan_pause(
    claim_log: ClaimLog, numbers: Sequence[int], topics: frozenset[str] | None = None
) -> PausePlan:
    """Look what a pause would change, and write nothing.

    Args:
        claim_log: at the log.
        numbers: the coordination partitions in question.
        topics: the topics of the keys that are meant; None for all.

    Raises:
        GroupError: a member of the original library is about.
    """
    refuse_headerless(claim_log, "Stop all members of the group instead.")
    meant = (
        each for each in held(claim_log, None, numbers) if not topics or each.tp.topic in topics
    )
    left = max(
        (pause_left(claim_log.pause(number), claim_log.time) for number in numbers), default=0.0
    )
    return PausePlan(tuple(numbers), tuple(meant), left)


async def pause_group(
    claim_log: ClaimLog, numbers: Sequence[int], seconds: float, say: Say = lambda _: None
) -> None:
    """Pause a group; any earlier pause is replaced, also one of another administrator.

    No reader of the log believes a pause for longer than `LONGEST_PAUSE`: a reader that begins
    later does not find it. A pause that is to last longer is renewed until what is left of it can
    be written at once; that is when this returns. A call that is cancelled before leaves a pause
    that ends by itself. A pause that does not come to stand everywhere, or that somebody ends while
    it begins, is ended where it stands: no half of a group is paused.

    Args:
        claim_log: at the log.
        numbers: the coordination partitions in which it is needed.
        seconds: how long, from 1 to `LONGEST_KEPT`.
        say: hears that it is being kept up, or that nobody knows whether it was ended.

    Raises:
        ArgumentError: nobody would keep it up for so long.
        GroupError: a member of the original library is about; or it was ended, or replaced, by
            somebody else while it began, or while it was kept up.
        KGroupError, TimeoutError: it was not written, or not read back, everywhere.
    """
    check_kept_pause(seconds)
    refuse_headerless(claim_log, "Stop all members of the group instead.")
    now = claim_log.cluster.ports.clock
    ends_at = now() + seconds
    pause = GroupPause(claim_log, tuple(numbers), min(seconds, LONGEST_PAUSE))
    former = pause.ours()
    try:
        await pause.begin()
    except (KGroupError, TimeoutError):
        await pause.end_or_say(former, say)
        raise
    if seconds > LONGEST_PAUSE:
        text = f"a pause lasts {LONGEST_PAUSE} s at the most: it is renewed until this command ends"
        say(
            f"group {claim_log.settings.group_id} is paused by "
            f"{claim_log.settings.client_id}; {text}"
        )
    while ends_at - now() > pause.seconds:
        await _renewed(pause, ends_at, say)


async def _renewed(pause: GroupPause, ends_at: float, say: Say) -> None:
    """Wait until half of a pause is over, and write what is still to come of it."""
    claim_log, now = pause.claim_log, pause.claim_log.cluster.ports.clock
    over_at = now() + pause.seconds
    written = {
        each: claim_log.pause(each) for each in pause.numbers if each in claim_log.partitions
    }

    def is_replaced() -> bool:
        known = (number for number in written if number in claim_log.partitions)
        return any(claim_log.pause(number) != written[number] for number in known)

    if await claim_log.until(is_replaced, pause.seconds / 2):
        group = claim_log.settings.group_id
        raise GroupError(f"the pause of group {group!r} was ended, or replaced, by somebody else")
    while True:
        refuse_headerless(claim_log, "The pause ends by itself.")
        pause.seconds = min(LONGEST_PAUSE, max(ends_at - now(), 1.0))
        try:
            await pause.begin()
            return
        except GroupError:
            await pause.end_or_say({}, say)
            raise
        except (KGroupError, TimeoutError):
            # There is time: it has half of its length to go.
            if now() >= over_at - claim_log.settings.timeout:
                raise
        await anyio.sleep(_LOOK_AGAIN)


async def resume(claim_log: ClaimLog, numbers: Sequence[int]) -> tuple[int, ...]:
    """End the pause of a group, also one of another administrator.

    1. A pause is only beginning, and stands in one coordination partition; 2. it is ended there;
    3. it comes to stand in another one. So all are read to their ends once it was ended; what is
    found is ended, too. A pause that comes later still finds its first half ended, and a
    renewal the end that it stands behind (`GroupPause`).

    Returns:
        The coordination partitions in which there was one; nothing is written in the others.

    Raises:
        GroupError: a member of the original library is about, or the group is paused again and
            again.
        KGroupError, TimeoutError: it was not written, or not read back, everywhere.
    """
    ended = set[int]()
    for _ in range(_TIMES):
        paused = tuple(each for each in numbers if claim_log.pause(each) is not None)
        if not paused:
            return tuple(each for each in numbers if each in ended)
        if not ended:
            refuse_headerless(claim_log, "The pause ends by itself.")
        await GroupPause(claim_log, paused, 1.0).end_whosever()
        ended.update(paused)
        await claim_log.catch_up(numbers)
    raise GroupError(
        f"group {claim_log.settings.group_id!r} was paused anew each of the {_TIMES} times that "
        "its pause was ended: find out who does, then try again"
    )


async def release_keys(
    claim_log: ClaimLog,
    numbers: Sequence[int],
    topics: frozenset[str] | None,
    patience: float,
    say: Say,
) -> list[Holder]:
    """Have all members let go of keys by a short pause, and let them claim again.

    Args:
        claim_log: at the log.
        numbers: coordination partitions that are paused.
        topics: the topics of the keys that are waited for; None for all.
        patience: seconds to wait.
        say: hears which holders are waited for.

    Returns:
        The holders that have not let go; empty when all have.

    Raises:
        GroupError: a member of the original library is about, or another administrator, who may
            have ended the pause, too.
        KGroupError, TimeoutError: the pause was not written, or not read back.
    """
    refuse_headerless(claim_log, "Stop the member that has the keys instead.")
    pause = GroupPause(claim_log, tuple(numbers), _RELEASE_PAUSE)
    pause.refuse_others()
    former = pause.ours()
    try:
        await pause.begin()
        return await _let_go(pause, topics, patience, say)
    finally:
        with anyio.move_on_after(claim_log.settings.timeout, shield=True) as scope:
            await pause.end(former)
        if scope.cancelled_caught:
            say(
                "whether the pause has ended is not known; it lasts "
                f"{_RELEASE_PAUSE:g} s at the most"
            )


async def _let_go(
    pause: GroupPause, topics: frozenset[str] | None, patience: float, say: Say
) -> list[Holder]:
    claim_log, named = pause.claim_log, set[str]()

    def left() -> list[Holder]:
        found = held(claim_log, None, pause.numbers)
        return [each for each in found if topics is None or each.tp.topic in topics]

    deadline = claim_log.cluster.ports.clock() + patience
    while (there := left()) and claim_log.cluster.ports.clock() < deadline:
        say_once(there, claim_log.time, named, say)
        pause.refuse_change()
        await pause.keep()
        await claim_log.until(lambda: not left(), _LOOK_AGAIN)
    return there


def say_once(left: Sequence[Holder], time: int, named: set[str], say: Say) -> None:
    """Say of each owner once that it is waited for, and until when at the latest."""
    by_owner: dict[str, list[Holder]] = {}
    for each in left:
        by_owner.setdefault(f"{each.client_id}/{each.instance_id}", []).append(each)
    for owner, keys in by_owner.items():
        if owner not in named:
            named.add(owner)
            names = ", ".join(str(each.tp) for each in keys[:_SHOWN])
            names += f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
            seconds = max(max(each.until for each in keys) - time, 0) / _MS
            say(f"waiting for {owner} to let go of {names}; if it is dead, another {seconds:.0f} s")
