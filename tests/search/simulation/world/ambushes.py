"""Ambushes at levels A and A': what is done to a member in the instant in which it enters a state.

Decides: what each ploy means here, and how a state is made to last: its request, its assignor or
its listener takes long. What an application asks of a member that has ended is asked of its machine
all the same, as a consumer does; nothing may come of it but the end of the consumer. A member that
has ended is started again, as by a supervisor.
Never: draws; does anything once the group is to be left in peace.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import LocalProtocolError
from kgroup.membership.events import (
    CloseRequested,
    Done,
    EnforceRebalance,
    Event,
    Moment,
    Subscribed,
    Unsubscribed,
)
from kgroup.membership.states import TERMINAL
from kgroup.membership.step import step
from kgroup.types import Leave, MemberState
from tests.search.simulation.drawing_ambushes import LONGEST
from tests.search.simulation.plan import Ambush, Ploy
from tests.search.simulation.world.crew import Crew, Life
from tests.search.simulation.world.leading import Faltering, Led, spoilt
from tests.search.simulation.world.process import Process
from tests.search.simulation.world.reasons import Reasons
from tests.search.simulation.world.refusing import Refusals

_AWAITED: Final = {
    MemberState.FINDING: ApiKey.FIND_COORDINATOR,
    MemberState.JOINING: ApiKey.JOIN_GROUP,
    MemberState.SYNCING: ApiKey.SYNC_GROUP,
    MemberState.LEAVING: ApiKey.LEAVE_GROUP,
}
_HELD_UP: Final = (*_AWAITED.values(), ApiKey.OFFSET_COMMIT)
_LURED_BY: Final = {
    MemberState.FINDING: (ApiKey.JOIN_GROUP, ErrorCode.NOT_COORDINATOR),
    MemberState.BACKING_OFF: (ApiKey.JOIN_GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    MemberState.FENCED: (ApiKey.HEARTBEAT, ErrorCode.FENCED_INSTANCE_ID),
    MemberState.FAILED: (ApiKey.HEARTBEAT, ErrorCode.INVALID_GROUP_ID),
}
_GOING: Final = (MemberState.RELEASING, MemberState.LEAVING, MemberState.UNSUBSCRIBED)
_ROUND: Final = (
    MemberState.FINDING,
    MemberState.BACKING_OFF,
    MemberState.PREPARING,
    MemberState.JOINING,
    MemberState.ASSIGNING,
    MemberState.SYNCING,
)
_CALLED: Final = (MemberState.PREPARING, MemberState.RELEASING)
_MOST_LIVES: Final = 8
_RESTARTED_AFTER: Final = 1.0
_TRIPS: Final = 12
"""Times the plain latency: by then a question that is out is answered."""


class Ambushes:
    """Lies in wait.

    Args:
        crew: everybody.
    """

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._brokers = crew.brokers
        plan = crew.plan
        self._until = plan.quiet_at - LONGEST * max(plan.session_timeout, plan.rebalance_timeout)
        self._laid = [*plan.ambushes]
        self._refusals: dict[Process, Refusals] = {}

    def lay(self) -> None:
        """Lie in wait from now on, for everybody that begins."""
        self._crew.on_start = self._watch
        for ambush in self._laid:
            self._brokers.at(ambush.at, self._lure, ambush)
        self._brokers.at(max(0.0, self._until), self._relent)

    def _relent(self) -> None:
        """Make nothing last any more: what is asked in the peace to come would be late."""
        for process in self._refusals:
            for api in _HELD_UP:
                process.reach.late.pop(api, None)

    def _watch(self, life: Life) -> None:
        crew = self._crew
        reasons = Reasons(self._brokers, crew.group_id, life.plan, crew.tell_ambush)
        renew = partial(crew.renew, life)
        refusals = Refusals(self._brokers.agenda, reasons.bring_about, renew)
        self._refusals[life.process] = refusals
        life.process.reach.refuse = refusals.answer
        life.member.on_enter = partial(self._entered, life, refusals)

    def _entered(self, life: Life, refusals: Refusals, state: MemberState) -> None:
        now = self._brokers.now
        if now >= self._until:
            return
        if state in TERMINAL:
            self._start_again(life)
        for number, ambush in enumerate(self._laid):
            if ambush.at > now:
                return
            if ambush.state is state:
                del self._laid[number]
                self._spring(ambush, life, refusals)
                return

    def _start_again(self, life: Life) -> None:
        if len(self._crew.lives[life.plan.index]) < _MOST_LIVES:
            at = self._brokers.now + _RESTARTED_AFTER
            self._brokers.at(at, self._start, life)

    def _start(self, life: Life) -> None:
        """Begin another life, unless somebody has done so meanwhile."""
        if self._crew.living(life.plan.index) is None:
            self._crew.start(life.plan)

    # -- how members come there ------------------------------------------------------------------

    def _lure(self, ambush: Ambush) -> None:
        """Bring a member into the state where the ambush is, if it can be."""
        life = self._crew.living(ambush.member)
        if life is None:
            return
        state, refusals = ambush.state, self._refusals[life.process]
        codes = _LURED_BY.get(state)
        if codes is not None:
            api, code = codes
            until = self._brokers.now + self._crew.plan.session_timeout
            refusals.refuse(api, self._fitting(code, life), 1, until)
            self._crew.tell_ambush(Ploy.REFUSE.name, "", self._crew.plan.session_timeout)
        if state is MemberState.DORMANT:
            seconds = self._crew.plan.rebalance_timeout * LONGEST
            life.application.stalled_until = self._brokers.now + seconds
            self._crew.tell_ambush(Ploy.STALL.name, life.plan.label, seconds)
        elif state is MemberState.LEFT:
            self._have(life, 0.0, self._close, life)
        elif state in _GOING:
            self._have(life, 0.0, self._apply, life, Unsubscribed())
            self._have(life, ambush.seconds, self._subscribe, life, life.plan.topics)
        elif state in _ROUND:
            self._have(life, 0.0, self._apply, life, EnforceRebalance("a lure"))

    # -- what is done ----------------------------------------------------------------------------

    def _spring(self, ambush: Ambush, life: Life, refusals: Refusals) -> None:
        coordinators = ambush.ploy in (Ploy.REFUSE, Ploy.CROSS)
        target = "" if coordinators else life.plan.label
        self._crew.tell_ambush(ambush.ploy.name, target, ambush.seconds)
        if ambush.linger:
            self._linger(ambush, life, refusals)
        match ambush.ploy:
            case Ploy.REFUSE:
                self._refuse(ambush, life, refusals)
            case Ploy.CROSS:
                stable = ambush.state is MemberState.STABLE
                later = ambush.seconds if stable else 0.0
                self._have(life, later, self._cross, ambush, life, refusals)
            case Ploy.STALL:
                life.application.stalled_until = self._brokers.now + ambush.seconds
            case Ploy.MUTE:
                for assignor in life.member.settings.assignors:
                    assert isinstance(assignor, Faltering)
                    assignor.mute_until = self._brokers.now + ambush.seconds
            case Ploy.FAIL | Ploy.LATE | Ploy.GARBLE | Ploy.AGAIN:
                self._spoil(ambush, life)
            case _:
                self._wish(ambush, life)

    def _linger(self, ambush: Ambush, life: Life, refusals: Refusals) -> None:
        """Have the state that is entered last."""
        api = _AWAITED.get(ambush.state)
        if api is not None:
            life.process.reach.late[api] = ambush.seconds
        elif ambush.state in _CALLED:
            life.application.slow_listener = ambush.seconds
        elif ambush.state is MemberState.ASSIGNING:
            self._spoil(ambush, life)
        elif ambush.state is MemberState.BACKING_OFF:
            until, code = self._brokers.now + ambush.seconds, ErrorCode.GROUP_AUTHORIZATION_FAILED
            refusals.refuse(ApiKey.JOIN_GROUP, code, 99, until)

    def _spoil(self, ambush: Ambush, life: Life) -> None:
        """Have the next errand of a leader take its time, and come to something else."""
        member, until = life.member, self._brokers.now + ambush.seconds

        def spoil(led: Led) -> tuple[Led, float]:
            member.spoil = None
            if self._brokers.now > until:
                return led, 0.0
            seconds = ambush.seconds if ambush.linger else 0.0
            return spoilt(led, ambush.ploy), seconds

        member.spoil = spoil

    # -- the coordinator -------------------------------------------------------------------------

    def _refuse(self, ambush: Ambush, life: Life, refusals: Refusals) -> None:
        until = self._brokers.now + ambush.seconds
        for api in ambush.apis:
            refusals.refuse(api, self._fitting(ambush.code, life), ambush.times, until)
        if ApiKey.OFFSET_COMMIT in ambush.apis:
            self._have(life, ambush.after, self._commit, life)

    def _cross(self, ambush: Ambush, life: Life, refusals: Refusals) -> None:
        """Have JoinGroup and a commit refused while the process stands still.

        1. JoinGroup and a commit are out; 2. the process stands still; 3. both are answered, the
        coordinator has moved; 4. it goes on, and hears of JoinGroup first: it looks for the
        coordinator when it hears of the commit.
        """
        if life.member.over:
            return
        now, trips = self._brokers.now, _TRIPS * self._crew.plan.latency
        reach, until = life.process.reach, now + trips
        refusals.refuse(ApiKey.JOIN_GROUP, ErrorCode.NOT_COORDINATOR, 1, until)
        refusals.refuse(ApiKey.OFFSET_COMMIT, self._fitting(ambush.code, life), 1, until)
        reach.late[ApiKey.OFFSET_COMMIT] = trips
        self._commit(life)
        if ambush.state is MemberState.STABLE:
            life.member.apply(EnforceRebalance("a cross"))
        self._have(life, self._crew.plan.latency / 2, self._freeze, life, 3 * trips)

    def _freeze(self, life: Life, seconds: float) -> None:
        self._crew.tell_ambush("FREEZE", life.plan.label, seconds)
        until = self._brokers.now + seconds
        life.process.frozen_until = max(life.process.frozen_until, until)

    def _fitting(self, code: ErrorCode, life: Life) -> ErrorCode:
        """Return the code of a refusal; a dynamic member has no instance id to be fenced by."""
        fenced = code is ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.UNKNOWN_MEMBER_ID if fenced and not life.plan.instance else code

    # -- the application -------------------------------------------------------------------------

    def _wish(self, ambush: Ambush, life: Life) -> None:
        every = tuple(sorted(self._crew.plan.topics))
        match ambush.ploy:
            case Ploy.SUBSCRIBE:
                others = tuple(each for each in every if each not in life.member.plan.topics)
                topics = others or every[: max(1, len(every) - 1)]
                self._have(life, ambush.after, self._subscribe, life, topics)
            case Ploy.UNSUBSCRIBE:
                self._have(life, ambush.after, self._apply, life, Unsubscribed())
                later = ambush.after + ambush.seconds
                self._have(life, later, self._subscribe, life, life.plan.topics)
            case Ploy.CLOSE:
                self._have(life, ambush.after, self._close, life)
            case _:
                event = EnforceRebalance("somebody wants one")
                self._have(life, ambush.after, self._apply, life, event)

    def _have(self, life: Life, after: float, act: Callable[..., None], *args: object) -> None:
        life.process.at(self._brokers.now + after, act, *args)

    def _commit(self, life: Life) -> None:
        """Commit what is done, and a position that is sought: nothing to commit is no question."""
        if not life.member.over:
            life.application.seek_back(1)
            life.application.commit_done()

    def _subscribe(self, life: Life, topics: tuple[str, ...]) -> None:
        if life.member.over:
            self._apply(life, Subscribed(frozenset(topics)))
        else:
            life.member.subscribe(topics)

    def _close(self, life: Life) -> None:
        member, now = life.member, self._brokers.now
        if member.over:
            self._apply(life, CloseRequested(Leave.DEFAULT, "it closes again", now, now))
        else:
            member.close()

    def _apply(self, life: Life, event: Event) -> None:
        """Let a machine hear of a wish, also after its end."""
        member = life.member
        if not member.over:
            member.apply(event)
            return
        result = step(member.value, event, Moment(self._brokers.now, life.plan.luck))
        member.value = result.member
        member.fired.extend(result.rows)
        beyond = [each for each in result.effects if not isinstance(each, Done)]
        if beyond:
            raise LocalProtocolError(f"a member that has ended wants more: {beyond}")
