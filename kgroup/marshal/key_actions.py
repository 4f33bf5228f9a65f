"""What the rows of a key do: one function per action, one per guard, and `fire`, which runs a row.

Decides: how each action changes the key, and which effects it asks for; when each guard holds.
Never: decides which action runs when: the rows (`key_rows`) say that. A trigger that cannot reach
    the key in its phase came too late, and fires nothing.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.frozen import replace
from kgroup.machine.backoff import Backoff
from kgroup.marshal.admitting import end_admission
from kgroup.marshal.events import FindPosition, Note, Tell
from kgroup.marshal.key_rows import KEY_ROWS, POSSIBLE, KeyAction, KeyGuard, KeyPhase, KeyTrigger
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import ClaimPolicy, Guarantee
from kgroup.marshal.turn import Turn
from kgroup.marshal.wishing import is_wanted
from kgroup.types import Leave, TopicPartition

_LONGEST_PAUSE: Final = 3.0
_PAUSE_PER_MEMBER: Final = 0.05
_LONGEST_BACKOFF: Final = 30.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_SEARCH: Final = 10.0
_SOON: Final = 1.0


def act(turn: Turn, life: KeyLife, action: KeyAction) -> KeyLife:
    """Carry out one action; return the key."""
    return _ARMS[action](turn, life)


def _spread(turn: Turn, life: KeyLife) -> float:
    """Return luck in [0, 1), another for each key of one step."""
    return (life.tp.partition * 0.6180339887498949 + turn.moment.chance) % 1.0


# -- claiming ------------------------------------------------------------------------------


def _pause(turn: Turn, life: KeyLife) -> KeyLife:
    """Have the claim wait: all members in need see a key become free in the same second.

    A member that has more waits longer, and finds the key taken.
    """
    member, topic = turn.member, life.tp.topic
    if member.standing(life.tp).owned and not member.claimable_at(life.tp):
        return replace(life, claim_at=turn.now)  # of its own last process: no other may have it
    share = turn.share(topic)
    others = share.members - 1
    pause = _spread(turn, life) * min(_LONGEST_PAUSE, _PAUSE_PER_MEMBER * others)
    if member.settings.policy is ClaimPolicy.GRADUAL:
        pause = _spread(turn, life) * _LONGEST_PAUSE
    return replace(life, claim_at=turn.now + pause * (1 + share.own / max(share.quota, 1)))


def _send_claim(turn: Turn, life: KeyLife) -> KeyLife:
    life = replace(life, epoch=None, expires_at=None, proved=False, logged=None)
    return turn.write(life, Kind.CLAIMING_PARTITION, 0)


def _take_epoch(turn: Turn, life: KeyLife) -> KeyLife:
    assert turn.read is not None
    sent_at = turn.now if turn.settled is None else turn.settled.sent_at
    end = sent_at + _term(turn, life)
    sent = turn.read.standing.offset or 0
    return replace(
        life, epoch=turn.read.offset, expires_at=end, write=None, beat_at=math.inf,
        sent=sent,
    )  # fmt: skip


def _find_position(turn: Turn, life: KeyLife) -> KeyLife:
    """Ask where to begin, by what the log says at the place of the claim, not before."""
    ticket = turn.draw()
    known = turn.member.standing(life.tp).offset
    # Also when the log ends with a release: 1. a batch behind it is handed out at most once, 2. the
    # tail of the log is cut off, and it ends with the release again. An administrator that moves a
    # group's positions back commits before it releases.
    furthest = turn.member.settings.guarantee is Guarantee.AT_MOST_ONCE
    turn.effects.append(FindPosition(ticket, life.tp, known, furthest))
    return replace(life, locating=ticket, locate_at=math.inf)


def _locate_later(turn: Turn, life: KeyLife) -> KeyLife:
    assert turn.error is not None
    turn.effects.append(Tell(Note.NO_POSITION, str(life.tp), turn.error))
    failures = min(life.failures + 1, 16)
    backoff = Backoff(_FIRST_PAUSE, _LONGEST_SEARCH, jitter=0.5, failures=failures)
    locate_at = turn.now + backoff.pause(_spread(turn, life))
    return replace(life, locating=None, failures=failures, locate_at=locate_at)


def _begin_at(turn: Turn, life: KeyLife) -> KeyLife:
    return replace(life, locating=None, position=turn.found)


# -- owning --------------------------------------------------------------------------------


def _send_beat(turn: Turn, life: KeyLife) -> KeyLife:
    if life.write is not None:
        return replace(life, beat_at=turn.now)  # as soon as that is settled
    assert life.position is not None
    position = max(life.position, life.sent)
    interval = turn.member.settings.beat_interval * (0.9 + 0.2 * _spread(turn, life))
    life = replace(life, beat_at=turn.now + interval, beaten_at=turn.now, sent=position)
    return turn.write(life, Kind.HEARTBEAT, position)


def _prove(turn: Turn, life: KeyLife) -> KeyLife:
    """Let the claim live on from the sending: no reader saw the heartbeat before.

    The position is committed with the group coordinator once in each interval, even if it stands
    still: 1. a commit may have failed unseen, or one of a former owner may have come late; 2. a
    group without members keeps no position for longer than a week behind its last commit.
    """
    write = turn.settled
    assert write is not None
    member = turn.member
    again = member.commit_trouble or member.settings.guarantee is Guarantee.AT_MOST_ONCE
    again = again or turn.now >= life.committed_at + member.settings.interval
    if life.logged != write.tail or again:
        # A batch that was refused meanwhile was not handed out: its end is not committed.
        wanted = write.tail if life.position is None else min(write.tail, life.position)
        turn.published[life.tp] = wanted
        life = replace(life, committed_at=turn.now)
    end = write.sent_at + _term(turn, life)
    return replace(life, expires_at=end, logged=write.tail, proved=True, failures=0)


def _own(turn: Turn, life: KeyLife) -> KeyLife:
    if life.claim is None:
        turn.gained.append(life.tp)
    return replace(life, rewinds=False)


def _send_release(turn: Turn, life: KeyLife) -> KeyLife:
    if life.write is not None:
        return replace(life, beat_at=turn.now)  # as soon as that is settled
    assert life.position is not None
    return turn.write(life, Kind.RELEASING_PARTITION, life.position)


def _beat_later(turn: Turn, life: KeyLife) -> KeyLife:
    return replace(life, beat_at=turn.now + _SOON)


# -- ending --------------------------------------------------------------------------------


def _lose(turn: Turn, life: KeyLife) -> KeyLife:
    life = end_admission(turn, life)
    if life.claim is not None:
        turn.lost.append(life.claim)
    return replace(life, claim=None, rewinds=False)


def _forget(turn: Turn, life: KeyLife) -> KeyLife:
    life = end_admission(turn, life)
    return KeyLife(
        life.tp, life.phase, retry_at=life.retry_at, failures=life.failures,
        cools_down=life.cools_down,
    )  # fmt: skip


def _back_off(turn: Turn, life: KeyLife) -> KeyLife:
    failures = min(life.failures + 1, 16)
    backoff = Backoff(_FIRST_PAUSE, _LONGEST_BACKOFF, jitter=0.5, failures=failures)
    return replace(life, failures=failures, retry_at=turn.now + backoff.pause(_spread(turn, life)))


def _cool_down(turn: Turn, life: KeyLife) -> KeyLife:
    retry_at = turn.now + turn.member.settings.interval if life.cools_down else turn.now
    return replace(life, failures=0, cools_down=False, retry_at=retry_at)


def _term(turn: Turn, life: KeyLife) -> float:
    """Return how long after its sending a heartbeat can be relied on, seconds.

    The others count from the time in the log. If that is the broker's, it is later than the
    sending. If it is ours, it was rounded down to whole seconds, as theirs will be; and a peer of
    the original library compares it with its own clock, which does not lag behind by a second.
    """
    member = turn.member
    ttl, log = member.settings.ttl, member.log_of(life.tp.topic)
    # A peer that writes about one key of the group may claim the next one.
    if log is None or log.is_go or member.is_beside_peers:
        return ttl * 3 / 4 - 2.0
    return ttl * 7 / 8 if log.append_time else ttl * 3 / 4 - 1.0


_ARMS: Final[Mapping[KeyAction, Callable[[Turn, KeyLife], KeyLife]]] = MappingProxyType(
    {
        KeyAction.PAUSE: _pause,
        KeyAction.SEND_CLAIM: _send_claim,
        KeyAction.TAKE_EPOCH: _take_epoch,
        KeyAction.FIND_POSITION: _find_position,
        KeyAction.LOCATE_LATER: _locate_later,
        KeyAction.BEGIN_AT: _begin_at,
        KeyAction.SEND_BEAT: _send_beat,
        KeyAction.PROVE: _prove,
        KeyAction.OWN: _own,
        KeyAction.SEND_RELEASE: _send_release,
        KeyAction.LOSE: _lose,
        KeyAction.FORGET: _forget,
        KeyAction.BACK_OFF: _back_off,
        KeyAction.COOL_DOWN: _cool_down,
        KeyAction.BEAT_LATER: _beat_later,
    }
)
"""Complete: the coverage theorem has every action in a row."""


# -- firing ----------------------------------------------------------------------------------------


_G = KeyGuard

FAMILIES: Final = (
    frozenset({_G.FREE, _G.NOT_FREE}),
    frozenset({_G.WANTED, _G.UNWANTED}),
    frozenset({_G.KNOWS_POSITION, _G.SEEKS_POSITION}),
    frozenset({_G.REWINDS, _G.ENDS}),
    frozenset({_G.RELEASES, _G.REMAINS}),
)
"""Of each, exactly one holds at any time."""


def holds(member: MarshalMember, life: KeyLife, guard: KeyGuard, now: float) -> bool:
    """Tell whether a guard holds for a key at an instant."""
    return _ASKED[guard](member, life, now)


def _wanted(member: MarshalMember, life: KeyLife, now: float) -> bool:
    return is_wanted(member, life.tp, now) and _has_room(member, life)


def _has_room(member: MarshalMember, life: KeyLife) -> bool:
    """Tell whether a member that takes no more than so much may have one more.

    1. A claim is given up, because it was not read back in time; 2. another key is claimed instead;
    3. the first claim arrives, and is accepted.
    """
    most = member.settings.max_claims
    if most is None or member.settings.whole_topics or life.claim is not None:
        return True
    return sum(one.tp != life.tp and _has(one) for one in member.lives.values()) < most


def _has(life: KeyLife) -> bool:
    return life.claim is not None or life.phase in (KeyPhase.LOCATING, KeyPhase.CONFIRMING)


def _free(member: MarshalMember, life: KeyLife, now: float) -> bool:
    return _wanted(member, life, now) and now >= member.claimable_at(life.tp)


def _remains(member: MarshalMember, life: KeyLife, _: float) -> bool:
    closing = member.wishes.closing
    return closing is not None and closing.mode is Leave.REMAIN and not life.rewinds


_ASKED: Final[Mapping[KeyGuard, Callable[[MarshalMember, KeyLife, float], bool]]] = (
    MappingProxyType(
        {
            _G.FREE: _free,
            _G.NOT_FREE: lambda member, life, now: not _free(member, life, now),
            _G.WANTED: _wanted,
            _G.UNWANTED: lambda member, life, now: not _wanted(member, life, now),
            _G.KNOWS_POSITION: lambda _, life, __: life.rewinds,
            _G.SEEKS_POSITION: lambda _, life, __: not life.rewinds,
            _G.REWINDS: lambda _, life, __: life.rewinds,
            _G.ENDS: lambda _, life, __: not life.rewinds,
            _G.RELEASES: lambda member, life, now: not _remains(member, life, now),
            _G.REMAINS: _remains,
        }
    )
)
"""Complete: the coverage theorem has every guard in a family, and every family in a row."""


# -- firing ----------------------------------------------------------------------------------------


def fire(turn: Turn, tp: TopicPartition, trigger: KeyTrigger) -> bool:
    """Fire the row of a key for a trigger; tell whether there was one."""
    life = turn.life(tp)
    if trigger not in POSSIBLE[life.phase]:
        return False
    row = KEY_ROWS.find(
        life.phase, trigger, lambda guard: holds(turn.member, life, guard, turn.now)
    )
    turn.fired.append((tp, row))
    moved = replace(life, phase=row.to)
    for action in row.do:
        moved = act(turn, moved, action)
    # What is over may be worth another claim: the plan did not look at it while it was under way.
    turn.replan = turn.replan or (row.to is KeyPhase.IDLE and row.at is not KeyPhase.IDLE)
    turn.put(moved)
    return True
