"""What can be seen of one process: what it may do next, what it holds, what is wrong with it.

Decides: the promises that concern one process (S3, S6, C2, L2, no fatal end).
Never: looks at another process or the coordinator; `world` judges those together.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from kgroup.machine.claims import HoldingState
from kgroup.membership.events import RunAssignor
from kgroup.membership.states import TERMINAL
from kgroup.membership.timers import timers
from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState
from tests.search.exhaustive.canon import key_of
from tests.search.exhaustive.process import Account, Call, Lane, Process, Stage
from tests.search.exhaustive.scope import NOW, Scope

_ID: Final = re.compile(r"[abc]-\w+")


@dataclass(frozen=True, slots=True)
class Facts:
    """What can be seen of a process.

    Args:
        holds: bits of the partitions that it holds and has announced, while its lease is good.
        steady: it has what it will have: STABLE, everything held and announced, lease good.
        hurried: something of it will not wait for the clock: a message, the assignor, or more of
            the application than patience allows.
        awaits: places of calls whose request may arrive now.
        returns: places of calls that may come back now.
        lanes: connections with something on them, as (lane, node id).
        listening: a listener runs.
        draining: batches of these claims, by bit, are in hand.
        private: something of it will not wait for the clock, and the coordinator has, and will get,
            nothing from it before it moves.
        stalled: the application does not poll.
        dormant: it left because its application did not poll.
        fenced: it ended because another process uses its instance id.
        ids: member ids it knows of.
        wrong: which promise is broken, None for none.
    """

    holds: int
    steady: bool
    hurried: bool
    awaits: tuple[int, ...]
    returns: tuple[int, ...]
    lanes: tuple[tuple[Lane, int], ...]
    listening: bool
    draining: int
    private: bool
    stalled: bool
    dormant: bool
    fenced: bool
    ids: frozenset[str]
    wrong: str | None


def facts_of(process: Process, scope: Scope) -> Facts:
    """Look at a process."""
    member = process.member
    bits = {tp: 1 << place for place, tp in enumerate(scope.topic_partitions)}
    settling = member.settling()
    good = member.lease.holds(NOW)
    states = member.holdings.states
    draining = member.holdings.having(HoldingState.DRAINING)
    held = all(state is HoldingState.HELD for state in states.values())
    return Facts(
        holds=sum(bits[claim.tp] for claim in states if good and claim not in settling),
        steady=member.state is MemberState.STABLE
        and held
        and not member.changes
        and (good or not states),
        hurried=_is_hurried(process.calls) or len(member.changes) + bool(draining) > scope.patience,
        awaits=tuple(_awaits(process.calls)),
        returns=tuple(_returns(process.calls)),
        lanes=_lanes(process.calls),
        listening=bool(member.changes),
        draining=sum(bits[claim.tp] for claim in draining),
        private=_private(process.calls),
        stalled=process.stalled,
        dormant=member.state is MemberState.DORMANT,
        fenced=member.state is MemberState.FENCED,
        ids=frozenset(_ID.findall(repr(key_of((member.identity, member.lead, process.calls))))),
        wrong=_wrong(process),
    )


def _is_hurried(calls: tuple[Call, ...]) -> bool:
    """Whether anything is on its way; behind a request that is never answered nothing is."""
    stuck = {(call.lane, call.node_id) for call in calls if call.stage is Stage.MUTE}
    return any(
        call.stage in (Stage.ANSWERED, Stage.BROKEN)
        or (call.stage is Stage.SENT and (call.lane, call.node_id) not in stuck)
        for call in calls
    )


def _private(calls: tuple[Call, ...]) -> bool:
    """Whether all of it is local: see `world`."""
    outside = any(
        call.stage is Stage.PARKED
        or (call.stage is Stage.SENT and call.lane in _REMOTE)
        or call.recall  # its answer has the state of the group when it is asked
        or (isinstance(call.request, RunAssignor) and call.request.unasked)
        for call in calls
    )
    return not outside and _is_hurried(calls)


def _awaits(calls: tuple[Call, ...]) -> list[int]:
    """R18: a request is read when all before it on its connection are answered."""
    found = []
    blocked = set()
    for place, call in enumerate(calls):
        line = (call.lane, call.node_id)
        if call.stage is Stage.SENT and line not in blocked and call.lane in _REMOTE:
            found.append(place)
        if call.stage is not Stage.ANSWERED:
            blocked.add(line)
    return found


_REMOTE: Final = (Lane.JOIN, Lane.BEAT)


def _returns(calls: tuple[Call, ...]) -> list[int]:
    """Answers come in the order of their connection; searches and assignors by themselves."""
    found = []
    blocked = set()
    for place, call in enumerate(calls):
        line = (call.lane, call.node_id)
        back = call.stage in (Stage.ANSWERED, Stage.BROKEN)
        alone = call.lane not in _REMOTE and call.stage is Stage.SENT
        if alone or (back and line not in blocked):
            found.append(place)
        blocked.add(line)
    return found


def _lanes(calls: tuple[Call, ...]) -> tuple[tuple[Lane, int], ...]:
    lanes = dict.fromkeys(
        (call.lane, call.node_id)
        for call in calls
        if call.lane is not Lane.LOCAL and call.stage not in (Stage.BROKEN, Stage.MUTE)
    )
    return tuple(lanes)


# -- promises --------------------------------------------------------------------------------------


def _wrong(process: Process) -> str | None:
    member = process.member
    delivers = [claim for claim in member.holdings.states if member.may_deliver(claim, NOW)]
    if delivers and not _proved(process.account, process):
        return "S3: records may be handed out although nothing proves the lease any more"
    foreign = [claim for claim in delivers if claim not in process.announced]
    if foreign:
        return f"S6: records of {foreign[0].tp} may be handed out; the listener was not called"
    generation = member.identity.generation
    if member.may_commit() and (generation is None or generation.generation_id < 0):
        return "C2: a commit would carry no generation"
    if member.may_commit() and generation is not None and not generation.member_id:
        return "C2: a commit would carry no member id"
    if member.state is MemberState.FAILED:
        return "a member ended for good: FAILED"
    if member.state not in TERMINAL and not _goes_on(process):
        return f"L2: a {member.state.name} member waits for nothing"
    return None


def _proved(account: Account, process: Process) -> bool:
    settings = process.member.settings
    if account.confirmed_at is None or account.synced_at is None:
        return False
    session = account.confirmed_at + settings.session_timeout
    return min(session, account.synced_at + settings.rebalance_timeout) > NOW


def _goes_on(process: Process) -> bool:
    """Whether something will happen beside the end of the lease or of patience with the poll."""
    member = process.member
    if process.calls or member.changes or member.state is MemberState.DORMANT:
        return True
    if member.holdings.having(HoldingState.DRAINING):
        return True
    idle = (Trigger.LEASE_EXPIRED, Trigger.POLL_EXPIRED)
    return any(at < math.inf and timer not in idle for timer, at in timers(member))
