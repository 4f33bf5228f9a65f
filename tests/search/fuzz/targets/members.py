"""T9: the membership machine under any events in any order.

Decides: what must hold after each step, whatever was said (crashes are findings by themselves):
L2, every state that waits is waiting for something that will come: a request or a run of the
assignor that is on its way, a listener or a batch in the application's hands, or a timer of its
own; S6, what may be delivered is owned, announced, and not about to go; C2, nothing is sent in a
generation below zero or without a member id. And when trouble ends, a member that subscribes
becomes STABLE, and one that closes has left.
"""

import math
import random
from typing import Final

from kgroup.errors import DecodeError
from kgroup.machine.claims import HoldingState
from kgroup.machine.commits import commit_request
from kgroup.machine.coordinator import CoordinatorState
from kgroup.membership.events import CallListener, RunAssignor, Send
from kgroup.membership.states import FACTS, TERMINAL
from kgroup.membership.step import next_deadline
from kgroup.membership.timers import timers
from kgroup.membership.triggers import Trigger
from kgroup.membership.value import GroupMember
from kgroup.types import ChangeKind, MemberState, OffsetAndMetadata, TopicPartition
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from tests.search.fuzz.member_life import Life
from tests.search.fuzz.target import Tape, Target, sure

_STEPS: Final = 60
_SEED: Final = 9
_TROUBLED: Final = 1500
_LONG: Final = 140
_HEALED_WITHIN: Final = 150
_ASKING: Final = (Send, RunAssignor)
_DOING: Final = (*_ASKING, CallListener)
_S = MemberState
_HANDING_BACK: Final = frozenset({_S.PREPARING, _S.RELEASING})
_LIMITS: Final = frozenset({Trigger.RELEASE_LIMIT, Trigger.CLOSE_LIMIT})
_IDLE: Final = frozenset({_S.UNSUBSCRIBED, _S.DORMANT})
"""States that wait for the application: to subscribe, to poll."""


def check(data: bytes) -> bool:
    tape = Tape(data)
    life = Life(tape)
    serial = 0
    for _ in range(_STEPS):
        if not tape.left:
            break
        ended = life.member.state in TERMINAL
        life.happen()
        sure(not ended or _is_over(life), "what has ended does nothing", life.member, life.effects)
        serial = judge(life, serial)
    _heal(life, serial)
    return life.member.state is _S.STABLE


# -- after each step -----------------------------------------------------------------------------


def judge(life: Life, serial: int) -> int:
    """Judge what happened since the last time; return the highest ticket so far."""
    member, effects = life.member, life.effects
    life.effects = ()
    waits = unmet(life)
    sure(waits is None, "L2: a state waits for nothing that will come", member.state.name, waits)
    _deliverable(life)
    _committable(member)
    for effect in effects:
        if isinstance(effect, _ASKING):
            sure(effect.ticket.serial > serial, "a ticket is drawn once", effect.ticket)
            serial = effect.ticket.serial
        if isinstance(effect, Send):
            _sendable(member, effect)
    return serial


def _is_over(life: Life) -> bool:
    doing = [each for each in life.effects if isinstance(each, _DOING)]
    return life.member.state in TERMINAL and not doing


def unmet(life: Life) -> str | None:
    """Say what a member waits for that cannot come, None when there is nothing like that."""
    member = life.member
    state = member.state
    if state in TERMINAL or state in _IDLE:
        return None
    return _unmet_search(life) or _unmet_errand(life) or _unmet_round(life)


def _unmet_search(life: Life) -> str | None:
    coordinator = life.member.coordinator
    match coordinator.state:
        case CoordinatorState.SEARCHING if coordinator.ticket not in life.outstanding:
            return "FindCoordinator is not on its way"
        case CoordinatorState.WAITING if not math.isfinite(coordinator.search_at):
            return "no search is due"
        case CoordinatorState.UNKNOWN if life.member.state is _S.FINDING:
            return "nobody looks for the coordinator"
        case CoordinatorState.KNOWN if life.member.state is _S.FINDING:
            return "the coordinator is known, but nothing is asked of it"
        case _:
            return None


def _unmet_errand(life: Life) -> str | None:
    member = life.member
    if member.heartbeat is not None and member.heartbeat not in life.outstanding:
        return "a heartbeat is awaited that is not on its way"
    awaited = FACTS[member.state].awaits
    ticket = member.round.ticket
    if awaited is None:
        return None
    if ticket is not None:
        on_its_way = ticket in life.outstanding and ticket.errand is awaited
        return None if on_its_way else f"{awaited.value} is not on its way"
    searching = member.coordinator.state in (CoordinatorState.SEARCHING, CoordinatorState.WAITING)
    return None if member.state is _S.LEAVING and searching else "no ticket is awaited"


def _unmet_round(life: Life) -> str | None:
    member = life.member
    if member.state in _HANDING_BACK:
        draining = member.holdings.having(HoldingState.DRAINING)
        revoking = member.holdings.having(HoldingState.REVOKING)
        removed = {claim for change in member.changes for claim in change.removed}
        if revoking and not removed.issuperset(revoking):
            return "a claim is revoked, but no listener was called for it"
        if not draining and not revoking and not _on_revoked_runs(member):
            return "nothing is left to be handed back"
        if not draining and not revoking and not _stops_waiting(member):
            return "a listener is waited for without an end"
    if member.state is _S.STABLE and member.heartbeat is None and not _will_beat(member):
        return "no heartbeat is due"
    if member.state is _S.RELEASING and not _stops_waiting(member):
        return "nothing ends the wait for the application"
    comes = math.isfinite(next_deadline(member)) or life.outstanding
    return None if comes else "no timer runs"


def _on_revoked_runs(member: GroupMember) -> bool:
    """Whether a listener still gives back what was lost meanwhile: it is waited for (S4)."""
    owned = set(member.holdings.claims)
    revoked = (each for each in member.changes if each.kind is ChangeKind.REVOKED)
    return any(not owned.issuperset(change.removed) for change in revoked)


def _stops_waiting(member: GroupMember) -> bool:
    """Whether a listener that never returns is left behind some time."""
    return any(timer in _LIMITS for timer, _ in timers(member))


def _will_beat(member: GroupMember) -> bool:
    if member.coordinator.state is not CoordinatorState.KNOWN:
        return member.coordinator.state is not CoordinatorState.UNKNOWN
    return member.identity.generation is not None and math.isfinite(member.heartbeat_at)


def _deliverable(life: Life) -> None:
    """S6, and that nothing is owned twice or after the end."""
    member = life.member
    if not (member.holdings.claims or life.announced or member.changes):
        return
    held = frozenset(member.holdings.having(HoldingState.HELD))
    waiting = {change.serial for change in member.changes}
    partitions = [claim.tp for claim in member.holdings.claims]
    sure(len(set(partitions)) == len(partitions), "a partition is owned once", partitions)
    sure(not partitions or member.state not in TERMINAL, "what has ended owns nothing", partitions)
    for claim in {*member.holdings.claims, *life.announced}:
        if not member.may_deliver(claim, life.now):
            continue
        sure(claim in held, "S6: only what is held is delivered", claim, member.state)
        sure(claim in life.announced, "S6: only what was announced is delivered", claim)
        sure(life.announced[claim] not in waiting, "S6: not before on_assigned returns", claim)
        sure(member.lease.holds(life.now), "S3: not after the lease", claim)
    for change in member.changes:
        if change.kind is not ChangeKind.ASSIGNED:
            gone = [claim for claim in change.removed if member.may_deliver(claim, life.now)]
            sure(not gone, "S6: nothing that was revoked or lost is delivered", gone)


def _committable(member: GroupMember) -> None:
    """C2."""
    if not member.may_commit():
        return
    generation = member.identity.generation
    assert generation is not None
    request = commit_request(generation, {TopicPartition("t", 0): OffsetAndMetadata(1)})
    sure(request.generation_id_or_member_epoch >= 0, "C2: no commit below generation 0", generation)
    sure(request.member_id, "C2: no commit without a member id", generation)


def _sendable(member: GroupMember, effect: Send) -> None:
    sure(effect.timeout > 0, "a request has time to be answered", effect)
    match effect.request:
        case HeartbeatRequest() | SyncGroupRequest() as request:
            sure(request.generation_id >= 0 and request.member_id, "a member names its id", request)
            sure(effect.node_id is not None, "to its coordinator", effect)
        case JoinGroupRequest() as request:
            for protocol in request.protocols:
                _subscribed(member, protocol.metadata)
        case _:
            pass


def _subscribed(member: GroupMember, metadata: bytes) -> None:
    """S9: after a loss a member claims nothing."""
    try:
        said = decode_subscription(metadata)
    except DecodeError as error:
        sure(False, "what a member says can be read", error)
        raise
    sure(said.generation_id is not None or not said.owned, "S9: no claim without generation", said)


# -- in the end ----------------------------------------------------------------------------------


def _heal(life: Life, serial: int) -> None:
    """Let nothing but what should happen: a member that subscribes gets into the group."""
    for _ in range(_HEALED_WITHIN):
        if _settled(life):
            return
        life.quiet()
        serial = judge(life, serial)
    wishes = life.member.wishes
    sure(False, "L1: no end of trouble", life.member.state.name, wishes, life.outstanding)


def _settled(life: Life) -> bool:
    member = life.member
    busy = life.outstanding or member.changes or member.holdings.having(HoldingState.DRAINING)
    if busy or member.state in TERMINAL:
        return member.state in TERMINAL
    if member.state is _S.UNSUBSCRIBED:
        return member.wishes.closing is None
    return member.state is _S.STABLE


def corpus() -> list[bytes]:
    """Quiet lives of every kind; and lives that are quiet for a while, and then are not."""
    quiet = [
        bytes((kind, static)) + bytes(detail if at % 2 else 0 for at in range(_LONG))
        for kind in range(4)
        for static in (0, 1)
        for detail in (0, 1, 2, 4, 7)
    ]
    dice = random.Random(_SEED)
    troubled = []
    for number in range(_TROUBLED):
        begun = quiet[number % len(quiet)][: 2 + 2 * int(dice.random() * 20)]
        # A short trouble as a rule: it says as much, and costs half.
        troubled.append(begun + dice.randbytes(_LONG * (1 + number % 4) // 4))
    return [*quiet, *troubled]


MEMBERS: Final = Target(
    name="T9",
    about="a member survives any answers in any order, waits for nothing that cannot come, "
    "delivers and commits nothing that is not its own, and comes to rest when they make sense",
    corpus=corpus,
    check=check,
    read=check,
    costs=5,
    patience=lambda _: 1.0,
    room=None,
)
