"""S2: one owner per partition, in time.

Decides: when two members own one partition.
Never: blames a killed process; it cannot say that it stopped, so only what it does counts.

S2: periods of one partition at different members do not overlap in time, except that a member which
    finds out late that it lost the partition may say so late, if it delivered nothing meanwhile; so
    may one that loses its membership while its listener hears of a revocation: by the coordinator's
    word, unless it was proved once more when another owned it; or because no answer proved it for
    as long as a session or a round may last, or because its application did not read for that long
    and it left (KIP-62), whatever it reads after that, or its listener took that long and it joined
    anew, or because it had unsubscribed that long ago, whatever was in hand when it did, or closes,
    and has no time left for what its listener does since before (L7), which is so after half of
    that time at the earliest; or because the lease of the key ran out, which a Marshal member has
    of each. That it does not join again meanwhile, S4 judges. Who stops need not have told of what
    it said to have lost when it joined anew. Of two generations it is the owner by the earlier one
    that must not go on, also when it hears of its partitions last. Of two that use one instance id,
    the later one takes over at once, also what the next round gives to others, and the one before
    cannot know before it is fenced, a session later at most: T2 judges what it does from then on.

The race that makes S2 wait for proof:
1. m1 is killed, or stopped with SIGSTOP; it owns t-0 and writes nothing.
2. The session ends; m2 is assigned t-0. Its period overtakes m1's.
3. a) m1 is dead: nothing more comes, no violation.
   b) m1 wakes, sees its lease is over, writes LOST: no violation, S3 judges what it delivered.
   c) m1 goes on delivering, polling or committing, or revokes: both owned it.
"""

from math import inf
from typing import ClassVar, Final

from kgroup.audit.oracles.absences import Absences
from kgroup.audit.oracles.key_lease import KeyProofs
from kgroup.audit.oracles.renounced import Renounced
from kgroup.audit.oracles.unsubscribing import Unsubscribing
from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    ClaimStep,
    CloseAsked,
    CommitStage,
    CommitStep,
    Delivered,
    Entry,
    Event,
    FaultStep,
    FetchIssued,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    RoundStored,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.journal.periods import Ending, Period, PeriodKey, Periods

__all__ = ["OneOwnerInTime"]

_REFUSING: Final = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID}
)

_RENEWING: Final = frozenset(
    {ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.OFFSET_COMMIT}
)
"""Requests that renew a session, unless the answer tells of an error; a round is none."""

_RENEWED: Final = frozenset({None, ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS})

_PROVING: Final = frozenset({ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
"""Requests whose answer without an error proves that no round went on without the member.

A heartbeat does so only of who has synced: in between the coordinator answers it without an error,
and at the end of the round's time expels who has not (the lease counts the same way).
"""


_CLOSE_SHARE: Final = 0.5
"""Of the time for closing, what a listener has at least; a limit before that excuses nobody."""

_EVICT: Final = "EVICT"
"""The fault by which an administrator removes a member; its lease goes on, and proves nothing."""


class OneOwnerInTime:
    """S2: no partition is owned by two members at once.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            ClaimStep,
            CloseAsked,
            CommitStep,
            Delivered,
            FaultStep,
            FetchIssued,
            GenerationEntered,
            JoinIssued,
            MemberStarted,
            MemberStopped,
            OwnershipStep,
            Polled,
            AnswerReceived,
            RequestSent,
            RoundStored,
            StateChanged,
        }
    )

    __slots__ = (
        "_absences",
        "_acted",
        "_asked",
        "_closing",
        "_committing",
        "_evicted",
        "_gone",
        "_instances",
        "_keys",
        "_out_of_time",
        "_overtaken",
        "_periods",
        "_proved",
        "_refused",
        "_renewed",
        "_renounced",
        "_replaced",
        "_rounds",
        "_sessions",
        "_told",
        "_unsubscribing",
        "_unsynced",
    )

    def __init__(self, periods: Periods | None = None) -> None:
        self._refused: dict[Source, Entry] = {}
        self._evicted: dict[str, float] = {}
        self._asked: dict[Source, dict[tuple[int, int], float]] = {}
        self._renewed: dict[Source, float] = {}
        self._committing: dict[Source, float] = {}
        self._proved: dict[Source, float] = {}
        self._unsynced: set[Source] = set()
        self._absences = Absences()
        self._sessions: dict[Source, float] = {}
        self._rounds: dict[Source, float] = {}
        self._gone: set[PeriodKey] = set()
        self._instances: dict[Source, str] = {}
        self._replaced: dict[str, tuple[str, float]] = {}
        self._periods = Periods() if periods is None else periods
        self._overtaken: dict[Source, dict[PeriodKey, Period]] = {}
        self._acted: dict[PeriodKey, Entry] = {}
        self._told: set[PeriodKey] = set()
        self._closing: dict[Source, float] = {}
        self._out_of_time: dict[Source, Entry] = {}
        self._unsubscribing = Unsubscribing()
        self._renounced = Renounced()
        self._keys = KeyProofs()

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if type(event) in Absences.KINDS:
            self._absences.observe(entry)
        if self._notes(entry):
            return ()
        if isinstance(event, CommitStep) and event.stage is CommitStage.OK:
            self._renew(entry.source, self._committing.pop(entry.source, -inf))
        if isinstance(event, CommitStep) and event.code in _REFUSING:
            self._refuse(entry)
        found = self._changed(entry) if type(event) in Periods.KINDS else ()
        self._unsubscribing.observe(entry)
        self._renounced.observe(entry)
        if not self._overtaken:
            return found
        mine = self._overtaken.get(entry.source)
        return (*found, *self._act(entry, mine)) if mine else found

    def _notes(self, entry: Entry) -> bool:
        """Take what tells of a member only until when it can be one; False for the rest."""
        match entry.event:
            case MemberStarted() as event:
                self._started(entry.source, event)
            case RequestSent() | AnswerReceived() as event:
                self._talked(entry, event)
            case RoundStored() as event:
                self._stored(entry, event)
            case ClaimStep() as event:
                self._keys.follow(entry, event)
            case FaultStep() as event:
                if event.fault == _EVICT and event.phase is Phase.BEGIN:
                    self._evicted[event.target] = entry.at
            case CloseAsked(timeout=timeout):
                self._closing[entry.source] = entry.at + _CLOSE_SHARE * timeout
            case StateChanged(cause=StateCause.CLOSE_LIMIT):
                # Who closes leaves then, whatever its listener does.
                if entry.at >= self._closing.get(entry.source, inf):
                    self._out_of_time.setdefault(entry.source, entry)
                return False
            case _:
                return False
        return True

    def finish(self) -> tuple[Violation, ...]:
        """Report members that went on as owners and never gave the partition up.

        Who lost its membership while its listener heard of the revocation, and dies before that
        returns, is excused like one whose listener returns late.
        """
        return tuple(
            violation
            for periods in self._overtaken.values()
            for period in periods.values()
            if period.key in self._acted and not self._was_lost(period)
            if not self._cannot_know(period, self._acted[period.key].at)
            for violation in self._tell(
                period, self._acted[period.key], "went on and never gave it up"
            )
        )

    def _started(self, source: Source, event: MemberStarted) -> None:
        if event.group_instance_id is not None:
            self._instances[source] = event.group_instance_id
        if event.session_timeout is not None:
            self._sessions[source] = event.session_timeout
        if event.rebalance_timeout is not None:
            self._rounds[source] = event.rebalance_timeout

    def _talked(self, entry: Entry, event: RequestSent | AnswerReceived) -> None:
        """Note when a session was renewed, and when the coordinator refused a member."""
        if isinstance(event, AnswerReceived) and event.error in _REFUSING:
            self._refuse(entry)
        if event.api not in _RENEWING:
            return
        asked = self._asked.setdefault(entry.source, {})
        request = (event.connection, event.correlation_id)
        if isinstance(event, RequestSent):
            if event.correlation_id == 1:
                asked.clear()  # the connection before is gone, with what was on its way
            asked[request] = entry.at
        elif request in asked:
            sent_at = asked.pop(request)
            if event.api is ApiKey.OFFSET_COMMIT:  # each partition of it has its own error
                self._committing[entry.source] = sent_at
            elif event.error in _RENEWED:
                self._renew(entry.source, sent_at)
            if event.api in _PROVING and not event.error:
                self._prove(entry.source, event.api, sent_at)

    def _refuse(self, entry: Entry) -> None:
        """Note a refusal; who was proved a member since it was overtaken is not excused by it."""
        source = entry.source
        self._refused[source] = entry
        proved = self._proved.get(source, -inf)
        for period in self._overtaken.get(source, {}).values():
            if period.revoking and period.overtaken and proved <= period.overtaken.at:
                self._gone.add(period.key)

    def _renew(self, source: Source, sent_at: float) -> None:
        self._renewed[source] = max(sent_at, self._renewed.get(source, -inf))

    def _prove(self, source: Source, api: ApiKey, sent_at: float) -> None:
        """Note that a round counted, or counts, with a member."""
        if api is ApiKey.JOIN_GROUP:
            self._unsynced.add(source)
        elif api is ApiKey.SYNC_GROUP:
            self._unsynced.discard(source)
        elif source in self._unsynced:
            return
        self._proved[source] = max(sent_at, self._proved.get(source, sent_at))

    def _changed(self, entry: Entry) -> tuple[Violation, ...]:
        found: list[Violation] = []
        for period in self._periods.observe(entry):
            if self._is_twin(period) or period.overtaken is None:
                continue
            if period.ended is None:
                # What it proves later is of another membership: it may have joined again by then.
                away = self._absences.is_away(period.source, period.overtaken.at)
                if away or self._is_over(period) or self._was_refused(period):
                    self._gone.add(period.key)
                self._overtaken.setdefault(period.source, {})[period.key] = period
            else:
                found.extend(self._late_end(period))
        return tuple(found)

    def _is_twin(self, period: Period) -> bool:
        instance = self._instances.get(period.source)
        if instance is None or period.overtaken is None:
            return False
        return instance == self._instances.get(period.overtaken.source)

    def _was_lost(self, period: Period) -> bool:
        """Tell whether the membership was lost while the listener heard of the revocation."""
        source, revoking = period.source, period.revoking
        if revoking is None or period.overtaken is None:
            return False
        limit = self._unsubscribing.since(*period.key) + self._rounds.get(source, inf)
        limit = min(limit, self._closed_over(period), self._absences.left(*period.key))
        return period.key in self._gone or self._is_over(period) or period.overtaken.at >= limit

    def _was_refused(self, period: Period) -> bool:
        refused, revoking = self._refused.get(period.source), period.revoking
        return refused is not None and revoking is not None and refused.seq > revoking.seq

    def _closed_over(self, period: Period) -> float:
        """Return when the time for closing was over for a listener that hears of a revocation.

        What on_revoked is called for after that is lost already. Who stops is another matter: a
        listener that hangs keeps it from telling of other losses.
        """
        over, revoking = self._out_of_time.get(period.source), period.revoking
        if over is None or revoking is None:
            return inf
        late = revoking.seq > over.seq and period.ending is not Ending.STOPPED
        return inf if late else over.at

    def _is_over(self, period: Period) -> bool:
        """Tell whether no answer until now proves its membership at the instant it was overtaken.

        The answer may just have come that tells of a session renewed long ago.
        """
        source, revoking = period.source, period.revoking
        if revoking is None or period.overtaken is None:
            return False
        renewed = self._renewed.get(source, revoking.at)
        renewed = self._keys.proved.get((source, period.claim.tp), renewed)
        session_end = renewed + self._sessions.get(source, inf)
        round_end = self._proved.get(source, revoking.at) + self._rounds.get(source, inf)
        return period.overtaken.at >= min(session_end, round_end)

    def _stored(self, entry: Entry, event: RoundStored) -> None:
        """Note under which id each instance takes part, and since when."""
        for member in event.members:
            if member.instance_id is None:
                continue
            known = self._replaced.get(member.instance_id)
            if known is None or known[0] != member.member_id:
                self._replaced[member.instance_id] = (member.member_id, entry.at)

    def _cannot_know(self, period: Period, at: float) -> bool:
        """Tell whether a member was removed or replaced, and could not know of it by then.

        By an administrator, or by a twin: 1. i is m1, and owns t-0; 2. a second process joins as
        i, and is m2 from now on; 3. the round that begins with it ends at once, for nobody waits
        for m1, and gives t-0 to another; 4. m1 goes on until it has an answer: it is fenced.
        """
        since = self._evicted.get(period.source.member, -inf)
        present, replaced = self._replaced.get(self._instances.get(period.source, ""), ("", -inf))
        if present != period.member_id:
            since = max(since, replaced)
        of_before = self._periods.asked(period) <= since  # what it was given since then it knows of
        return of_before and since <= at <= since + self._sessions.get(period.source, -inf)

    def _late_end(self, period: Period) -> tuple[Violation, ...]:
        self._overtaken.get(period.source, {}).pop(period.key, None)
        if period.ending is Ending.LOST or period.ended is None or self._was_lost(period):
            return ()
        # Who began to give it up by then may take its time.
        began = max(each.at for each in (period.revoking, period.overtaken) if each is not None)
        unknown = any(self._cannot_know(period, at) for at in (began, period.ended.at))
        if unknown or self._renounced.covers(period):
            return ()
        return self._tell(period, period.ended, f"held it until {period.ended.event.KIND}")

    def _act(self, entry: Entry, mine: dict[PeriodKey, Period]) -> tuple[Violation, ...]:
        event = entry.event
        if isinstance(event, Delivered):
            period = mine.get((entry.source, event.claim))
            if period is not None and not self._cannot_know(period, entry.at):
                return self._tell(period, entry, f"delivered {event.first} to {event.last}")
        requested = isinstance(event, CommitStep) and event.stage is CommitStage.REQUESTED
        if requested or isinstance(event, (Delivered, Polled, FetchIssued)):
            # Of these alone: it may have gone on after it was overtaken elsewhere, and died since.
            self._acted.update(dict.fromkeys(mine, entry))
        return ()

    def _tell(self, period: Period, proof: Entry, what: str) -> tuple[Violation, ...]:
        """Report a period once."""
        if period.key in self._told:
            return ()
        assert period.overtaken is not None
        assert period.began is not None
        self._told.add(period.key)
        tp = period.claim.tp
        seconds = max(0.0, proof.at - period.overtaken.at)
        text = (
            f"{tp} was assigned to {period.overtaken.source} while {period.source} owned it, "
            f"which {what}, {seconds:.3f} s later"
        )
        return (Violation("S2", text, (period.began, period.overtaken, proof), tp),)
