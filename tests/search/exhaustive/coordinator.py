"""The coordinator of the small world as a frozen value, and back into kgroup's own broker core.

Decides: what of the broker has a bearing on the group's future. Instants are relative to `NOW`.
Never: answers a request; `kgroup.testing.broker` does. There is no second model of a coordinator.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kgroup.testing.broker.agenda import Agenda, Timer
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member, Waiting
from kgroup.testing.broker.groups.shard import Shard, StoredGroup
from kgroup.testing.broker.releases import CoordinatorKind
from tests.search.exhaustive.process import Orphan
from tests.search.exhaustive.scope import GROUP, NOW

JOIN_VERSION: Final = 9
SYNC_VERSION: Final = 5


@dataclass(frozen=True, slots=True)
class Alarm:
    """One timer.

    Args:
        at: instant.
        owner: (what it belongs to, its member): one of session, pending, join, sync, load.
        act: name of what it does.
        more: its arguments beside the group and the member.
    """

    at: float
    owner: tuple[str, str]
    act: str
    more: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Seat:
    """One member as the coordinator knows it; see `Member`.

    Args:
        join: slot of the process whose JoinGroup is parked, -1 for one that has gone.
        sync: the same for SyncGroup.
    """

    member_id: str
    instance_id: str | None
    session_timeout: float
    rebalance_timeout: float
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes
    is_new: bool = False
    join: int | None = None
    sync: int | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """The group, in memory or as stored; see `Group` and `StoredGroup`."""

    phase: Phase
    was: Phase
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    seats: tuple[Seat, ...]
    pending: frozenset[str] = frozenset()
    unsynced: frozenset[str] = frozenset()
    newcomers: bool = False


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The whole coordinator.

    Args:
        room: the group in memory, None while it does not exist.
        stored: the group in the log, None while it does not exist.
        alarms: timers that run, by instant and owner.
        loading: it is reading its log.
        orphans: requests of closed connections that may still arrive.
    """

    room: Room | None = None
    stored: Room | None = None
    alarms: tuple[Alarm, ...] = ()
    loading: bool = False
    orphans: tuple[Orphan, ...] = ()


# -- out of the broker -----------------------------------------------------------------------------


def freeze(core: Core) -> Coordinator:
    """Return what a broker is now, without orphans."""
    shard = core.coordinators.shard_of(GROUP)
    group, stored = shard.groups.get(GROUP), shard.stored.get(GROUP)
    alarms = [] if group is None else _alarms(group)
    if shard.reading is not None and shard.loading:
        alarms += _alarm(shard.reading, ("load", ""))
    return Coordinator(
        room=None if group is None else _room(group),
        stored=None if stored is None else _stored(stored),
        alarms=tuple(sorted(alarms, key=lambda alarm: (alarm.at, alarm.owner))),
        loading=shard.loading,
    )


def _room(group: Group) -> Room:
    # The start of the round counts while it runs; the members that owe SyncGroup, until they sync.
    first = group.phase is Phase.PREPARING and group.was is Phase.EMPTY
    owed = group.phase in (Phase.COMPLETING, Phase.STABLE)
    return Room(
        phase=group.phase,
        was=Phase.EMPTY if first else Phase.STABLE,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id,
        seats=_seats(group.members.values(), given=group.phase is Phase.STABLE),
        pending=frozenset(group.pending),
        unsynced=frozenset(group.unsynced) if owed else frozenset(),
        newcomers=group.newcomers and first,
    )


def _stored(stored: StoredGroup) -> Room:
    phase = Phase.STABLE if stored.members else Phase.EMPTY
    return Room(
        phase=phase,
        was=Phase.STABLE,
        generation_id=stored.generation_id,
        protocol_type=stored.protocol_type,
        protocol_name=stored.protocol_name,
        leader_id=stored.leader_id,
        seats=_seats(stored.members, given=True),
    )


def _seats(members: Iterable[Member], *, given: bool) -> tuple[Seat, ...]:
    """Return the members; an assignment is of use only in the generation it was made for."""
    seats = [
        Seat(
            member_id=each.member_id,
            instance_id=each.instance_id,
            session_timeout=each.session_timeout,
            rebalance_timeout=each.rebalance_timeout,
            protocols=each.protocols,
            assignment=each.assignment if given else b"",
            is_new=each.is_new,
            join=None if each.join is None else each.join.ticket,
            sync=None if each.sync is None else each.sync.ticket,
        )
        for each in members
    ]
    return tuple(sorted(seats, key=lambda seat: seat.member_id))


def _alarms(group: Group) -> list[Alarm]:
    alarms: list[Alarm] = []
    for member in group.members.values():
        alarms += _alarm(member.session, ("session", member.member_id))
    for member_id, timer in group.pending.items():
        alarms += _alarm(timer, ("pending", member_id))
    if group.phase is Phase.PREPARING:
        alarms += _alarm(group.join_timer, ("join", ""))
    if group.phase in (Phase.COMPLETING, Phase.STABLE) and group.unsynced:
        alarms += _alarm(group.sync_timer, ("sync", ""))
    return alarms


def _alarm(timer: Timer | None, owner: tuple[str, str]) -> list[Alarm]:
    if timer is None or timer.act is None:
        return []
    act = timer.act
    if isinstance(act, partial):
        more = tuple(each for each in act.args if not isinstance(each, (Group, Member)))
        return [Alarm(timer.at, owner, act.func.__name__, more)]
    return [Alarm(timer.at, owner, getattr(act, "__name__", ""))]


# -- into the broker -------------------------------------------------------------------------------


def thaw(coordinator: Coordinator, core: Core, order: tuple[Hashable, ...] = ()) -> None:
    """Make a broker what it was.

    Args:
        coordinator: what it was.
        core: the broker; all it knew of the group is gone.
        order: owners of timers of one instant, in the order in which they are to run.
    """
    agenda = core.context.agenda = Agenda()
    agenda.now = NOW
    shard = core.coordinators.shard_of(GROUP)
    shard.groups, shard.stored = {}, {}
    shard.loading, shard.reading = coordinator.loading, None
    if coordinator.room is not None:
        shard.groups[GROUP] = _group(coordinator.room)
    if coordinator.stored is not None:
        shard.stored[GROUP] = _on_paper(coordinator.stored)
    ranks = {owner: rank for rank, owner in enumerate(order)}
    for alarm in sorted(coordinator.alarms, key=lambda each: ranks.get(each.owner, 0)):
        _set(alarm, shard, agenda)


def _group(room: Room) -> Group:
    return Group(
        GROUP,
        CoordinatorKind.NEW,
        phase=room.phase,
        was=room.was,
        generation_id=room.generation_id,
        protocol_type=room.protocol_type,
        protocol_name=room.protocol_name,
        leader_id=room.leader_id,
        members={seat.member_id: _member(seat) for seat in room.seats},
        unsynced=set(room.unsynced),
        newcomers=room.newcomers,
    )


def _on_paper(room: Room) -> StoredGroup:
    members = tuple(_member(seat) for seat in room.seats)
    return StoredGroup(
        room.generation_id, room.protocol_type, room.protocol_name, room.leader_id, members, None
    )


def _member(seat: Seat) -> Member:
    return Member(
        member_id=seat.member_id,
        instance_id=seat.instance_id,
        client_id=seat.member_id.partition("-")[0],
        client_host="/127.0.0.1",
        session_timeout=seat.session_timeout,
        rebalance_timeout=seat.rebalance_timeout,
        protocols=seat.protocols,
        assignment=seat.assignment,
        is_new=seat.is_new,
        join=None if seat.join is None else Waiting(seat.join, JOIN_VERSION),
        sync=None if seat.sync is None else Waiting(seat.sync, SYNC_VERSION),
    )


def _set(alarm: Alarm, shard: Shard, agenda: Agenda) -> None:
    kind, whose = alarm.owner
    if kind == "load":
        shard.reading = agenda.at(alarm.at, getattr(shard, alarm.act))
        return
    group = shard.groups[GROUP]
    member = (group.members[whose],) if kind == "session" else ()
    act: Callable[[], None] = partial(getattr(shard.rounds, alarm.act), group, *member, *alarm.more)
    timer = agenda.at(alarm.at, act)
    match kind:
        case "session":
            group.members[whose].session = timer
        case "pending":
            group.pending[whose] = timer
        case "join":
            group.join_timer = timer
        case _:
            group.sync_timer = timer
