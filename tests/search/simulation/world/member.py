"""One member: the real machine and the real commit queue, driven as thinly as can be.

Decides: nothing about the group. It steps the machine, carries effects out, wakes it at its next
deadline, and passes commits to the coordinator and answers back.
Never: draws chance, or waits.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol

from kgroup.backends.classic.trace import MemberTrace
from kgroup.errors import BrokerError, ConnectionLostError, DecodeError, KGroupError
from kgroup.journal import CloseAsked, MemberStarted, MemberStopped, Sink
from kgroup.machine.claims import Holdings, HoldingState
from kgroup.machine.commit_queue import CommitFlight, PendingCommits, Submission
from kgroup.machine.wishes import Errand, Ticket
from kgroup.membership.events import (
    Answered,
    CallListener,
    CloseRequested,
    CoordinatorFound,
    Disconnect,
    Drained,
    Event,
    MetadataChanged,
    Moment,
    RequestFailed,
    RunAssignor,
    Send,
    Subscribed,
    Tick,
)
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.step import MemberRow, Step, next_deadline
from kgroup.membership.triggers import Trigger
from kgroup.membership.value import GroupMember
from kgroup.net.coordinator import coordinator_of
from kgroup.types import Claim, Leave, MemberState, OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import DescribeGroupsRequest
from tests.membership.machine import drive
from tests.search.simulation.plan import MemberPlan
from tests.search.simulation.world.leading import Led, lead, looked, recalled
from tests.search.simulation.world.network import Lane
from tests.search.simulation.world.process import Process, Surroundings

_CLOSE_TIMEOUT: Final = 5.0
_NEVER: Final = float("inf")
_RELEASE_SHARE: Final = 0.8
_PARKED: Final = (Errand.JOIN_GROUP, Errand.SYNC_GROUP)


class World(Surroundings, Protocol):
    """The world as a member sees it."""

    def any_node(self, name: str) -> int:
        """Return the broker that a question for any broker goes to."""
        ...

    def counts(self) -> Mapping[str, int]:
        """Return topic -> partitions."""
        ...


class Member:
    """One life of one member, without its application.

    Args:
        world: what is around it.
        process: it lives in.
        plan: of the member.
        settings: of its machine.

    `fired` are the rows that have fired, `ignored` what was raised in vain, in order.
    `on_moved` is called after each step that changed the value, `on_committed` with each commit
    whose outcome is known, `on_end` when the membership ends; the application sets them.
    `on_idle` is called after each step that leaves no timer running, `on_enter` with each state in
    which a step has ended, before its effects; `spoil` says what a leader's errand comes to, and
    when.
    """

    def __init__(
        self, world: World, process: Process, plan: MemberPlan, settings: MembershipSettings
    ) -> None:
        self.process = process
        self.plan = plan
        self.settings = settings
        self.sink: Sink = process.sink
        self.value: GroupMember = GroupMember.new(settings, world.agenda.now)
        self.on_moved: Callable[[], None] = _nothing
        self.on_committed: Callable[[Submission], None] = _nothing_of
        self.on_end: Callable[[], None] = _nothing
        self.on_idle: Callable[[], None] = _nothing
        self.on_enter: Callable[[MemberState], None] | None = None
        self.spoil: Callable[[Led], tuple[Led, float]] | None = None
        self.commits: PendingCommits = PendingCommits(settings.request_timeout)
        self.in_hand: Counter[Claim] = Counter()
        self.fired: list[MemberRow] = []
        self.ignored: list[tuple[MemberState, Trigger]] = []
        self.over: bool = False
        """Whether the membership has ended."""
        self._around = world
        self._clock = world.agenda
        self._trace = MemberTrace(process.sink)
        self._tick_at = _NEVER
        self._said_goodbye = False
        self._following = False
        self._pumping_at = 0.0
        self._timed: GroupMember | None = None
        self._due = 0.0
        self._undrained: Holdings | None = None

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        return self._clock.now

    @property
    def due(self) -> float:
        """When the next timer is due, infinity while none runs; found once for each value."""
        if self._timed is not self.value:
            self._timed, self._due = self.value, next_deadline(self.value)
        return self._due

    def start(self) -> None:
        """Begin."""
        settings = self.settings
        self.sink.emit(
            MemberStarted(
                group_instance_id=settings.group_instance_id,
                protocol=self.value.protocol,
                session_timeout=settings.session_timeout,
                rebalance_timeout=settings.rebalance_timeout,
                lease_margin=settings.lease_margin,
                heartbeat_interval=settings.heartbeat_interval,
            )
        )
        self.apply(MetadataChanged(self._around.counts()))
        self.apply(Subscribed(frozenset(self.plan.topics)))

    def close(self) -> None:
        """Give everything up and leave; a second call gives no more time."""
        if self.value.wishes.closing is not None:
            return
        self.sink.emit(CloseAsked(_CLOSE_TIMEOUT))
        release_by = self.now + _CLOSE_TIMEOUT * _RELEASE_SHARE
        leave_by = self.now + _CLOSE_TIMEOUT
        self.apply(CloseRequested(self.plan.leave, "it closes", release_by, leave_by))

    # -- the machine -----------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Step the machine and carry out what it wants."""
        if self.over:
            return
        before = self.value
        result = drive(self, before, event, Moment(self._clock.now, self.plan.luck))
        self._arm()
        if self.due == _NEVER:
            self.on_idle()
        if result.member is not before:
            self._follow()

    def stepped(self, before: GroupMember, _event: Event, result: Step) -> None:
        """Keep the new value, and tell the journal how it came about."""
        self.value = result.member
        if self.on_enter is not None and result.member.state is not before.state:
            self.on_enter(result.member.state)
        if result.ignored:
            self.ignored.extend(result.ignored)
        if result.rows or result.effects:
            self.fired.extend(result.rows)
            self._trace.stepped(before, result, self._clock.now)

    def _arm(self) -> None:
        due = self.due
        if due < self._tick_at:
            self._tick_at = due
            self.process.at(due, self._tick, due)

    def _tick(self, due: float) -> None:
        if due == self._tick_at:
            self._tick_at = _NEVER
        if not self.over and self._clock.now >= self.due:
            self.apply(Tick())
        else:
            self._arm()

    def run_assignor(self, effect: RunAssignor) -> None:
        """Divide the group at once, or look at what stands."""
        if effect.unasked:
            self._look(effect)
            return
        done = lead(effect, self.settings.assignors, self.value.counts, self.now)
        led, seconds = (done, 0.0) if self.spoil is None else self.spoil(done)
        self.process.at(self.now + seconds, self.apply, led)

    def disconnect(self, effect: Disconnect) -> None:
        """Give up connections to a coordinator."""
        self.process.drop(effect.node_id, Lane.JOIN)
        if not effect.parked_only:
            self.process.drop(effect.node_id, Lane.HEARTBEAT)

    def call_listener(self, effect: CallListener) -> None:
        """Do nothing: the application reads the changes from the value."""

    def end(self, error: Exception | None) -> None:
        """End the membership."""
        if error is None:
            self._end("closed", left=self._said_goodbye)
        else:
            self._end(str(error) or type(error).__name__, left=False)

    def _end(self, reason: str, *, left: bool) -> None:
        self.over = True
        self.on_end()
        self.commits.give_up("the member is not in the group any more", self.value)
        self.flush_commits()
        closing = self.value.wishes.closing
        mode = Leave.DEFAULT if closing is None else closing.mode
        self.sink.emit(MemberStopped(reason, left=left, mode=mode))

    # -- requests --------------------------------------------------------------------------------

    def send(self, effect: Send) -> None:
        """Send a request on its lane."""
        errand = effect.ticket.errand
        if errand in (
            Errand.JOIN_GROUP,
            Errand.LEAVE_GROUP,
        ):  # a member that joins again has not left
            self._said_goodbye = errand is Errand.LEAVE_GROUP
        lane = Lane.JOIN if effect.ticket.errand in _PARKED else Lane.HEARTBEAT
        node_id = effect.node_id
        if node_id is None:
            node_id, lane = self._around.any_node(self.process.name), Lane.CONTROL
        hear = partial(self._recall if effect.recall else self._hear, effect.ticket, node_id)
        self.process.ask(node_id, lane, effect.request, effect.timeout, hear)

    def _hear(self, ticket: Ticket, node_id: int, answer: Any | None, why: str) -> None:
        if answer is None:
            self.apply(RequestFailed(ticket, ConnectionLostError(f"node {node_id}", why)))
        elif ticket.errand is Errand.FIND_COORDINATOR:
            self.apply(self._found(ticket, answer))
        else:
            self.apply(Answered(ticket, answer))

    def _recall(self, ticket: Ticket, node_id: int, answer: Any | None, why: str) -> None:
        """Ask the coordinator that was found what it remembers of this static member."""
        found = None if answer is None else self._found(ticket, answer)
        if not isinstance(found, CoordinatorFound) or found.node_id is None:
            self._hear(ticket, node_id, answer, why)
            return
        request = DescribeGroupsRequest(groups=(self.settings.group_id,))
        timeout = self.settings.recall_timeout
        hear = partial(self._recalled, found)
        self.process.ask(found.node_id, Lane.CONTROL, request, timeout, hear)

    def _recalled(self, found: CoordinatorFound, answer: Any | None, _why: str) -> None:
        remembered = recalled(answer, self.settings.group_instance_id)
        self.apply(replace(found, remembered=remembered))

    def _look(self, effect: RunAssignor) -> None:
        """Ask the coordinator what was given out."""

        def hear(answer: Any | None, why: str) -> None:  # of any version
            self.apply(looked(effect, self.value, answer, why))

        request = DescribeGroupsRequest(groups=(self.settings.group_id,))
        node_id, timeout = effect.node_id, self.settings.recall_timeout
        if not effect.follows:  # as long as a leader waits for metadata
            timeout = min(self.settings.request_timeout, self.settings.rebalance_timeout / 4)
        if node_id is None:
            self.process.at(self.now, hear, None, "no coordinator is known")
        else:
            self.process.ask(node_id, Lane.CONTROL, request, timeout, hear)

    def _found(self, ticket: Ticket, answer: Any) -> Event:  # of any version
        try:
            found = coordinator_of(answer, self.settings.group_id)
        except BrokerError as error:
            return CoordinatorFound(ticket, None, error.code)
        except (KGroupError, DecodeError) as error:
            return RequestFailed(ticket, error)
        return CoordinatorFound(ticket, found.node_id)

    # -- what follows a step ---------------------------------------------------------------------

    def _follow(self) -> None:
        """Tell the machine what is drained; let commits and the application go on."""
        if self._following:
            return
        self._following = True
        try:
            self._drain()
        finally:
            self._following = False
        self.pump_commits()
        self.on_moved()

    def _drain(self) -> None:
        while not self.over and self.value.holdings is not self._undrained:
            holdings = self.value.holdings
            draining = holdings.having(HoldingState.DRAINING)
            if not draining:
                self._undrained = holdings  # it has nothing to drain, whatever is in hand
                return
            empty = tuple(claim for claim in draining if not self.in_hand[claim])
            if not empty or (len(empty) < len(draining) and self.value.eager):
                return
            before = self.value
            self.apply(Drained(empty))
            if self.value is before:
                return

    # -- commits ---------------------------------------------------------------------------------

    def submit(
        self, offsets: Mapping[Claim, OffsetAndMetadata], report: Callable[[int], None]
    ) -> None:
        """Commit offsets; `on_committed` hears of the outcome.

        Args:
            offsets: claim -> position.
            report: called with the number of the commit, before anything becomes of it.
        """
        report(self.commits.submit(offsets, self.value, self.now).serial)
        self.flush_commits()
        self.pump_commits()

    def drained(self) -> None:
        """Hear that something is not in the application's hands any more."""
        self._follow()

    def pump_commits(self) -> None:
        """Send what waits, if it can be sent."""
        if self.over or not self.commits.waiting or self.now < self._pumping_at:
            return
        flight = self.commits.next_request(self.value, self.now, self._is_gone)
        self.flush_commits()
        if flight is not None:
            hear = partial(self._commit_answered, flight)
            timeout = self.settings.request_timeout
            self.process.ask(flight.node_id, Lane.COMMIT, flight.request, timeout, hear)

    def _commit_answered(self, flight: CommitFlight, answer: Any | None, why: str) -> None:
        if answer is None:
            self.commits.failed(flight, why, self.value)
            self._pause_commits()
        else:
            verdict = self.commits.answered(flight, answer, self.value)
            self._tell_commits()  # before what the membership does about it, as the consumer does
            if verdict.rejected is not None:
                self.apply(verdict.rejected)
            self.commits.expire(self.value, self.now, self._is_gone)
            if verdict.again:
                self._pause_commits()
        self.flush_commits()
        self.pump_commits()

    def _pause_commits(self) -> None:
        self._pumping_at = self.now + self.settings.retry_backoff
        self.process.at(self._pumping_at, self.pump_commits)

    def flush_commits(self) -> None:
        """Pass on what the queue has to tell."""
        self._tell_commits()
        for submission in self.commits.take_done():
            self.on_committed(submission)

    def _tell_commits(self) -> None:
        for commit_step in self.commits.take_steps():
            self.sink.emit(commit_step)

    def _is_gone(self, tp: TopicPartition) -> bool:
        return self.value.counts.get(tp.topic, 0) <= tp.partition

    # -- metadata --------------------------------------------------------------------------------

    def learn(self, counts: Mapping[str, int]) -> None:
        """Hear how many partitions topics have now."""
        self.apply(MetadataChanged(counts))

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Ask for other topics."""
        self.plan = replace(self.plan, topics=topics)
        self.apply(Subscribed(frozenset(topics)))


def _nothing() -> None:
    """Stand for an application that is not there yet."""


def _nothing_of(_: Submission) -> None:
    """Likewise."""
