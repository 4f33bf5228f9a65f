"""One consumer that owns a partition meets an error, once or for ten seconds, and goes on or ends.

Decides: what is written down while it does. What that is called, `reading_off` says.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from kgroup.assignors import Assignor, CooperativeStickyAssignor, RangeAssignor
from kgroup.codes import ApiKey
from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError, KGroupError
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Leave, OffsetAndMetadata, OwnershipChange
from tests.bad_input.sweeps.dialled import Dialled
from tests.bad_input.sweeps.places import Place
from tests.bad_input.sweeps.session import GROUP, TP

FOR_LONG: Final = 10.0
"""Virtual seconds for which a permanent error lasts."""

TOO_OFTEN: Final = 40
"""How often an error may strike one consumer: pauses that grow leave room for no more than 30."""

_ONCE: Final = 1.5
"""Virtual seconds in which the reaction to a single error is looked at."""

_AFTERWARDS: Final = 10.0
"""Virtual seconds in which a consumer has to recover, or has to stay silent."""

_LOOK: Final = 1.0
_POLL_INTERVAL: Final = 3.0
"""Shorter than a third of `FOR_LONG`: what is tried for three rounds ends within it."""

_ASSIGNORS: Final[dict[str, Assignor]] = {
    each.name: each for each in (CooperativeStickyAssignor(), RangeAssignor())
}


@dataclass(slots=True, eq=False)
class Trial:
    """What is seen of one consumer.

    Args:
        place: where the error is put.
        code: the error.
        broker: puts it there.
        hits: when it was put there.
        since: arrivals before the first of these.
        raised: what reads raised, and when.
        commits: what commits raised; None for one that went well.
        lost: when partitions were lost.
        revoked: when partitions were revoked.
        read: offsets that were handed out.
        failure: what ended the consumer.
        recovered: whether it read and committed what was written when the error was over.
        closed_in: virtual seconds that closing took.
        silent: whether it asked nothing any more once it had ended.
        sought_at: when the application first sought an error away, None = never.
        left: what was left open or running, in words.
    """

    place: Place
    code: int
    broker: InProcessBroker
    hits: list[float] = field(default_factory=list)
    since: int = 0
    raised: list[tuple[float, Exception]] = field(default_factory=list)
    commits: list[CommitFailedError | None] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    revoked: list[float] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    failure: Exception | None = None
    recovered: bool = False
    closed_in: float = 0.0
    silent: bool = False
    sought_at: float | None = None
    left: str = ""

    @property
    def arrivals(self) -> list[Arrival]:
        """What was asked after the error first struck."""
        return self.broker.requests[self.since :]

    async def on_lost(self, _: Consumer[Any, Any], change: OwnershipChange) -> None:
        """Listen."""
        if change.removed:
            self.lost.append(anyio.current_time())

    async def on_revoked(self, _: Consumer[Any, Any], change: OwnershipChange) -> None:
        """Listen."""
        if change.removed:
            self.revoked.append(anyio.current_time())

    def strikes(self, _: object) -> bool:
        """Note that the error is put into an answer; a consumer that spins is let off in the end.

        Without a pause no time would pass, and the error would last for ever.
        """
        if not self.hits:
            self.since = len(self.broker.requests)
        self.hits.append(anyio.current_time())
        return len(self.hits) <= TOO_OFTEN

    # -- the application -------------------------------------------------------------------

    async def look(self, consumer: Consumer[Any, Any], *, commit: bool = False) -> None:
        """Read once, and go on after whatever is raised."""
        began = anyio.current_time()
        try:
            for batch in (await consumer.getmany(timeout=_LOOK)).values():
                self.read |= {record.offset for record in batch}
        except KGroupError as error:
            self.raised.append((anyio.current_time(), error))
            await anyio.sleep(max(began + _LOOK - anyio.current_time(), 0.0))
        if commit and consumer.failure is None and consumer.assignment():
            await self._commit(consumer)

    async def _commit(self, consumer: Consumer[Any, Any]) -> None:
        outcome: CommitFailedError | None = None
        try:
            await consumer.commit({TP: OffsetAndMetadata(max(self.read) + 1, leader_epoch=0)})
        except CommitFailedError as error:
            outcome = error
        except KGroupError:
            return  # the partition is not owned any more
        self.commits.append(outcome)

    @property
    def end(self) -> int:
        """Where the log ends."""
        return self.broker.partition(*TP).end

    @property
    def committed(self) -> int:
        """What stands committed."""
        found = self.broker.group(GROUP).offsets.get(TP)
        return 0 if found is None else found.offset

    async def until(
        self, consumer: Consumer[Any, Any], seconds: float, is_so: Callable[[], object], **how: bool
    ) -> None:
        """Read until something is so, at most for some seconds, or to the consumer's end."""
        limit = anyio.current_time() + seconds
        while anyio.current_time() < limit and consumer.failure is None and not is_so():
            await self.look(consumer, **how)

    async def play(self, consumer: Consumer[Any, Any], *, times: int | None) -> None:
        """Have the error strike, and see what becomes of the consumer."""
        await self.until(consumer, 5.0, lambda: len(self.read) == self.end)
        await self._commit(consumer)
        assert self.committed == self.end, "it did not begin well"
        self.commits.clear()
        rule = self.place.lay(self.broker, self.code, where=self.strikes, times=times)
        self.place.bring_on(self.broker)
        commits = self.place.api is ApiKey.OFFSET_COMMIT
        await self.until(consumer, 3.0, lambda: self.hits, commit=commits)
        lasts = self.hits[0] + (_ONCE if times else FOR_LONG) if self.hits else 0.0
        await self.until(
            consumer, 2 * FOR_LONG, lambda: anyio.current_time() >= lasts, commit=commits
        )
        rule.cancel()
        await self._afterwards(consumer)

    async def _afterwards(self, consumer: Consumer[Any, Any]) -> None:
        self.broker.partition(*TP).append("new")
        heard = len(self.raised)
        await self.until(consumer, _AFTERWARDS, lambda: self._again(consumer, heard), commit=True)
        self.failure = consumer.failure
        self.recovered = self.failure is None and self.end - 1 in self.read
        self.recovered = self.recovered and self.committed == self.end
        asked = len(self.broker.requests)
        if self.failure is not None:
            await anyio.sleep(_AFTERWARDS)
            self.silent = len(self.broker.requests) == asked

    def _again(self, consumer: Consumer[Any, Any], heard: int) -> bool:
        """Say whether all is well; an error that is raised until a seek is sought away."""
        if len(self.raised) > heard and consumer.owns(TP):
            consumer.seek(TP, 0)
            self.sought_at = self.sought_at or anyio.current_time()
            del self.raised[heard:]
        return self.end - 1 in self.read and self.committed == self.end


async def tried(place: Place, code: int, *, times: int | None) -> Trial:
    """Play one trial in virtual time.

    Args:
        place: where the error is put.
        code: the error.
        times: how often, None = for ten seconds.
    """
    tasks, broker = len(anyio.get_running_tasks()), InProcessBroker(topics={TP.topic: 1})
    broker.partition(*TP).append("a", "b")
    trial, dialled = Trial(place, code, broker), Dialled(broker)
    consumer = Consumer(
        TP.topic,
        bootstrap_servers=broker.bootstrap_servers,
        ports=virtual_ports(dialled),
        listener=trial,
        group_id=GROUP,
        assignors=(_ASSIGNORS[place.assignor],),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout=6.0,
        heartbeat_interval=1.0,
        max_poll_interval=_POLL_INTERVAL,
        request_timeout=3.0,
        fetch_max_wait=2.0,
        metadata_max_age=place.metadata_max_age,
    )
    async with consumer:
        if place.api is ApiKey.LEAVE_GROUP:
            await trial.until(consumer, 5.0, lambda: len(trial.read) == trial.end)
            place.lay(broker, code, where=trial.strikes, times=times)
        else:
            await trial.play(consumer, times=times)
        began = anyio.current_time()
        await consumer.close(leave=Leave.LEAVE)
        trial.closed_in = anyio.current_time() - began
    running, still_open = len(anyio.get_running_tasks()) - tasks, await dialled.left_open()
    trial.left = f"{running} task(s), {still_open} connection(s)" if running + still_open else ""
    return trial
