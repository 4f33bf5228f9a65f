"""Setting the positions of a Marshal group.

Decides: what stands in the way before anything is written; when all keys are free to be claimed;
and that whatever happens then, a key is either set, or left where it was, or reported.
Never: moves a key that a member has; ends with the group paused, unless it was.

1. The group is paused, and members let go; where a member of the original library is about nothing
   can be paused: all members must have been stopped.
2. All keys are claimed and held where they were; if one cannot be, all are left as they are.
3. The new positions are committed with the group coordinator and read back.
4. Each key is released at its new position, and the group goes on.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import anyio

from kgroup.admin.marshal.claim_log import ClaimLog, Line
from kgroup.admin.marshal.committing import commit_all, committed_now
from kgroup.admin.marshal.group_pause import GroupPause, Say
from kgroup.admin.marshal.pauses import held, mixed, say_once
from kgroup.admin.marshal.settings import check_pause
from kgroup.backends.marshal.entrance import refuse_native
from kgroup.errors import ArgumentError, GroupError, KGroupError
from kgroup.marshal.admin import (
    Draft,
    KeyMove,
    Stage,
    draft_of,
    give_up,
    heard,
    in_doubt,
    was_committed,
)
from kgroup.marshal.events import KeyRead
from kgroup.marshal.survey import Holder
from kgroup.net.admin import describe_topics
from kgroup.net.cluster import Cluster
from kgroup.net.log_places import log_bounds
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_INTERVAL: Final = 20
_GO_INTERVAL: Final = 60
_LOOK_AGAIN: Final = 1.0
_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """How long what may take; seconds.

    Args:
        pause: of the group, renewed while needed.
        patience: for members to let go, and for claims.
    """

    pause: float = 60.0
    patience: float = 300.0

    def __post_init__(self) -> None:
        check_pause(self.pause)


async def check_targets(
    cluster: Cluster, targets: Mapping[TopicPartition, int], *, timeout: float
) -> None:
    """Refuse positions that no log has.

    Raises:
        ArgumentError: there is no such partition, or its log does not have that offset.
        BrokerError: there is no such topic, or it may not be seen.
        TimeoutError: somebody could not tell in time.
    """
    if not targets:
        raise ArgumentError("positions", "none", "at least one partition")
    topics = await describe_topics(cluster, {tp.topic for tp in targets}, timeout=timeout)
    for tp in sorted(targets):
        there = topics[tp.topic].partitions
        if tp.partition not in there:
            raise ArgumentError("partition", str(tp), f"one of the {len(there)} of {tp.topic!r}")
    for tp, bounds in (await log_bounds(cluster, list(targets), timeout=timeout)).items():
        if bounds.error is not None:
            raise bounds.error
        if bounds.begin is None or bounds.end is None:
            raise TimeoutError(f"{tp}: its leader did not say where its log begins and ends")
        if not bounds.begin <= targets[tp] <= bounds.end:
            expected = f"{bounds.begin} to {bounds.end}, which its log has"
            raise ArgumentError(f"position of {tp}", targets[tp], expected)


async def plan_positions(
    claim_log: ClaimLog, targets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, KeyMove]:
    """Return what is to be changed, and where each key is now; writes nothing.

    Raises:
        ArgumentError, BrokerError, TimeoutError: see `check_targets`.
        GroupError: the group has members with the group coordinator.
    """
    timeout, group = claim_log.settings.timeout, claim_log.settings.group_id
    await refuse_native(claim_log.cluster, group, timeout=timeout)
    await check_targets(claim_log.cluster, targets, timeout=timeout)
    former = await positions_now(claim_log, targets)
    return {tp: KeyMove(tp, targets[tp], former[tp]) for tp in sorted(targets)}


async def positions_now(
    claim_log: ClaimLog, tps: Collection[TopicPartition]
) -> dict[TopicPartition, int | None]:
    """Return where a group would go on: by the log of claims, else as it committed, else None.

    Raises:
        BrokerError, TimeoutError: somebody could not tell in time.
    """
    found = await committed_now(claim_log, tuple(sorted(tps)))
    for tp in found:
        known = claim_log.logged(tp)
        if known is None:
            known = await claim_log.reader.recall(tp, claim_log.settings.timeout)
        found[tp] = found[tp] if known is None else known
    return found


async def set_positions(
    claim_log: ClaimLog, targets: Mapping[TopicPartition, int], asked: Asked, say: Say
) -> tuple[KeyMove, ...]:
    """Set positions of a group; doing it again goes on with what is left.

    Args:
        claim_log: at the log; it reads as far back as a claim or a pause can reach.
        targets: partition -> next offset to read.
        asked: how long what may take.
        say: hears what is going on.

    Returns:
        What became of each key, in order of their names.

    Raises:
        ArgumentError, BrokerError, GroupError, TimeoutError: something stands in the way; nothing
            was changed.
    """
    work = _Work(claim_log, await plan_positions(claim_log, targets), asked, say)
    work.refuse()
    await work.run()
    return tuple(work.moves[tp] for tp in sorted(work.moves))


class _Work:
    """The keys of one call on their way."""

    def __init__(
        self, claim_log: ClaimLog, moves: dict[TopicPartition, KeyMove], asked: Asked, say: Say
    ) -> None:
        self.moves = moves
        self._claim_log = claim_log
        self._asked = asked
        self._say = say
        self._numbers = tuple(sorted({claim_log.place(tp.topic) for tp in moves}))
        self._mixed = bool(mixed(claim_log))
        self._interval = _GO_INTERVAL if self._mixed else _INTERVAL
        self._pause = GroupPause(claim_log, self._numbers, asked.pause)
        self._former: Mapping[int, int] = {}
        self._beat_at = 0.0
        self._before: dict[TopicPartition, int | None] = {}
        self._named: set[str] = set()

    # -- before anything is written --------------------------------------------------------

    def refuse(self) -> None:
        """Refuse what cannot be done.

        Raises:
            GroupError: members must be stopped first, or another administrator has paused.
        """
        self._pause.refuse_others()
        self._former = self._pause.ours()
        there = held(self._claim_log, None, self._claim_log.partitions) if self._mixed else []
        there = [each for each in there if not self._is_ours(each)]
        if there:
            first = there[0]
            seconds = max(max(each.until for each in there) - self._claim_log.time, 0) / _MS
            raise GroupError(
                f"members of the original library are about, which no pause reaches, and "
                f"{first.client_id}/{first.instance_id} has {first.tp} ({len(there)} keys in all): "
                f"stop all members of group {self._claim_log.settings.group_id!r}, then try again; "
                f"the last claim ends in {seconds:.0f} s at the latest"
            )

    # -- the work --------------------------------------------------------------------------

    async def run(self) -> None:
        """Do it all; what was claimed is released, and what was paused goes on, in any case."""
        try:
            await self._do()
        except (KGroupError, TimeoutError) as error:
            self._give_up(str(error))
        finally:
            with anyio.CancelScope(shield=True):
                await self._leave()

    async def _do(self) -> None:
        if not self._mixed:
            await self._pause.begin()
            self._say(f"group {self._claim_log.settings.group_id} is paused")
        deadline = self._claim_log.cluster.ports.clock() + self._asked.patience
        await self._all_free(deadline)
        await self._write(Stage.WAITING)
        while self._at(Stage.WAITING):
            # Refused: somebody was quicker, or clocks differ.
            await anyio.sleep(_LOOK_AGAIN)
            await self._all_free(deadline)
            await self._write(Stage.WAITING)
        await self._write(Stage.CLAIMED)
        lost = next((each for each in self.moves.values() if each.stage is not Stage.HELD), None)
        if lost is not None:
            self._give_up(f"{lost.tp} could not be held: {lost.reason or lost.stage.value}")
            return
        await self._commit()
        await self._write(Stage.COMMITTED)

    async def _all_free(self, deadline: float) -> None:
        """Wait until every key that is not claimed can be.

        Raises:
            TimeoutError: not in time; it names a client that has one.
        """
        claim_log = self._claim_log
        while True:
            wait, there = self._free_in(), held(claim_log, self._at(Stage.WAITING), self._numbers)
            if claim_log.cluster.ports.clock() >= deadline:
                who = f"{there[0].client_id} has {there[0].tp}" if there else "a claim was refused"
                raise TimeoutError(
                    f"not all keys were free within {self._asked.patience:g} s: {who}"
                )
            if not self._mixed:
                self._pause.refuse_change()
            if not wait:
                return
            say_once(there, claim_log.time, self._named, self._say)
            await self._renew()
            await claim_log.until(lambda: not self._free_in(), min(wait, _LOOK_AGAIN))

    def _free_in(self) -> float:
        """Return after how many seconds all keys that are not claimed can be, at the latest."""
        claim_log = self._claim_log
        own = {each.tp for each in held(claim_log, None, self._numbers) if self._is_ours(each)}
        rest = (tp for tp in self._at(Stage.WAITING) if tp not in own)
        latest = max((claim_log.free_at(tp) for tp in rest), default=0)
        return max(latest - claim_log.time, 0) / _MS

    def _is_ours(self, holder: Holder) -> bool:
        """Tell whether an earlier call has left a key claimed: a later call takes it over."""
        return holder.client_id.encode() == self._claim_log.who

    async def _renew(self) -> None:
        """Keep the pause, and what was claimed already."""
        if not self._mixed:
            await self._pause.keep()
        if self._claim_log.cluster.ports.clock() - self._beat_at > self._interval / 3:
            await self._write(Stage.CLAIMED)
            await self._write(Stage.HELD)

    def _at(self, stage: Stage) -> list[TopicPartition]:
        return [tp for tp, each in self.moves.items() if each.stage is stage]

    async def _write(self, stage: Stage) -> None:
        """Write what is next for every key of a stage, and take in what came of it."""
        by_number: dict[int, list[Line]] = {}
        for tp in self._at(stage):
            draft: Draft | None = draft_of(self.moves[tp])
            if draft is not None:
                by_number.setdefault(self._claim_log.place(tp.topic), []).append(Line(tp, draft))
        self._beat_at = self._claim_log.cluster.ports.clock()
        for number, lines in by_number.items():
            interval = None if self._mixed else self._interval
            logged = {line.tp: self._claim_log.logged(line.tp) for line in lines}
            for tp, read in (await self._claim_log.write(number, lines, interval=interval)).items():
                self._heard(tp, read, logged[tp])

    def _heard(self, tp: TopicPartition, read: KeyRead | None, logged: int | None) -> None:
        verdict = None if read is None else read.verdict
        offset = -1 if read is None else read.offset
        if read is not None and read.standing.offset is not None:
            logged = read.standing.offset
        self.moves[tp] = heard(self.moves[tp], verdict, offset, logged)

    # -- committing ------------------------------------------------------------------------

    async def _commit(self) -> None:
        """Commit the new positions of all keys that are held, and read them back.

        What was read back counts: an answer that was lost says nothing.
        """
        held_now = {tp: self.moves[tp].target for tp in self._at(Stage.HELD)}
        before = await committed_now(self._claim_log, tuple(sorted(held_now)))
        wanted = {tp: offset for tp, offset in held_now.items() if before[tp] != offset}
        self._before = {tp: before[tp] for tp in wanted}
        failed = await commit_all(self._claim_log, wanted, self._interval / 2)
        after = await committed_now(self._claim_log, tuple(sorted(held_now)))
        for tp, offset in held_now.items():
            error = None
            if after[tp] != offset:
                somebody = GroupError(f"offset {after[tp]} was committed by somebody else")
                error = failed.get(tp) or somebody
            self.moves[tp] = was_committed(self.moves[tp], error)

    async def _take_back(self) -> dict[TopicPartition, str]:
        """Commit what was committed before for keys that were given up since their commit was sent.

        1. It is carried out, and its answer is lost, or nobody waits for it any more; 2. the key
        is released where it was. An owner that takes the further of both begins at the new one.

        Returns:
            What to say of keys whose commit is not known to be as it was.
        """
        given_up = (Stage.RESTORING, Stage.KEPT)
        tried = {tp: each for tp, each in self._before.items() if self.moves[tp].stage in given_up}
        former = {tp: self.moves[tp].former if each is None else each for tp, each in tried.items()}
        wanted = {tp: offset for tp, offset in former.items() if offset is not None}
        after: Mapping[TopicPartition, int | None] = {}
        if tried:
            try:
                await commit_all(self._claim_log, wanted, self._interval / 2)
                after = await committed_now(self._claim_log, tuple(sorted(tried)))
            except (KGroupError, TimeoutError) as error:
                self._say(f"what is committed could not be read back: {error}")
        return {
            tp: f"{after[tp]} instead" if tp in after else f"{self.moves[tp].target}, or not"
            for tp in tried
            if tp not in after or after[tp] not in (tried[tp], former[tp])
        }

    # -- the end ---------------------------------------------------------------------------

    def _give_up(self, reason: str) -> None:
        self.moves = {tp: give_up(each, reason) for tp, each in self.moves.items()}

    async def _leave(self) -> None:
        """Release what is still ours, and let the group go on; each within its time."""
        self._give_up("it was interrupted")
        timeout = self._claim_log.settings.timeout
        doubts = await self._take_back()
        try:
            with anyio.fail_after(timeout):
                await self._write(Stage.RESTORING)
                await self._write(Stage.COMMITTED)
        except (KGroupError, TimeoutError) as error:
            self.moves = {tp: _unknown(each, error) for tp, each in self.moves.items()}
        self.moves.update({tp: in_doubt(self.moves[tp], what) for tp, what in doubts.items()})
        left = [each for each in self.moves.values() if each.stage is not Stage.SET]
        if left:
            self._say(f"{len(self.moves) - len(left)} of {len(self.moves)} positions are set")
        for each in left:
            self._say(f"{each.tp}: {each.stage.value}: {each.reason}")
        if not self._mixed:
            await self._pause.end_or_say(self._former, self._say)


def _unknown(move: KeyMove, error: Exception) -> KeyMove:
    if not move.is_ours:
        return move
    read = heard(move, None, -1, None)
    return replace(read, reason=f"{read.reason} ({error})" if str(error) else read.reason)
