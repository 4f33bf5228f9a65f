"""What changes in a Marshal group, as its log is read: claims, takeovers, releases and pauses.

Decides: which records are worth a report, and what each says; that changes that are not taken yet
are kept, so that a slow reader misses nothing.
Never: reads the log itself.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from kgroup.admin.marshal.claim_log import ClaimLog
from kgroup.backends.marshal.followed_log import LogEvent
from kgroup.marshal.events import KeyRead, LogLost, LogOpened, LogRead
from kgroup.marshal.key_state import Pause
from kgroup.marshal.rules import Verdict
from kgroup.marshal.standing import Standing
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_FOR_EVER: Final = 3600.0
_NEVER: Final = Standing()


class GroupChangeKind(Enum):
    """What happened to a Marshal group."""

    CLAIMED = "claimed"
    TAKEN_OVER = "taken over"
    RELEASED = "released"
    PAUSED = "paused"
    RESUMED = "resumed"
    LOST = "read anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """One thing that happened to a Marshal group, as `MarshalAdmin.watch` tells it.

    Args:
        kind: what happened.
        partition: the coordination partition; of a pause the first, or the last, one.
        time: log time, milliseconds since the epoch; -1 when there is none.
        tp: the partition it is about; None for the whole group.
        client: the client that did it, as client id and instance id with a slash between; of a
            pause the client id alone; None for nobody in particular.
        former: the client that had the partition before, None for none or the same.
        epoch: of a claim, the offset by which it fences; None for none.
        offset: next offset to read of the partition, None when nobody said.
        until: of a pause, log time in milliseconds.
        reason: why the log is read anew; what happened meanwhile is not reported.
    """

    kind: GroupChangeKind
    partition: int
    time: int
    tp: TopicPartition | None = None
    client: str | None = None
    former: str | None = None
    epoch: int | None = None
    offset: int | None = None
    until: int | None = None
    reason: str | None = None


class Watching:
    """Remembers what was, to tell what changed.

    Args:
        topics: the topics of the keys; None for all.
        show: takes what is reported.
    """

    def __init__(self, topics: frozenset[str] | None, show: Callable[[GroupChange], None]) -> None:
        self._topics = topics
        self._show = show
        self._standings: dict[TopicPartition, Standing] = {}
        self._pauses: dict[int, bytes] = {}

    def hear(self, event: LogEvent) -> None:
        """Take in what was read; what was there at the beginning is not reported."""
        match event:
            case LogOpened():
                self._standings.update(event.keys)
                self._paused(event.partition, event.time, event.pause)
            case LogRead():
                for read in event.reads:
                    self._read(event, read)
                self._paused(event.partition, event.time, event.pause)
            case LogLost():
                lost = GroupChangeKind.LOST
                why, number = event.reason or "", event.partition
                self._show(GroupChange(kind=lost, partition=number, time=-1, reason=why))

    def _read(self, event: LogRead, read: KeyRead) -> None:
        before = self._standings.get(read.tp, _NEVER)
        self._standings[read.tp] = now = read.standing
        if self._topics is not None and read.tp.topic not in self._topics:
            return
        match read.verdict:
            case Verdict.ACCEPTED | Verdict.ADOPTED:
                had = _who(before) if before.owned else None
                former = None if had == _who(now) else had
                kind = GroupChangeKind.CLAIMED if former is None else GroupChangeKind.TAKEN_OVER
                time = now.beat
            case Verdict.RELEASED:
                kind, former, time = GroupChangeKind.RELEASED, None, now.released_at
            case _:
                return
        self._show(
            GroupChange(
                kind=kind,
                partition=event.partition,
                time=event.time if time is None else time,
                tp=read.tp,
                client=_who(now),
                former=former,
                epoch=now.epoch,
                offset=now.offset,
            )
        )

    def _paused(self, partition: int, time: int, pause: Pause | None) -> None:
        before = set(self._pauses.values())
        if pause is None:
            self._pauses.pop(partition, None)
        else:
            self._pauses[partition] = pause.client_id
        # A pause stands in many partitions, and is renewed: it is reported when it begins and ends.
        if set(self._pauses.values()) == before or (pause is None and self._pauses):
            return
        if pause is None:
            self._show(GroupChange(kind=GroupChangeKind.RESUMED, partition=partition, time=time))
            return
        client = pause.client_id.decode(errors="backslashreplace")
        paused = GroupChange(
            kind=GroupChangeKind.PAUSED,
            partition=partition,
            time=time,
            client=client,
            until=pause.until,
        )
        self._show(paused)


def _who(standing: Standing) -> str:
    return b"/".join((standing.client_id, standing.instance_id)).decode(errors="backslashreplace")


class GroupChanges:
    """What changes in a group while it is watched, an iterator; see `MarshalAdmin.watch`.

    Args:
        claim_log: at the log.
        waiting: filled by a `Watching`, emptied here.
    """

    def __init__(self, claim_log: ClaimLog, waiting: deque[GroupChange]) -> None:
        self._claim_log = claim_log
        self._waiting = waiting

    def __aiter__(self) -> "GroupChanges":
        return self

    async def __anext__(self) -> GroupChange:
        """Return the next change, once there is one; cancel-safe.

        Raises:
            KGroupError, TimeoutError: the log cannot be read any more.
        """
        while not self._waiting:
            await self._claim_log.until(lambda: self._waiting, _FOR_EVER)
        return self._waiting.popleft()
