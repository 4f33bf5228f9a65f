"""What happens to one process: events go into its machine, effects become calls.

Decides: what a connection that is given up takes with it, what a late answer must not do (S8), how
the search's own account of the lease is kept.
Never: knows the coordinator, or another process.
"""

from dataclasses import dataclass, field
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError, KGroupError
from kgroup.frozen import replace
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    CallListener,
    Disconnect,
    Event,
    ListenerDone,
    Moment,
    RequestFailed,
    RunAssignor,
    Send,
    Tick,
)
from kgroup.membership.step import MemberRow, Step, next_deadline, step
from kgroup.membership.value import GroupMember
from kgroup.types import ChangeKind, Claim
from kgroup.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.membership.machine import Machine, drive
from tests.search.exhaustive.process import (
    Account,
    Call,
    Lane,
    Orphan,
    Process,
    Stage,
    lane_of,
)
from tests.search.exhaustive.scope import NOW

_MOST_TICKS: Final = 16


class Broken(Exception):
    """A promise was broken while something happened to a process."""


@dataclass(slots=True)
class Running:
    """One process while something happens to it.

    Args:
        slot: its place.
        process: before, and what it becomes.
        steps: the machine.
        orphans: requests of connections that it gave up, not yet arrived.
        let_go: it gave up a request that the coordinator holds.
        over: the membership has ended.
        failure: what ended it for good, None while nothing did.
        rows: what fired.
    """

    slot: int
    process: Process
    steps: Machine = step
    orphans: list[Orphan] = field(default_factory=list)
    let_go: bool = False
    over: bool = False
    failure: Exception | None = None
    rows: list[MemberRow] = field(default_factory=list)

    # -- events --------------------------------------------------------------------------------

    def on(self, event: Event) -> None:
        """Step the machine, and wake it as long as something is due."""
        self._step(event)
        for _ in range(_MOST_TICKS):
            if next_deadline(self.process.member) > NOW:
                return
            self._step(Tick())
        state = self.process.member.state.name
        raise Broken(f"L2: timers of a member in {state} fire without end")

    def _step(self, event: Event) -> None:
        try:
            drive(self, self.process.member, event, Moment(NOW), self.steps)
        except (KGroupError, AssertionError) as error:
            raise Broken(f"{type(error).__name__}: {error}") from error

    def stepped(self, before: GroupMember, event: Event, result: Step) -> None:
        """Keep the new value, and what the application has heard."""
        self.rows.extend(result.rows)
        self.process = replace(self.process, member=result.member)
        if isinstance(event, ListenerDone):
            self._note_announced(before, event.serial)

    def _note_announced(self, before: GroupMember, serial: int) -> None:
        added = {
            claim
            for change in before.changes
            if change.serial == serial and change.kind is ChangeKind.ASSIGNED
            for claim in change.added
        }
        for change in self.process.member.changes:
            added -= set(change.removed)
        self._announce(self.process.announced | added)

    def _announce(self, claims: frozenset[Claim]) -> None:
        self.process = replace(self.process, announced=claims)

    def skim(self) -> None:
        """Return from listeners that have nothing to do with any partition the member holds."""
        for change in self.process.member.changes:
            if change.kind is ChangeKind.REVOKED:
                continue
            if not any(claim in self.process.member.holdings.states for claim in change.added):
                self.on(ListenerDone(change.serial))

    # -- effects -------------------------------------------------------------------------------

    def send(self, effect: Send) -> None:
        """Put a request on its way."""
        lane, node_id = lane_of(effect.ticket.errand), effect.node_id or 0
        deadline, recall = NOW + effect.timeout, effect.recall
        self._call(Call(effect.ticket, lane, node_id, effect.request, deadline, recall=recall))

    def run_assignor(self, effect: RunAssignor) -> None:
        """Let the assignor run until the search has it return."""
        self._call(Call(effect.ticket, Lane.LOCAL, 0, effect, float("inf")))

    def disconnect(self, effect: Disconnect) -> None:
        """Close the connections of a broker."""
        self.drop(Lane.JOIN, effect.node_id)
        if not effect.parked_only:
            self.drop(Lane.BEAT, effect.node_id)

    def call_listener(self, effect: CallListener) -> None:
        """Note what the application may not use any more."""
        self._announce(self.process.announced - set(effect.change.removed))

    def end(self, error: Exception | None) -> None:
        """Note that the membership has ended, or failed for good."""
        if error is None:
            self.over = True
        else:
            self.failure = error

    def _call(self, call: Call) -> None:
        self.process = replace(self.process, calls=(*self.process.calls, call))

    def drop(self, lane: Lane, node_id: int) -> None:
        """Close a connection: what had not arrived may do so late; nothing comes back."""
        calls = []
        for call in self.process.calls:
            gone = call.lane is lane and call.node_id == node_id
            calls.append(self._broken(call) if gone else call)
        self.process = replace(self.process, calls=tuple(calls))

    def _broken(self, call: Call) -> Call:
        request, remote = call.request, call.lane in (Lane.JOIN, Lane.BEAT)
        if call.stage is Stage.SENT and remote and not isinstance(request, RunAssignor):
            self.orphans.append(Orphan(self.slot, call.node_id, request))
        self.let_go = self.let_go or call.stage is Stage.PARKED
        return replace(call, stage=Stage.BROKEN, answer=None)

    # -- what comes back -----------------------------------------------------------------------

    def take(self, place: int) -> Call:
        """Take a call off the list."""
        calls = self.process.calls
        self.process = replace(self.process, calls=calls[:place] + calls[place + 1 :])
        return calls[place]

    def answered(self, place: int) -> None:
        """Let an answer, or the end of its connection, reach the machine."""
        call = self.take(place)
        if call.answer is None:
            self.on(RequestFailed(call.ticket, ConnectionLostError("broker:9092", "reset")))
            return
        self.process = replace(self.process, account=_counted(self.process.account, call))
        self.on(Answered(call.ticket, call.answer))

    def time_out(self) -> None:
        """Fail what has waited for too long; its connection is closed with it."""
        for _ in range(_MOST_TICKS):
            late = [
                place
                for place, call in enumerate(self.process.calls)
                if call.deadline <= NOW and call.stage is not Stage.BROKEN
            ]
            if not late:
                return
            call = self.process.calls[late[0]]
            self.drop(call.lane, call.node_id)
            self.take(late[0])
            self.on(RequestFailed(call.ticket, TimeoutError("no answer in time")))

    # -- late answers --------------------------------------------------------------------------

    def settle(self) -> None:
        """Let go of answers that are not awaited, after having tried that they do nothing."""
        kept = []
        for call in self.process.calls:
            back = call.stage in (Stage.ANSWERED, Stage.BROKEN)
            if not back or self._is_awaited(call):
                kept.append(call)
            elif call.answer is not None:
                self._try_late(call.ticket.errand, Answered(call.ticket, call.answer))
        self.process = replace(self.process, calls=tuple(kept))
        if self.process.member.identity.generation is None:
            self.process = replace(self.process, account=Account())

    def _is_awaited(self, call: Call) -> bool:
        member = self.process.member
        awaited = (
            member.heartbeat,
            member.round.ticket,
            member.round.watch,
            member.coordinator.ticket,
        )
        heard = call.answer is not None and member.given_up.has(call.ticket)
        return heard or call.ticket in awaited

    def _try_late(self, errand: Errand, event: Event) -> None:
        member = self.process.member
        result = self.steps(member, event, Moment(NOW))
        if result.member != member or result.effects:
            raise Broken(
                f"S8: a late answer to {errand.value} changed a {member.state.name} member"
            )


def _counted(account: Account, call: Call) -> Account:
    """Count an answer in the search's own account of the lease."""
    sent_at = call.ticket.sent_at
    match call.request, call.answer:
        case HeartbeatRequest(), HeartbeatResponse(error_code=0):
            if call.request.generation_id == account.synced:
                account = replace(account, synced_at=_latest(account.synced_at, sent_at))
            return replace(account, confirmed_at=_latest(account.confirmed_at, sent_at))
        case HeartbeatRequest(), HeartbeatResponse(error_code=code):
            if code != ErrorCode.REBALANCE_IN_PROGRESS:
                return account
            return replace(account, confirmed_at=_latest(account.confirmed_at, sent_at))
        case _, JoinGroupResponse(error_code=0):
            return replace(account, synced=None, synced_at=_latest(account.synced_at, sent_at))
        case SyncGroupRequest(), SyncGroupResponse(error_code=0):
            return replace(
                account,
                synced=call.request.generation_id,
                synced_at=_latest(account.synced_at, sent_at),
            )
        case _:
            return account


def _latest(known: float | None, instant: float) -> float:
    return instant if known is None else max(known, instant)
