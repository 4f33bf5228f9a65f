"""Closing in the middle of things."""

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal import GenerationEntered, MemberStopped
from tests.search.simulation.named.case import EVERY, Fault, Named, Setting, group, member
from tests.search.simulation.named.tale import Tale
from tests.search.simulation.plan import Kind, Perturbation, Plan

_DYNAMIC = tuple(each for each in EVERY if not each.static)
_JOIN, _SYNC, _LEAVE = ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP
_CLOSE_TIMEOUT = 5.0


def _closing(tale: Tale) -> float:
    return tale.when(Kind.LEAVE)


def _waited_for(tale: Tale, api: ApiKey, of: str) -> bool:
    """Tell whether an answer was awaited when the member was closed."""
    at = _closing(tale)
    return any(each.sent_at < at < each.heard_at for each in tale.exchanges(api, of))


def _left_at_once(tale: Tale, of: str) -> bool:
    """The member left under its id, and the others have a round long before a session ends."""
    at = _closing(tale)
    leaves = tale.exchanges(_LEAVE, of, after=at, before=at + _CLOSE_TIMEOUT)
    soon = tale.plan.heartbeat_interval * 2 + 1.0
    return (
        bool(leaves)
        and all(each.answer is not None for each in leaves)
        and bool(tale.all(MemberStopped, of, before=at + _CLOSE_TIMEOUT))
        and bool(tale.all(GenerationEntered, "m0", after=at, before=at + soon))
    )


# -- while JoinGroup is parked --------------------------------------------------------------------


def _closed_joining(setting: Setting) -> Plan:
    """m1 has joined the round and waits for m0, which hears of it with its next heartbeat."""
    return group(
        setting,
        (member(setting, 0), member(setting, 1)),
        Perturbation(7.0, Kind.ENFORCE, 1),
        Perturbation(7.5, Kind.LEAVE, 1),
    )


# -- while SyncGroup is parked --------------------------------------------------------------------


def _closed_syncing(setting: Setting) -> Plan:
    """m1 waits for the assignment that m0 makes; m0's SyncGroup is slow."""
    return group(
        setting,
        (member(setting, 0), member(setting, 1, starts_at=0.2)),
        Perturbation(6.9, Kind.HOLD, 0, seconds=0.8, api=_SYNC),
        Perturbation(7.0, Kind.ENFORCE, 0),
        Perturbation(7.0, Kind.ENFORCE, 1),
        Perturbation(7.5, Kind.LEAVE, 1),
    )


# -- before the first JoinGroup has an answer -----------------------------------------------------


def _closed_pending(setting: Setting) -> Plan:
    """m1 was given an id, and has not joined under it: the coordinator waits for it."""
    named = 7.0 + 3 * setting.latency
    return group(
        setting,
        (member(setting, 0), member(setting, 1, None)),
        Perturbation(7.0, Kind.JOIN),
        Perturbation(named, Kind.HOLD, 1, seconds=2.0, api=_JOIN),
        Perturbation(7.6, Kind.LEAVE, 1),
    )


def _had_an_id_only(tale: Tale) -> bool:
    named = tale.heard(_JOIN, ErrorCode.MEMBER_ID_REQUIRED, "m1")
    at = _closing(tale)
    return bool(named) and named[0].heard_at < at and not tale.all(GenerationEntered, "m1")


def _takes_its_id_along(tale: Tale) -> bool:
    """LeaveGroup is sent, and a pending id delays no member: the next one joins at once."""
    at = _closing(tale)
    leaves = tale.exchanges(_LEAVE, "m1", after=at)
    stopped = tale.all(MemberStopped, "m1", before=at + _CLOSE_TIMEOUT + 0.5)
    return bool(leaves) and bool(stopped) and leaves[0].answer is not None


# -- while no broker answers ----------------------------------------------------------------------


def _closed_alone(setting: Setting) -> Plan:
    return group(
        setting,
        (member(setting, 0), member(setting, 1)),
        Perturbation(7.0, Kind.COORDINATOR_KILLED, seconds=12.0),
        Perturbation(7.5, Kind.LEAVE, 1),
        brokers=1,
    )


def _closed_deaf(setting: Setting) -> Plan:
    """The brokers are there, and whatever is sent to them gets no answer."""
    return group(
        setting,
        (member(setting, 0), member(setting, 1)),
        Perturbation(7.0, Kind.BLACKHOLE, 1, seconds=12.0),
        Perturbation(7.5, Kind.LEAVE, 1),
    )


def _without_an_answer(tale: Tale) -> bool:
    at = _closing(tale)
    sent = tale.exchanges(_LEAVE, "m1", after=at) + tale.exchanges(
        ApiKey.OFFSET_COMMIT, "m1", after=at
    )
    return not [each for each in sent if each.answer is not None]


def _stops_in_time(tale: Tale) -> bool:
    return bool(tale.all(MemberStopped, "m1", before=_closing(tale) + _CLOSE_TIMEOUT + 0.5))


_NO_LIMIT = Fault(
    "kgroup.membership.timers",
    "    return closing.leave_by if member.state is MemberState.LEAVING else closing.release_by\n",
    "    return None\n",
)

NAMED = (
    Named(
        name="closing while JoinGroup is parked leaves the group",
        of=("symptom 30",),
        promises=("L7",),
        plan=_closed_joining,
        happened=lambda tale: _waited_for(tale, _JOIN, "m1"),
        kept=lambda tale: _left_at_once(tale, "m1"),
        settings=_DYNAMIC,
        faults=("a member goes without a LeaveGroup",),
    ),
    Named(
        name="closing while SyncGroup is parked leaves the group",
        of=("symptom 30",),
        promises=("L7",),
        plan=_closed_syncing,
        happened=lambda tale: _waited_for(tale, _SYNC, "m1"),
        kept=lambda tale: _left_at_once(tale, "m1"),
        settings=_DYNAMIC,
        faults=("a member goes without a LeaveGroup",),
    ),
    Named(
        name="closing with a member id that has not joined yet leaves the group",
        of=("symptom 30",),
        plan=_closed_pending,
        happened=_had_an_id_only,
        kept=_takes_its_id_along,
        settings=_DYNAMIC,
        faults=("a member goes without a LeaveGroup",),
    ),
    Named(
        name="closing while all brokers are dead ends in time",
        of=("symptom 7",),
        plan=_closed_alone,
        happened=_without_an_answer,
        kept=_stops_in_time,
        faults=(_NO_LIMIT,),
    ),
    Named(
        name="closing while no answer comes through ends in time",
        of=("symptom 7",),
        promises=("L7",),
        plan=_closed_deaf,
        happened=_without_an_answer,
        kept=_stops_in_time,
        faults=(_NO_LIMIT,),
    ),
)
"""Each of them tried in several kinds of groups."""
