"""What to claim next, and what to hand back: looked at whenever it may have changed.

Decides: which keys are worth a claim now, which are not kept, and when to look again.
Never: claims by itself; a claim waits its moment, and looks again before it is written.
"""

import math
from collections.abc import Iterable, Iterator
from hashlib import md5
from typing import Final
from zlib import crc32

from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState
from kgroup.marshal.handing_back import hand_back, take_back
from kgroup.marshal.key_actions import fire
from kgroup.marshal.key_rows import KeyPhase, KeyTrigger
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.rules import ClaimPolicy
from kgroup.marshal.shares import (
    APART,
    SETTLED,
    is_left_to_others,
    looked,
    patience_ends,
    share_of_topics,
    surplus,
)
from kgroup.marshal.turn import Turn
from kgroup.marshal.wishing import FRESH, is_paused, pause_ends_at, wanted_partitions
from kgroup.types import Cause, Claim, TopicPartition

_LOOKS_AROUND: Final = 3.0
"""Seconds after which a member claims although its sign of presence was not read back."""

_TRYING: Final = frozenset({KeyPhase.PAUSING, KeyPhase.CLAIMING})


def plan(turn: Turn) -> None:
    """Look at everything once; the keys of this step are in the member already."""
    turn.replan = False
    turn.shares.clear()
    turn.member = replace(turn.member, sharing=looked(turn.member, turn.now))
    _forgive(turn)
    wanted = wanted_partitions(turn.member, turn.now)
    _hand_back_unwanted(turn, wanted)
    _take_back_wanted(turn, wanted)
    for tp, life in turn.member.lives.items():
        if life.phase is KeyPhase.PAUSING and tp not in wanted:
            fire(turn, tp, KeyTrigger.DROP)
    _drop_excess(turn)
    _share(turn)
    _claim(turn, wanted)
    turn.member = replace(turn.member, plan_at=_next_look(turn, wanted))


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
        if claim.tp not in wanted and not _locks_others(turn, claim):
            by_cause.setdefault(_cause(turn.member, claim.tp, turn.now), []).append(claim)
    for cause, claims in by_cause.items():
        hand_back(turn, claims, cause, cools_down=False)


def _locks_others(turn: Turn, claim: Claim) -> bool:
    """Tell whether a claim is the lock of a topic of which something else is not released yet."""
    member, tp = turn.member, claim.tp
    if not member.settings.whole_topics or tp.partition or member.dormant:
        return False
    closing = member.wishes.closing
    if closing is not None and turn.now >= closing.release_by:
        return False
    return any(
        one.topic == tp.topic and one.partition and not life.is_idle
        for one, life in member.lives.items()
    )


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
    if not _is_fair(member) or member.wishes.closing is not None or member.settings.whole_topics:
        return
    going = member.holdings.having(HoldingState.DRAINING, HoldingState.REVOKING)
    if going or now < member.sharing.given_back_at + APART:
        return
    for topic in sorted(member.wishes.of_topics()):
        held = [claim for claim in _at_rest(member) if claim.tp.topic == topic]
        settled = now >= member.sharing.stable_since.get(topic, now) + SETTLED
        left = is_left_to_others(member, topic, now)
        if held and settled and not left and surplus(member, topic, now):
            hand_back(turn, held[-1:], Cause.SHARED, cools_down=True)
            sharing = replace(turn.member.sharing, given_back_at=now)
            turn.member = replace(turn.member, sharing=sharing)
            return


def _at_rest(member: MarshalMember) -> Iterator[Claim]:
    """Yield what is held and not on its way back to a lower position."""
    for claim in member.holdings.having(HoldingState.HELD):
        life = member.life(claim.tp)
        if life.phase is KeyPhase.OWNED and not life.rewinds:
            yield claim


def _is_fair(member: MarshalMember) -> bool:
    """Tell whether it takes part in fair shares; a member with exact partitions does not."""
    return member.settings.policy is ClaimPolicy.FAIR and member.wishes.partitions is None


# -- claiming ------------------------------------------------------------------------------


def _drop_excess(turn: Turn) -> None:
    """Do not claim what others turned out to want while this member waited for its moment."""
    member = turn.member
    if not _is_fair(member) or member.settings.whole_topics:
        return
    lives = member.lives.items()
    pausing = [
        tp for tp, life in lives if life.phase is KeyPhase.PAUSING and not member.resumes(tp)
    ]
    for topic in sorted(_topics_of(pausing)):
        share = turn.share(topic)
        for tp in [tp for tp in pausing if tp.topic == topic][: max(share.own - share.quota, 0)]:
            fire(turn, tp, KeyTrigger.DROP)
            share.own -= 1
    turn.replan = False


def _claim(turn: Turn, wanted: frozenset[TopicPartition]) -> None:
    budget = _Budget(turn)
    ready = {topic: _knows_enough(turn.member, topic, turn.now) for topic in _topics_of(wanted)}
    for tp in _free(turn, wanted):
        if ready[tp.topic] and budget.takes(tp, resumed=turn.member.resumes(tp)):
            fire(turn, tp, KeyTrigger.TRY)


def _topics_of(partitions: Iterable[TopicPartition]) -> frozenset[str]:
    return frozenset(tp.topic for tp in partitions)


def _knows_enough(member: MarshalMember, topic: str, now: float) -> bool:
    """Tell whether what was read is fresh, and shows which other members are there.

    1. Fifty members start at once; 2. each has read a log without the others. Its own sign, read
    back, has those before it that were there as soon.
    """
    log = member.log_of(topic)
    if log is None or now >= log.heard_at + FRESH:
        return False
    if not member.settings.shows_itself or not _is_fair(member):
        return True
    return member.who[0] in log.presence.get(topic, {}) or now >= log.opened_at + _LOOKS_AROUND


def _free(turn: Turn, wanted: frozenset[TopicPartition]) -> Iterator[TopicPartition]:
    """Yield what may be claimed now, each member in another order."""
    member, now = turn.member, turn.now
    busy = member.still_revoking()
    idle = [tp for tp in wanted if member.life(tp).phase is KeyPhase.IDLE and tp not in busy]
    short = _short_of(turn)
    ready = [tp for tp in idle if now >= _worth_trying_at(member, tp, short)]
    salt = member.who[0] + member.who[1]
    yield from sorted(ready, key=lambda tp: (crc32(b"%s/%d" % (salt, tp.partition)), tp))


def _short_of(turn: Turn) -> frozenset[str]:
    """Return the topics of which this member has less than any member should."""
    if not _is_fair(turn.member):
        return frozenset()
    shares = {topic: turn.share(topic) for topic in turn.member.wishes.of_topics()}
    return frozenset(topic for topic, share in shares.items() if share.own < share.floor)


def _worth_trying_at(member: MarshalMember, tp: TopicPartition, short: frozenset[str]) -> float:
    """Return the instant from which a claim is worth it.

    A partition that was handed back is left to others for a while. 1. They leave before they take
    it; 2. a member that stays has less than its share: it waits for no other.
    """
    life, free_at = member.life(tp), member.claimable_at(tp)
    if tp.topic in short and not life.failures:
        return free_at
    return max(life.retry_at, free_at)


class _Budget:
    """How many more keys may be tried; counts down as they are taken."""

    __slots__ = ("_any", "_by_topic", "_whole")

    def __init__(self, turn: Turn) -> None:
        member, settings = turn.member, turn.member.settings
        self._whole = settings.whole_topics
        own = [tp for tp, life in member.lives.items() if life.phase is not KeyPhase.IDLE]
        counted = sum(tp.partition == 0 for tp in own) if self._whole else len(own)
        most = math.inf if settings.max_claims is None else settings.max_claims
        self._any = most - counted
        if settings.policy is ClaimPolicy.GRADUAL:
            trying = any(member.lives[tp].phase in _TRYING for tp in own)
            self._any = 0 if trying else min(self._any, 1)
        self._by_topic: dict[str, float] = {}
        if not _is_fair(member):
            return
        if self._whole:
            share = share_of_topics(member, turn.now)
            self._any = min(self._any, share.quota - share.own)
            return
        for topic in member.wishes.of_topics():
            share = turn.share(topic)
            self._by_topic[topic] = share.quota - share.own

    def takes(self, tp: TopicPartition, *, resumed: bool) -> bool:
        """Take one, if there is room for it; the owner of a topic's lock has room for all of it.

        A member resumes what its last process had even beyond a fair share: no other member can
        have it before the claim expires. It is handed back later, for members that have less.
        """
        if self._whole and tp.partition:
            return True
        room = self._by_topic.get(tp.topic, math.inf)
        if self._any < 1 or (room < 1 and not resumed):
            return False
        self._any -= 1
        self._by_topic[tp.topic] = room - 1
        return True


# -- looking again -------------------------------------------------------------------------


def _next_look(turn: Turn, wanted: frozenset[TopicPartition]) -> float:
    """Return the first instant at which something is different by itself."""
    member, now, short = turn.member, turn.now, _short_of(turn)
    instants = [
        _worth_trying_at(member, tp, short)
        for tp in wanted
        if member.life(tp).phase is KeyPhase.IDLE
    ]
    topics = member.wishes.of_topics()
    instants += [pause_ends_at(member, topic) for topic in topics]
    if _is_fair(member):
        instants += [at + SETTLED for at in member.sharing.stable_since.values()]
        instants.append(member.sharing.given_back_at + APART)
        instants += _departures(member)
        instants += patience_ends(member, now)
        instants += [log.opened_at + _LOOKS_AROUND for log in member.logs.values()]
    return min((at for at in instants if at > now), default=math.inf)


def _departures(member: MarshalMember) -> Iterator[float]:
    """Yield the instants at which members that show themselves no more do not count any longer."""
    for log in member.logs.values():
        for there in log.presence.values():
            yield from (log.instant_of(until) for until in there.values())


# -- placing ---------------------------------------------------------------------------------------
#
# Which partition of the coordination topic a topic's claims are written to.
#
# Decides: the hash of the original library, which is of the topic's name alone; group, partition
#     and client play no part (its PROTOCOL.md says otherwise; its code is what peers run).
# Never: how many partitions there are; metadata say so.


_TAKEN: Final = 8
"""Bytes of the digest that count, as a little-endian integer."""


def coordination_partition(topic: str, partitions: int) -> int:
    """Return the coordination partition of a topic.

    Args:
        topic: its name.
        partitions: of the coordination topic, at least 1.

    Raises:
        ValueError: there are no partitions.
    """
    if partitions < 1:
        raise ValueError(f"the coordination topic has {partitions} partitions; it needs 1 or more")
    digest = md5(topic.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:_TAKEN], "little") % partitions
