"""The commit queue of a member, driven: requests are sent one by one, callers wait for outcomes.

Decides: when to ask for the next request, how long to pause, and which callers to wake. Requests
have a connection of their own: a heartbeat without an answer costs no commit.
Never: what is sent, sent again or refused; `kgroup.machine.commit_queue` does, and says why.

A caller that is cancelled ends its own wait; what it submitted is committed all the same.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import anyio

from kgroup.errors import (
    KGroupError,
    LocalProtocolError,
    NotConnectedError,
    TlsError,
    UnsupportedVersionError,
)
from kgroup.journal import Sink
from kgroup.machine.backoff import Backoff
from kgroup.machine.commit_queue import CommitFlight, PendingCommits
from kgroup.machine.committer import Committer
from kgroup.machine.wishes import CommitRejected
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.ports import Notifier
from kgroup.types import Claim, CommitOutcome, OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import OffsetCommitResponse


class Stepping(Protocol):
    """What is asked of the conductor of a member that commits."""

    @property
    def member(self) -> Committer:
        """The present value."""
        ...

    @property
    def now(self) -> float:
        """The machine's instant."""
        ...

    def apply(self, event: CommitRejected, /) -> None:
        """Step the machine."""
        ...

    async def moved(self) -> None:
        """Wait until the value shows something else."""
        ...


class CommitQueue:
    """Commits for one member.

    Args:
        conductor: of the member.
        cluster: connections; not owned.
        sink: takes the journal's events.
        timeout: seconds until a commit that could not be sent is given up.
        backoff: pauses between two tries of what the coordinator does not apply.
    """

    def __init__(
        self,
        conductor: Stepping,
        cluster: Cluster,
        sink: Sink,
        *,
        timeout: float,
        backoff: Backoff,
    ) -> None:
        self._conductor = conductor
        self._cluster = cluster
        self._sink = sink
        self._timeout = timeout
        self._backoff = backoff
        self._pending = PendingCommits(timeout)
        self._heard: dict[int, Callable[[CommitOutcome], None]] = {}
        self._arrived = Notifier()

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        """Submit offsets and wait for the outcome of every partition.

        Args:
            offsets: claim -> position; a claim that is over is refused, nothing is sent for it.
        """
        outcomes: list[CommitOutcome] = []
        known = anyio.Event()

        def heard(outcome: CommitOutcome) -> None:
            outcomes.append(outcome)
            known.set()

        self.submit(offsets, heard)
        await known.wait()
        return outcomes[0]

    def submit(
        self,
        offsets: Mapping[Claim, OffsetAndMetadata],
        heard: Callable[[CommitOutcome], None],
    ) -> None:
        """Queue offsets at once, in order.

        Args:
            offsets: claim -> position; a claim that is over is refused, nothing is sent for it.
            heard: called once with the outcome, in order of submission; must not wait.
        """
        submission = self._pending.submit(offsets, self._conductor.member, self._conductor.now)
        self._heard[submission.serial] = heard
        self._pass_on()
        self._arrived.notify()

    async def run(self) -> None:
        """Send what is submitted, one request at a time, until cancelled."""
        dice = self._cluster.ports.dice_for("commits")
        while True:
            if not self._pending.waiting:
                await self._arrived.wait()
            flight = self._pending.next_request(
                self._conductor.member, self._conductor.now, self._is_gone
            )
            self._pass_on()
            if flight is not None:
                if await self._send(flight):
                    self._backoff = self._backoff.reset()
                else:
                    self._backoff = self._backoff.failed()
                    await anyio.sleep(self._backoff.pause(dice.uniform(0, 1)))
            elif self._pending.waiting:
                with anyio.move_on_after(self._backoff.initial):
                    await self._conductor.moved()

    def end(self, claims: Collection[Claim]) -> None:
        """Close what is open under claims that are given up now."""
        self._pending.end(claims, self._conductor.member)
        self._pass_on()

    def give_up(self, reason: str) -> None:
        """End every wait, also of what is submitted from now on: nothing more is sent."""
        self._pending.give_up(reason, self._conductor.member)
        self._pass_on()

    # -- sending ---------------------------------------------------------------------------

    async def _send(self, flight: CommitFlight) -> bool:
        """Send a request; tell whether nothing has to be sent again."""
        try:
            answer = await self._cluster.send(
                flight.node_id, flight.request, lane=Lane.COMMIT, timeout=self._timeout
            )
        except (UnsupportedVersionError, LocalProtocolError) as error:
            self._pending.not_sent(flight, str(error), self._conductor.member)
        except (NotConnectedError, TlsError):
            self._pending.not_connected(flight)
        except (KGroupError, TimeoutError) as error:
            if isinstance(error, TimeoutError):
                self._cluster.drop(flight.node_id, Lane.COMMIT)
            reason = str(error) or type(error).__name__
            self._pending.failed(flight, reason, self._conductor.member)
        except anyio.get_cancelled_exc_class():
            reason = "the member ended before the answer came"
            self._pending.failed(flight, reason, self._conductor.member)
            raise
        else:
            return self._apply(flight, answer)
        finally:
            self._pass_on()
        return False

    def _apply(self, flight: CommitFlight, answer: OffsetCommitResponse) -> bool:
        verdict = self._pending.answered(flight, answer, self._conductor.member)
        self._tell()  # before what the membership does about it
        if verdict.not_there:
            self._cluster.invalidate()
        if verdict.rejected is not None:
            self._conductor.apply(verdict.rejected)
        self._pending.expire(self._conductor.member, self._conductor.now, self._is_gone)
        return not verdict.again

    def _is_gone(self, tp: TopicPartition) -> bool:
        return self._cluster.view.is_gone(tp)

    # -- waking and telling ----------------------------------------------------------------

    def _pass_on(self) -> None:
        """Tell the journal, and wake callers in order of submission."""
        self._tell()
        for submission in self._pending.take_done():
            self._heard.pop(submission.serial)(submission.outcome)

    def _tell(self) -> None:
        for step in self._pending.take_steps():
            self._sink.emit(step)
