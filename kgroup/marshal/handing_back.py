"""Giving up what is owned: no more records, then the listener, then a release.

Decides: the order, and how long what is in hand is waited for.
Never: releases what the application still works on, except at its deadline.
"""

from collections.abc import Iterable

from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState, HoldingTrigger
from kgroup.machine.wishes import Drained, ListenerDone
from kgroup.marshal.admitting import end_admission
from kgroup.marshal.events import Note, Tell
from kgroup.marshal.key_actions import fire
from kgroup.marshal.key_rows import KeyTrigger
from kgroup.marshal.turn import Turn
from kgroup.types import Cause, ChangeKind, Claim, TopicPartition


def hand_back(turn: Turn, claims: Iterable[Claim], cause: Cause, *, cools_down: bool) -> None:
    """Stop handing out what some claims are for; the rest follows when nothing is in hand.

    Args:
        turn: the step.
        claims: that are held.
        cause: why.
        cools_down: whether others are to have it for a while.
    """
    claims = tuple(claims)
    if not claims:
        return
    closing = turn.member.wishes.closing
    limit = turn.now + turn.member.settings.rebalance_timeout
    limit = limit if closing is None else min(limit, closing.release_by)
    turn.put_holdings(turn.member.holdings.after(HoldingTrigger.RELEASED, claims))
    for claim in claims:
        before = turn.life(claim.tp)
        life = end_admission(turn, before)
        if before.admission is not None and life.logged is not None:
            turn.published[claim.tp] = life.logged  # the batch was not handed out
        turn.put(replace(life, drain_until=limit, cools_down=cools_down, cause=cause))


def take_back(turn: Turn, claims: Iterable[Claim]) -> None:
    """Keep what was about to be handed back, and is wanted again."""
    claims = tuple(claims)
    if claims:
        turn.put_holdings(turn.member.holdings.after(HoldingTrigger.RETURNED, claims))
    for claim in claims:
        turn.put(replace(turn.life(claim.tp), drain_until=None, cools_down=False, cause=None))


def hear_drained(turn: Turn, event: Drained) -> None:
    """Tell the listener of what is not in hand any more."""
    drained = frozenset(event.claims)
    draining = turn.member.holdings.having(HoldingState.DRAINING)
    _revoke(turn, tuple(claim for claim in draining if claim in drained))


def cut_drains(turn: Turn, claims: Iterable[Claim]) -> None:
    """Do not wait for what is in hand any longer."""
    draining = frozenset(turn.member.holdings.having(HoldingState.DRAINING))
    cut = tuple(claim for claim in claims if claim in draining)
    if cut:
        names = ", ".join(str(claim.tp) for claim in cut)
        turn.effects.append(Tell(Note.DRAIN_CUT, names))
    _revoke(turn, cut)


def _revoke(turn: Turn, claims: tuple[Claim, ...]) -> None:
    if not claims:
        return
    turn.put_holdings(turn.member.holdings.after(HoldingTrigger.DRAINED, claims))
    by_cause: dict[Cause, list[Claim]] = {}
    for claim in claims:
        life = turn.life(claim.tp)
        by_cause.setdefault(life.cause or Cause.UNSUBSCRIBED, []).append(claim)
        turn.put(replace(life, drain_until=None))
    for cause, group in by_cause.items():
        turn.cause = cause
        turn.call_listener(ChangeKind.REVOKED, removed=tuple(group))


def hear_listener(turn: Turn, event: ListenerDone) -> None:
    """Go on after a call of the listener; the partitions it was called for are given up now."""
    member = turn.member
    done = next((change for change in member.changes if change.serial == event.serial), None)
    if done is None:
        return
    changes = tuple(change for change in member.changes if change is not done)
    turn.member = replace(member, changes=changes)
    turn.replan = True
    if done.kind is ChangeKind.REVOKED:
        give_up(turn, done.removed)


def give_up(turn: Turn, claims: Iterable[Claim]) -> None:
    """Release what the application has given up; of what was lost meanwhile nothing is left."""
    revoking = frozenset(turn.member.holdings.having(HoldingState.REVOKING))
    ended = tuple(claim for claim in claims if claim in revoking)
    turn.put_holdings(turn.member.holdings.after(HoldingTrigger.REVOKED, ended))
    for claim in ended:
        _release(turn, claim.tp)


def _release(turn: Turn, tp: TopicPartition) -> None:
    # One that gives its claim up for a moment, to go back, does not come back: it is not held.
    life = turn.life(tp)
    turn.put(replace(life, claim=None, leaving=life.claim, rewinds=False, cause=None))
    fire(turn, tp, KeyTrigger.GIVEN_UP)
