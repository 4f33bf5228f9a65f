"""The triggers that follow from a record that was read, or from an answer.

Decides: which write a record settles, what a record of another member means for a key of ours, and
    when this member must not go on at all.
Never: moves a key itself; the rows do.
"""

from types import MappingProxyType
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, CommitFailedError, FencedError, GroupError, TransportError
from kgroup.frozen import replace, with_entries
from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import Raise
from kgroup.marshal.admission import AdmissionTrigger
from kgroup.marshal.admitting import move
from kgroup.marshal.events import (
    AppendFailed,
    KeyRead,
    LogLost,
    LogOpened,
    LogRead,
    Note,
    OffsetsCommitted,
    PositionFailed,
    PositionFound,
    Tell,
)
from kgroup.marshal.key_actions import fire
from kgroup.marshal.key_rows import KeyPhase, KeyTrigger
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.member import MarshalLog
from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import Guarantee, Verdict
from kgroup.marshal.showing import sooner
from kgroup.marshal.standing import Standing
from kgroup.marshal.turn import Turn
from kgroup.marshal.wishing import FRESH
from kgroup.types import Cause, TopicPartition

_OWN_LONG_INTERVAL: Final = 60
"""What a member must announce beside peers that announce nothing."""

_DENIED: Final = frozenset(
    {ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED}
)

_TAKES: Final = frozenset({Verdict.ACCEPTED, Verdict.ADOPTED})

_MOMENT: Final = 0.1
_WHILE: Final = 1.0
"""Seconds after which it is looked at how claims of others change what there is to do."""

_SIGNS: Final = frozenset({Verdict.ACCEPTED, Verdict.ADOPTED, Verdict.RENEWED})
"""By which a process says that it owns a key."""

_OWN: Final = MappingProxyType(
    {
        (Kind.CLAIMING_PARTITION, Verdict.ACCEPTED): KeyTrigger.ACCEPTED,
        (Kind.CLAIMING_PARTITION, Verdict.REFUSED): KeyTrigger.REFUSED,
        (Kind.HEARTBEAT, Verdict.RENEWED): KeyTrigger.COUNTED,
        (Kind.HEARTBEAT, Verdict.ADOPTED): KeyTrigger.COUNTED,
        (Kind.HEARTBEAT, Verdict.VOID): KeyTrigger.VOID,
        (Kind.RELEASING_PARTITION, Verdict.RELEASED): KeyTrigger.RELEASED,
        (Kind.RELEASING_PARTITION, Verdict.VOID): KeyTrigger.VOID,
        (Kind.CLAIMING_MESSAGES, Verdict.VOID): KeyTrigger.VOID,
    }
)
"""What a record of this process means for its key."""


_SETTLES: Final = frozenset({KeyTrigger.COUNTED, KeyTrigger.RELEASED})
"""By which the position that a write of ours carries stands in the log."""


# -- the log -------------------------------------------------------------------------------


def hear_log_opened(turn: Turn, event: LogOpened) -> None:
    """Take in what the log says when it was read to its end."""
    log = MarshalLog(
        topics=event.topics,
        next_offset=event.next_offset,
        time=event.time,
        read_at=turn.now,
        since=event.since,
        append_time=event.append_time,
        complete=event.complete,
        presence=event.presence,
        limits=event.limits,
        waits=event.waits,
        pause=event.pause,
        is_go=event.is_go,
        opened_at=turn.now,
        heard_at=turn.now,
    )
    member = turn.member
    logs = with_entries(member.logs, {event.partition: log})
    standings = with_entries(member.standings, event.keys)
    turn.member = replace(member, logs=logs, standings=standings)
    turn.replan = True
    for tp, standing in event.keys.items():
        _judge_company(turn, tp, standing)
        _judge_held(turn, tp, standing)


def _judge_held(turn: Turn, tp: TopicPartition, standing: Standing) -> None:
    """Lose what others have come to own while the log was not read."""
    life = turn.life(tp)
    mine = standing.is_owner(*turn.member.who) and standing.epoch == life.epoch
    if life.epoch is not None and standing.owned and not mine:
        turn.cause = Cause.TAKEN
        fire(turn, tp, KeyTrigger.TAKEN)


def hear_log_read(turn: Turn, event: LogRead) -> None:
    """Take in what was read since."""
    member = turn.member
    before = member.logs.get(event.partition)
    if before is None:
        return  # it was lost meanwhile
    # 1. A broker's clock steps back; 2. log time stands until that clock has caught up, and what is
    # written meanwhile has the latest time that was read. No time has gone by in the log since.
    stands = before.append_time and bool(event.reads)
    read_at = turn.now if event.time > before.time or stands else before.read_at
    log = replace(
        before,
        next_offset=event.next_offset,
        time=event.time,
        read_at=read_at,
        since=event.since,
        presence=event.presence,
        limits=event.limits,
        waits=event.waits,
        pause=event.pause,
        heard_at=turn.now,
    )
    others = event.presence.keys() != before.presence.keys() or any(
        event.presence[topic].keys() != who.keys() for topic, who in before.presence.items()
    )
    others = others or (event.limits, event.waits) != (before.limits, before.waits)
    again = turn.now >= before.heard_at + FRESH
    mine = {topic for topic, who in event.presence.items() if member.who[0] in who}
    newcomer = any(member.who[0] not in before.presence.get(topic, {}) for topic in mine)
    turn.replan = turn.replan or newcomer or again or event.pause != before.pause
    if others:
        _plan_within(turn, _MOMENT)
    logs = with_entries(member.logs, {event.partition: log})
    turn.member = replace(turn.member, logs=logs)
    for read in event.reads:
        _hear_key(turn, read)
    if turn.member.delay is not None and not _is_searching(turn):
        turn.member = replace(turn.member, delay=None)  # another member has the key, too


def hear_log_lost(turn: Turn, event: LogLost) -> None:
    """Forget what was read; nothing of it can be relied on."""
    if event.error is not None:
        turn.cause = Cause.FAILED
        _fail(turn, event.error)
        return
    member = turn.member
    log = member.logs.get(event.partition)
    if log is None:
        return
    turn.cause = Cause.LOG_LOST
    if event.reason is not None:
        turn.effects.append(Tell(Note.LOG_LOST, f"partition {event.partition}: {event.reason}"))
    for tp in [tp for tp in member.lives if tp.topic in log.topics]:
        fire(turn, tp, KeyTrigger.LOG_LOST)
    member = turn.member
    logs = {number: each for number, each in member.logs.items() if number != event.partition}
    kept = {tp: each for tp, each in member.standings.items() if tp.topic not in log.topics}
    turn.member = replace(member, logs=MappingProxyType(logs), standings=MappingProxyType(kept))
    turn.replan = True


def _hear_key(turn: Turn, read: KeyRead) -> None:
    member, tp = turn.member, read.tp
    turn.read, turn.settled = read, None
    standings = with_entries(member.standings, {tp: read.standing})
    turn.member = replace(member, standings=standings)
    _judge_twin(turn, read)
    _judge_company(turn, tp, read.standing)
    if (read.client_id, read.instance_id) == member.who:
        _hear_own(turn, read)
    elif read.verdict in _TAKES:
        turn.cause = Cause.TAKEN
        fire(turn, tp, KeyTrigger.TAKEN)
    turn.replan = turn.replan or read.verdict is Verdict.RELEASED
    if read.verdict in _TAKES:
        _plan_within(turn, _WHILE)


def _plan_within(turn: Turn, seconds: float) -> None:
    """Look at everything soon: what many members do at once is looked at once."""
    plan_at = min(turn.member.plan_at, turn.now + seconds)
    turn.member = replace(turn.member, plan_at=plan_at)


def _hear_own(turn: Turn, read: KeyRead) -> None:
    """Settle the write that this record is, if it is still awaited."""
    life = turn.life(read.tp)
    write = life.write
    awaited = write is not None and read.nonce == b"%d" % write.ticket
    if awaited:
        turn.settled = write
        life = replace(life, write=None)
        turn.put(life)
    if read.kind is Kind.CLAIMING_MESSAGES and read.verdict is Verdict.PROBED:
        if awaited:
            turn.put(move(turn, life, AdmissionTrigger.PROBED))
        return
    trigger = _OWN.get((read.kind, read.verdict))
    # A claim that is accepted counts whenever it arrives; whatever else was given up, is over.
    if trigger is None or not (awaited or trigger is KeyTrigger.ACCEPTED):
        return
    if trigger is KeyTrigger.VOID:
        turn.cause = Cause.TAKEN
    fired = fire(turn, read.tp, trigger)
    if fired and life.leaving is not None and trigger in _SETTLES and turn.settled is not None:
        turn.proved[life.leaving] = turn.settled.ticket
    if fired and trigger is KeyTrigger.COUNTED:
        _published(turn, read)


def _published(turn: Turn, read: KeyRead) -> None:
    life, write = turn.life(read.tp), turn.settled
    if write is None or life.position is None:
        return  # it was left as it is
    if turn.member.trouble is not None and not _is_searching(turn):
        turn.member = replace(turn.member, trouble=None)
    if life.position < write.tail and _stays(turn, life):
        # 1. A heartbeat is on its way, or stands in the log; 2. a lower position is committed, or
        # the partition ends below it. No further heartbeat takes it back.
        turn.put(replace(life, rewinds=True))
        fire(turn, read.tp, KeyTrigger.REWOUND)
        return
    if life.claim is not None and life.position >= write.tail:
        turn.proved[life.claim] = write.ticket
    if life.admission is not None and write.tail >= life.admission.until:
        turn.put(move(turn, life, AdmissionTrigger.PUBLISHED))


def _is_searching(turn: Turn) -> bool:
    """Tell whether it is not known yet where some partition is to be begun."""
    return any(turn.life(tp).phase is KeyPhase.LOCATING for tp in turn.member.lives)


def _stays(turn: Turn, life: KeyLife) -> bool:
    """Tell whether a key is owned and not about to be released, which takes its position back."""
    states = turn.member.holdings.states
    held = life.claim is None or states.get(life.claim) is HoldingState.HELD
    return held and life.phase is KeyPhase.OWNED


# -- what must not be ----------------------------------------------------------------------


def _judge_twin(turn: Turn, read: KeyRead) -> None:
    """End this member when one that was started later under its name has come to own something.

    What stood in the log when it was opened proves nothing: 1. a process dies whose clock was
    ahead, 2. the next one reads claims of a twin that seems to be later. It waits until they are
    over; if the twin lives, its next heartbeat says so.

    Which of two is later their clocks say: of a process that moves to a host whose clock is behind
    while the former one still runs, the new one ends. Nothing in the log could say it better: which
    one wrote first may be a matter of a slow start.
    """
    member, standing, settings = turn.member, read.standing, turn.member.settings
    if member.failure is not None or not standing.owned or read.verdict not in _SIGNS:
        return
    sender, (client_id, instance_id) = (read.client_id, read.instance_id), member.who
    twin = standing.is_owner(*sender) and read.client_id == client_id
    later = standing.started is not None and standing.started > settings.started
    if twin and later and read.instance_id != instance_id:
        turn.cause = Cause.FENCED
        who = f"{settings.client_id!r} was started again and has {read.tp}"
        when = f"at {standing.started} ms by its clock, this one at {settings.started} ms by ours"
        what = "give each process a group_instance_id of its own"
        _fail(turn, FencedError(f"{who} ({when}); {what}"))


def _judge_company(turn: Turn, tp: TopicPartition, standing: Standing) -> None:
    """End this member where it must not go on: beside peers that do not keep its rules."""
    member, log, settings = turn.member, turn.member.log_of(tp.topic), turn.member.settings
    if member.failure is not None or log is None:
        return
    if not standing.is_mixed(log.time_at(turn.now)):
        return
    what = None
    if settings.guarantee is Guarantee.AT_MOST_ONCE:
        what = "at-most-once needs members that keep kgroup's rules"
    elif settings.interval < _OWN_LONG_INTERVAL:
        what = f"the heartbeat interval must be {_OWN_LONG_INTERVAL} s beside it"
    peer = f"a peer without kgroup's headers writes for group {settings.group_id!r} ({tp})"
    if what is None and not member.is_beside_peers:
        turn.member = replace(member, is_beside_peers=True)
        turn.effects.append(Tell(Note.MIXED_GROUP, f"group {settings.group_id!r}, {tp}"))
    if what is not None:
        turn.cause = Cause.FAILED
        _fail(turn, GroupError(f"{peer}: {what}"))


def _fail(turn: Turn, error: Exception) -> None:
    turn.member = replace(turn.member, failure=error)
    for tp in [*turn.member.lives, *(turn.lives.keys() - turn.member.lives.keys())]:
        fire(turn, tp, KeyTrigger.TAKEN)
    turn.effects.append(Raise(error))


# -- replies -------------------------------------------------------------------------------


def hear_append_failed(turn: Turn, event: AppendFailed) -> None:
    """Give up a write that is known not to have been written; wait on while that is not known."""
    lives = turn.member.lives.values()
    life = next((one for one in lives if one.write and one.write.ticket == event.ticket), None)
    if event.maybe:
        return
    turn.effects.append(Tell(Note.WRITE_REFUSED, "" if life is None else str(life.tp), event.error))
    if not _passes(event.error):
        turn.member = replace(turn.member, trouble=event.error)
    if life is None:
        turn.member = sooner(turn.member, turn.now)
        return
    probe = life.write is not None and life.write.kind is Kind.CLAIMING_MESSAGES
    life = replace(life, write=None)
    turn.put(move(turn, life, AdmissionTrigger.FAILED) if probe else life)
    if not probe:
        fire(turn, life.tp, KeyTrigger.WRITE_REFUSED)


def hear_position(turn: Turn, event: PositionFound | PositionFailed) -> None:
    """Begin where a partition is to be read from, or give it up."""
    lives = turn.member.lives.values()
    life = next((one for one in lives if one.locating == event.ticket), None)
    if life is None or life.phase is not KeyPhase.LOCATING:
        return
    if isinstance(event, PositionFound):
        turn.found = event.offset
        fire(turn, life.tp, KeyTrigger.LOCATED)
        return
    turn.error = event.error
    if not _passes(event.error):
        turn.member = replace(turn.member, trouble=event.error)
    elif life.failures:
        # Once may be an election. Reads go on meanwhile: other partitions have their positions.
        turn.member = replace(turn.member, delay=event.error)
    fire(turn, life.tp, KeyTrigger.UNLOCATED)


def _passes(error: Exception) -> bool:
    """Tell whether what went wrong ends by itself: it is tried again without a report."""
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, TimeoutError | TransportError)


def hear_commit(turn: Turn, event: OffsetsCommitted) -> None:
    """Move the batch that waits for it; otherwise nothing depends on it."""
    member = turn.member
    commits = member.offset_commits - {event.ticket}
    # A group that is coordinated in another way, too, is nothing that a member can live with, nor
    # are positions that stand in the log alone, which is forgotten one day. Its claims are none the
    # worse for it, and the next heartbeat tries again.
    kept = None if event.error is None else member.commit_trouble
    trouble = event.error if _is_refused(event.error) else kept
    turn.member = replace(member, offset_commits=commits, commit_trouble=trouble)
    if event.error is not None:
        turn.effects.append(Tell(Note.COMMIT_REFUSED, str(event.error), event.error))
    for life in member.lives.values():
        batch = life.admission
        if batch is not None and batch.committing == event.ticket:
            good = event.error is None
            trigger = AdmissionTrigger.COMMITTED if good else AdmissionTrigger.FAILED
            turn.put(move(turn, turn.life(life.tp), trigger))


def _is_refused(error: Exception | None) -> bool:
    """Tell whether a commit was refused for good: somebody has to do something about it."""
    if not isinstance(error, CommitFailedError):
        return isinstance(error, GroupError)
    codes = {each.code for each in error.outcome.partitions.values()}
    return not codes.isdisjoint(_DENIED)
