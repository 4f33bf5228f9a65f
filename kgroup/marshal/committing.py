"""Commits of the application, at least once: positions on their way into the log.

Decides: when a commit asks for a heartbeat, when it needs a new claim, and what answers it.
Never: answers that a position is committed before it was read back.

A position only goes forward under one claim. To commit a lower one, the member releases the key,
claims it anew and confirms it. For that moment no records are handed out, and another member may
be faster.
"""

from types import MappingProxyType
from typing import Final

from kgroup.frozen import replace
from kgroup.marshal.events import CommitRequested, Committed
from kgroup.marshal.key_actions import fire
from kgroup.marshal.key_rows import KeyPhase, KeyTrigger
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.member import PendingCommit
from kgroup.marshal.rules import Guarantee
from kgroup.marshal.turn import Turn
from kgroup.types import Claim

_APART: Final = 0.2
"""Seconds between two heartbeats of a key for the sake of commits: what is committed meanwhile
goes with the second, and the log does not grow with every record."""

_OVER: Final = "its period of ownership is over"
_BEFORE: Final = "at most once, a position is committed before its records are handed out"
_ENDED: Final = "its period of ownership ended before the position was read back from the log"


def hear_commit_request(turn: Turn, event: CommitRequested) -> None:
    """Have positions written to the log."""
    waiting: dict[Claim, int] = {}
    refused: dict[Claim, str] = {}
    for claim, offset in event.offsets.items():
        life = turn.life(claim.tp)
        if life.claim != claim:
            refused[claim] = _OVER
        elif turn.member.settings.guarantee is Guarantee.AT_MOST_ONCE:
            refused[claim] = _BEFORE
        elif not (life.logged == life.position == offset) or life.rewinds:
            # 1. A heartbeat is on its way with an older position; 2. this one is asked for. What
            # settles it was written later, so it has a ticket that is not drawn yet.
            waiting[claim] = turn.member.next_ticket
            _place(turn, life, offset)
    pending = PendingCommit(event.serial, MappingProxyType(waiting), MappingProxyType(refused))
    turn.member = replace(turn.member, commits=(*turn.member.commits, pending))


def _place(turn: Turn, life: KeyLife, offset: int) -> None:
    if offset >= life.sent or life.phase is not KeyPhase.OWNED:
        due = max(turn.now, life.beaten_at + _APART)
        turn.put(replace(life, position=offset, beat_at=min(life.beat_at, due)))
        return
    turn.put(replace(life, position=offset, rewinds=True))
    fire(turn, life.tp, KeyTrigger.REWOUND)


def answer_commits(turn: Turn) -> None:
    """Answer what this step has settled."""
    if not turn.member.commits:
        return
    kept = []
    for pending in turn.member.commits:
        left = _settle(turn, pending)
        if left.waiting:
            kept.append(left)
        else:
            turn.effects.append(Committed(left.serial, left.refused, left.unknown))
    turn.member = replace(turn.member, commits=tuple(kept))


def _settle(turn: Turn, pending: PendingCommit) -> PendingCommit:
    open_ = {
        claim: ticket
        for claim, ticket in pending.waiting.items()
        if turn.proved.get(claim, -1) < ticket
    }
    waiting = {claim: ticket for claim, ticket in open_.items() if _goes_on(turn, claim)}
    ended = [claim for claim in open_ if claim not in waiting]
    if len(waiting) == len(pending.waiting):
        return pending
    refused = MappingProxyType({**pending.refused, **dict.fromkeys(ended, _ENDED)})
    unknown = pending.unknown or bool(ended)
    return replace(pending, waiting=MappingProxyType(waiting), refused=refused, unknown=unknown)


def _goes_on(turn: Turn, claim: Claim) -> bool:
    """Tell whether something may still be read back that says a position of a claim.

    1. A position is committed; 2. its partition is given up before a heartbeat has it; 3. the
    release says it, and is read back.
    """
    life = turn.life(claim.tp)
    return claim in (life.claim, life.leaving)


def refuse_all(turn: Turn) -> None:
    """Answer what waits when the member ends: it will not be read back."""
    for pending in turn.member.commits:
        ended = dict.fromkeys(pending.waiting, _ENDED)
        refused = MappingProxyType({**pending.refused, **ended})
        unknown = pending.unknown or bool(ended)
        turn.effects.append(Committed(pending.serial, refused, unknown))
    turn.member = replace(turn.member, commits=())
