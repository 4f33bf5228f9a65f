"""What happens to the coordinator: requests arrive, time passes, it resigns, dies, comes back.

Decides: how kgroup's broker core is driven from one frozen coordinator to the next, which ids it
gives out (few, so that they return), and where generations are counted from.
Never: answers anything itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from types import MappingProxyType
from typing import Final

from kgroup.frozen import replace
from kgroup.membership.events import GroupRequest
from kgroup.membership.group_description import IN_DOUBT, LEFT_OUT, NEW, Remembered
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Asked, HungUp, NoAnswer, Outbox
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.groups.group import Phase
from kgroup.testing.broker.mint import Mint
from kgroup.testing.broker.releases import CoordinatorKind, release_named
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.search.exhaustive.canon import FIRST, newer_answer, newer_metadata, newer_request
from tests.search.exhaustive.coordinator import (
    JOIN_VERSION,
    SYNC_VERSION,
    Coordinator,
    Room,
    Seat,
    freeze,
    thaw,
)
from tests.search.exhaustive.process import Answer, Orphan
from tests.search.exhaustive.scope import GROUP, NOW, TICK, TOPIC, Fault, Scope

_IDS: Final = ("AaAaAa", "AaAaBB", "AaBBAa", "AaBBBB", "BBAaAa", "BBAaBB", "BBBBAa", "BBBBBB")
"""Endings that Java gives one hash, so that the order of members is that of their slots."""

_NODE: Final = 1
_GONE: Final = -1
_MOST_AT_ONCE: Final = 3
_RELEASE: Final = "4.3.1"

_VERSIONS: Final[Mapping[type[GroupRequest], int]] = MappingProxyType(
    {
        JoinGroupRequest: JOIN_VERSION,
        SyncGroupRequest: SYNC_VERSION,
        HeartbeatRequest: 4,
        LeaveGroupRequest: 5,
    }
)


UPSETS: Final = (Fault.RESIGN, Fault.MOVE, Fault.CRASH, Fault.LOAD)
"""What can become of a coordinator."""


@dataclass(frozen=True, slots=True)
class Served:
    """What came of something.

    Args:
        coordinator: the coordinator now.
        answer: to the request, None when it is parked, or nothing was asked.
        replies: (slot, answer) to parked requests.
        shift: what has to be added to every generation elsewhere.
    """

    coordinator: Coordinator
    answer: Answer | None
    replies: tuple[tuple[int, Answer], ...]
    shift: int


class _Names(Mint):
    """Gives out the id that is set."""

    def __init__(self) -> None:
        super().__init__(0)
        self.next = ""

    def member_id(self, prefix: str) -> str:
        """Return the next id of a client."""
        return f"{prefix}-{self.next}"


class Counter:
    """Drives one broker core.

    Args:
        scope: settings and topics.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._names = _Names()
        context = Context(
            agenda=Agenda(),
            outbox=Outbox(),
            settings=scope.broker,
            release=release_named(_RELEASE),
            coordinator=CoordinatorKind.NEW,
            mint=self._names,
        )
        self._core = Core(context, 2)
        self._core.cluster.create_topic(TOPIC, scope.partitions)
        self._core.coordinators.homes[0] = _NODE

    # -- requests ------------------------------------------------------------------------------

    def serve(
        self,
        coordinator: Coordinator,
        slot: int,
        node_id: int,
        request: GroupRequest,
        used: frozenset[str],
    ) -> Served:
        """Let a request arrive.

        Args:
            coordinator: the coordinator.
            slot: of the process that sent it.
            node_id: 1 for the coordinator, else the broker that was it.
            request: the message.
            used: member ids that are in use anywhere.
        """
        asked = self._asked(100 + slot, slot, node_id, request, used)
        thaw(coordinator, self._core)
        self._core.ask(asked, request)
        return self._taken(coordinator, asked.ticket)

    def _asked(
        self, ticket: int, slot: int, node_id: int, request: GroupRequest, used: frozenset[str]
    ) -> Asked:
        client = self._scope.client_id(slot)
        self._names.next = next(end for end in _IDS if f"{client}-{end}" not in used)
        return Asked(ticket, node_id, slot, client, "/127.0.0.1", _VERSIONS[type(request)])

    def orphan_arrives(
        self, coordinator: Coordinator, orphan: Orphan, used: frozenset[str]
    ) -> Served:
        """Let a request of a closed connection arrive; its answer is read by nobody."""
        rest = list(coordinator.orphans)
        rest.remove(orphan)
        coordinator = replace(coordinator, orphans=tuple(rest))
        asked = self._asked(_GONE, orphan.slot, orphan.node_id, orphan.request, used)
        thaw(coordinator, self._core)
        self._core.ask(asked, orphan.request)
        return replace(self._taken(coordinator, _GONE), answer=None)

    # -- time and mishaps ----------------------------------------------------------------------

    def later(self, coordinator: Coordinator) -> Iterator[Served]:
        """Let a tick pass, with the timers of its end in every order."""
        coordinator = replace(
            coordinator,
            orphans=(),
            alarms=tuple(replace(alarm, at=alarm.at - TICK) for alarm in coordinator.alarms),
        )
        due = [alarm.owner for alarm in coordinator.alarms if alarm.at <= NOW]
        orders = list(permutations(due)) if len(due) <= _MOST_AT_ONCE else [tuple(due)]
        seen = set()
        for order in orders:
            thaw(coordinator, self._core, order)
            served = self._taken(coordinator, None)
            if served not in seen:
                seen.add(served)
                yield served

    def upset(self, coordinator: Coordinator, kind: Fault) -> Served:
        """Let the coordinator give the group up; the next coordinator reads it from the log."""
        thaw(coordinator, self._core)
        shard = self._core.coordinators.shard_of(GROUP)
        self._core.coordinators.take_over(0, _NODE, resigned=kind in UPSETS[:2])
        if kind is Fault.LOAD:
            shard.load(TICK)
        served = self._taken(coordinator, None)
        if kind is Fault.RESIGN:
            return served
        moved = (replace(each, node_id=3 - each.node_id) for each in served.coordinator.orphans)
        if kind is not Fault.MOVE:  # what was on its way to a dead broker never arrives
            moved = (each for each in moved if each.node_id == _NODE)
        return replace(
            served, coordinator=replace(served.coordinator, orphans=tuple(sorted(moved, key=repr)))
        )

    def abandon(
        self, coordinator: Coordinator, slot: int, orphans: tuple[Orphan, ...], *, gone: bool
    ) -> Coordinator:
        """Note that a process reads a parked answer no more, and what it left on its way."""
        room = coordinator.room
        if gone and room is not None:
            seats = tuple(
                replace(
                    seat,
                    join=_GONE if seat.join == slot else seat.join,
                    sync=_GONE if seat.sync == slot else seat.sync,
                )
                for seat in room.seats
            )
            room = replace(room, seats=seats)
        on_their_way = (*coordinator.orphans, *orphans) if self._scope.late_requests else ()
        return replace(coordinator, room=room, orphans=tuple(sorted(on_their_way, key=repr)))

    # -- results -------------------------------------------------------------------------------

    def _taken(self, before: Coordinator, ticket: int | None) -> Served:
        context = self._core.context
        context.agenda.run(NOW)
        answer: Answer | None = None
        replies: list[tuple[int, Answer]] = []
        for reply in context.outbox.take():
            given = reply.answer
            if isinstance(given, (HungUp, NoAnswer)) or not isinstance(given, _ANSWERS):
                continue
            if ticket is not None and reply.ticket == ticket:
                answer = given
            elif reply.ticket >= 0:
                replies.append((reply.ticket % 100, given))
        after = replace(freeze(self._core), orphans=before.orphans)
        shift = FIRST - _lowest(after)
        if shift:
            after = _newer(after, shift)
            answer = None if answer is None else newer_answer(answer, shift)
            replies = [(slot, newer_answer(each, shift)) for slot, each in replies]
        return Served(_unnamed_tickets(after), answer, tuple(replies), shift)


_ANSWERS: Final = (JoinGroupResponse, SyncGroupResponse, HeartbeatResponse, LeaveGroupResponse)


def _lowest(coordinator: Coordinator) -> int:
    known = [
        room.generation_id for room in (coordinator.room, coordinator.stored) if room is not None
    ]
    return min(known, default=FIRST)


def _newer(coordinator: Coordinator, shift: int) -> Coordinator:
    alarms = tuple(
        replace(alarm, more=(alarm.more[0] + shift,)) if alarm.owner[0] == "sync" else alarm
        for alarm in coordinator.alarms
    )
    orphans = tuple(
        replace(orphan, request=newer_request(orphan.request, shift))
        for orphan in coordinator.orphans
    )
    return replace(
        coordinator,
        room=_newer_room(coordinator.room, shift),
        stored=_newer_room(coordinator.stored, shift),
        alarms=alarms,
        orphans=tuple(sorted(orphans, key=repr)),
    )


def _newer_room(room: Room | None, shift: int) -> Room | None:
    if room is None:
        return None
    seats = tuple(
        replace(
            seat,
            protocols=tuple((name, newer_metadata(data, shift)) for name, data in seat.protocols),
        )
        for seat in room.seats
    )
    return replace(room, generation_id=room.generation_id + shift, seats=seats)


def _unnamed_tickets(coordinator: Coordinator) -> Coordinator:
    """Keep the slot of a parked request, which is all that its ticket says."""
    if coordinator.room is None:
        return coordinator
    seats = tuple(
        replace(
            seat,
            join=seat.join if seat.join is None or seat.join < 0 else seat.join % 100,
            sync=seat.sync if seat.sync is None or seat.sync < 0 else seat.sync % 100,
        )
        for seat in coordinator.room.seats
    )
    return replace(coordinator, room=replace(coordinator.room, seats=seats))


# -- what a group that stands says of itself -------------------------------------------------------


def remembered(coordinator: Coordinator, instance_id: str) -> Remembered:
    """Return what the group knows of a static member (KIP-345).

    A coordinator that loads does not say, and one in a round does not say what.
    """
    if coordinator.loading:
        return IN_DOUBT
    if coordinator.room is None:
        return NEW
    seats = _standing(coordinator)
    if not seats:
        known = any(seat.instance_id == instance_id for seat in coordinator.room.seats)
        return IN_DOUBT if known else LEFT_OUT
    count = assigned_count(coordinator)
    divided = {TOPIC: count} if count else {}
    for seat in seats:
        if seat.instance_id == instance_id:
            topics = frozenset(decode_subscription(seat.protocols[0][1]).topics)
            return Remembered(topics, frozenset(divided), divided)
    return NEW


def assigned_count(coordinator: Coordinator) -> int | None:
    """Return how many partitions a group that stands has assigned, None otherwise."""
    seats = _standing(coordinator)
    if not seats:
        return None
    return sum(len(decode_assignment(seat.assignment).partitions) for seat in seats)


def _standing(coordinator: Coordinator) -> tuple[Seat, ...]:
    room = coordinator.room
    stands = room is not None and room.phase is Phase.STABLE and not coordinator.loading
    return room.seats if room is not None and stands else ()
