"""What to claim next, and what to hand back: looked at whenever it may have changed.

Decides: which keys are worth a claim now, which are not kept, and when to look again.
Never: claims by itself; a claim waits its moment, and looks again before it is written.
"""

import math
from collections.abc import Iterator
from zlib import crc32

from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState
from kgroup.marshal.firing import fire
from kgroup.marshal.handing_back import hand_back, take_back
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.phases import KeyPhase, KeyTrigger
from kgroup.marshal.settings import ClaimPolicy
from kgroup.marshal.shares import APART, SETTLED, looked, share_of, surplus
from kgroup.marshal.turn import Turn
from kgroup.marshal.wishing import is_paused, pause_ends_at, wanted_partitions
from kgroup.types import Cause, Claim, TopicPartition

__all__ = ["plan"]


def plan(turn: Turn) -> None:
    """Look at everything once; the keys of this step are in the member already."""
    turn.replan = False
    turn.member = replace(turn.member, sharing=looked(turn.member, turn.now))
    _forgive(turn)
    wanted = wanted_partitions(turn.member, turn.now)
    _hand_back_unwanted(turn, wanted)
    _take_back_wanted(turn, wanted)
    for tp, life in turn.member.lives.items():
        if life.phase is KeyPhase.PAUSING and tp not in wanted:
            fire(turn, tp, KeyTrigger.DROP)
    _share(turn)
    _claim(turn, wanted)
    turn.member = replace(turn.member, plan_at=_next_look(turn.member, wanted, turn.now))


def _forgive(turn: Turn) -> None:
    """Let topics that were given up whole be claimed again, once nothing of them is left."""
    busy = {claim.tp.topic for claim in turn.member.holdings.states}
    left = turn.member.forfeited & busy
    if left != turn.member.forfeited:
        turn.member = replace(turn.member, forfeited=left)


# -- handing back --------------------------------------------------------------------------


def _hand_back_unwanted(turn: Turn, wanted: frozenset[TopicPartition]) -> None:
    held = turn.member.holdings.having(HoldingState.HELD)
    by_cause: dict[Cause, list[Claim]] = {}
    for claim in held:
        if claim.tp not in wanted:
            by_cause.setdefault(_cause(turn.member, claim.tp, turn.now), []).append(claim)
    for cause, claims in by_cause.items():
        hand_back(turn, claims, cause, cools_down=False)


def _cause(member: MarshalMember, tp: TopicPartition, now: float) -> Cause:
    if member.wishes.closing is not None:
        return Cause.CLOSING
    if not member.wishes.wants_anything:
        return Cause.UNSUBSCRIBED
    if member.dormant:
        return Cause.POLL_TIMEOUT
    if is_paused(member, tp.topic, now):
        return Cause.GROUP_PAUSED
    if tp.topic in member.forfeited:
        return Cause.TAKEN
    asked = tp.topic in member.wishes.of_topics()
    return Cause.TOPICS_CHANGED if asked else Cause.SUBSCRIBED


def _take_back_wanted(turn: Turn, wanted: frozenset[TopicPartition]) -> None:
    draining = turn.member.holdings.having(HoldingState.DRAINING)
    kept = [claim for claim in draining if claim.tp in wanted]
    take_back(turn, [claim for claim in kept if not turn.life(claim.tp).cools_down])


def _share(turn: Turn) -> None:
    """Hand one partition back if others have less; one at a time, and not amid another."""
    member, now = turn.member, turn.now
    if member.settings.policy is not ClaimPolicy.FAIR or member.wishes.closing is not None:
        return
    going = member.holdings.having(HoldingState.DRAINING, HoldingState.REVOKING)
    if going or now < member.sharing.given_back_at + APART:
        return
    for topic in sorted(member.wishes.of_topics()):
        held = [c for c in member.holdings.having(HoldingState.HELD) if c.tp.topic == topic]
        settled = now >= member.sharing.stable_since.get(topic, now) + SETTLED
        if held and settled and surplus(member, topic, now):
            hand_back(turn, held[-1:], Cause.SHARED, cools_down=True)
            sharing = replace(turn.member.sharing, given_back_at=now)
            turn.member = replace(turn.member, sharing=sharing)
            return


# -- claiming ------------------------------------------------------------------------------


def _claim(turn: Turn, wanted: frozenset[TopicPartition]) -> None:
    budget = _Budget(turn.member, turn.now)
    for tp in _free(turn.member, wanted, turn.now):
        if budget.takes(tp.topic):
            fire(turn, tp, KeyTrigger.TRY)


def _free(
    member: MarshalMember, wanted: frozenset[TopicPartition], now: float
) -> Iterator[TopicPartition]:
    """Yield what may be claimed now, each member in another order."""
    busy = member.still_revoking()
    idle = [tp for tp in wanted if member.life(tp).phase is KeyPhase.IDLE and tp not in busy]
    ready = [tp for tp in idle if now >= max(member.life(tp).retry_at, member.claimable_at(tp))]
    salt = member.who[0] + member.who[1]
    yield from sorted(ready, key=lambda tp: (crc32(b"%s/%d" % (salt, tp.partition)), tp))


class _Budget:
    """How many more keys may be tried; counts down as they are taken."""

    __slots__ = ("_any", "_by_topic", "_member", "_now")

    def __init__(self, member: MarshalMember, now: float) -> None:
        settings, self._member, self._now = member.settings, member, now
        own = [tp for tp, life in member.lives.items() if life.phase is not KeyPhase.IDLE]
        most = math.inf if settings.max_claims is None else settings.max_claims
        self._any = most - len(own)
        if settings.policy is ClaimPolicy.GRADUAL and any(
            member.lives[tp].phase is not KeyPhase.OWNED for tp in own
        ):
            self._any = 0
        elif settings.policy is ClaimPolicy.GRADUAL:
            self._any = min(self._any, 1)
        self._by_topic: dict[str, float] = {}
        if settings.policy is ClaimPolicy.FAIR:
            for topic in member.wishes.of_topics():
                mine = sum(tp.topic == topic for tp in own)
                self._by_topic[topic] = share_of(member, topic, now).quota - mine

    def takes(self, topic: str) -> bool:
        """Take one of a topic, if there is room for it."""
        room = self._by_topic.get(topic, math.inf)
        if self._any < 1 or room < 1:
            return False
        self._any -= 1
        self._by_topic[topic] = room - 1
        return True


# -- looking again -------------------------------------------------------------------------


def _next_look(member: MarshalMember, wanted: frozenset[TopicPartition], now: float) -> float:
    """Return the first instant at which something is different by itself."""
    instants = [
        max(member.life(tp).retry_at, member.claimable_at(tp))
        for tp in wanted
        if member.life(tp).phase is KeyPhase.IDLE
    ]
    topics = member.wishes.of_topics()
    instants += [pause_ends_at(member, topic) for topic in topics]
    if member.settings.policy is ClaimPolicy.FAIR:
        instants += [at + SETTLED for at in member.sharing.stable_since.values()]
        instants.append(member.sharing.given_back_at + APART)
        instants += _departures(member)
    return min((at for at in instants if at > now), default=math.inf)


def _departures(member: MarshalMember) -> Iterator[float]:
    """Yield the instants at which members that show themselves no more do not count any longer."""
    for log in member.logs.values():
        for there in log.presence.values():
            yield from (log.instant_of(until) for until in there.values())
