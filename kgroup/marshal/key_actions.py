"""What the rows of a key do: one arm per action.

Decides: how each action changes the key, and which effects it asks for.
Never: which action runs when; the rows say that.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.frozen import replace
from kgroup.marshal.admitting import end_admission
from kgroup.marshal.events import FindPosition, Note, Tell
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.messages import Kind
from kgroup.marshal.phases import KeyAction
from kgroup.marshal.rules import ClaimPolicy, Guarantee
from kgroup.marshal.turn import Turn

__all__ = ["act"]

_LONGEST_PAUSE: Final = 3.0
_PAUSE_PER_MEMBER: Final = 0.05
_LONGEST_BACKOFF: Final = 30.0
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
    """Have the claim wait: all who are without a partition see the same second in which it ends.

    Who has more waits longer, and finds it taken.
    """
    member, topic = turn.member, life.tp.topic
    if member.standing(life.tp).owned and not member.claimable_at(life.tp):
        return replace(life, claim_at=turn.now)  # of its own last process: nobody else may have it
    share = turn.share(topic)
    others = share.members - 1
    pause = _spread(turn, life) * min(_LONGEST_PAUSE, _PAUSE_PER_MEMBER * others)
    if member.settings.policy is ClaimPolicy.GRADUAL:
        pause = _spread(turn, life) * _LONGEST_PAUSE
    return replace(life, claim_at=turn.now + pause * (1 + share.own / max(share.quota, 1)))


def _send_claim(turn: Turn, life: KeyLife) -> KeyLife:
    life = replace(life, epoch=None, lease_end=None, proved=False, logged=None)
    return turn.write(life, Kind.CLAIMING_PARTITION, 0)


def _take_epoch(turn: Turn, life: KeyLife) -> KeyLife:
    assert turn.read is not None
    sent_at = turn.now if turn.settled is None else turn.settled.sent_at
    end = sent_at + _term(turn, life)
    sent = turn.read.standing.offset or 0
    return replace(
        life, epoch=turn.read.offset, lease_end=end, write=None, beat_at=math.inf,
        sent=sent,
    )  # fmt: skip


def _find_position(turn: Turn, life: KeyLife) -> KeyLife:
    """Ask where to begin, by what the log says at the place of the claim, not before."""
    ticket = turn.draw()
    known = turn.member.standing(life.tp).offset
    # Also when the log ends with a release: 1. a batch behind it is handed out at most once, 2. the
    # tail of the log is cut off, and it ends with the release again. Who moves a group's positions
    # back commits before it releases.
    furthest = turn.member.settings.guarantee is Guarantee.AT_MOST_ONCE
    turn.effects.append(FindPosition(ticket, life.tp, known, furthest))
    return replace(life, locating=ticket, locate_at=math.inf)


def _locate_later(turn: Turn, life: KeyLife) -> KeyLife:
    assert turn.error is not None
    turn.effects.append(Tell(Note.NO_POSITION, str(life.tp), turn.error))
    pause = min(2.0**life.failures, _LONGEST_SEARCH) * (0.5 + _spread(turn, life))
    failures = min(life.failures + 1, 16)
    return replace(life, locating=None, failures=failures, locate_at=turn.now + pause)


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
    """Count the lease from the sending: nobody can have read the heartbeat before.

    What is committed with the group coordinator is committed once more in each interval, though it
    stands still: 1. nobody knows what became of a commit, or one of a former owner came late; 2. a
    group without members keeps no position for longer than a week behind its last commit.
    """
    write = turn.settled
    assert write is not None
    member = turn.member
    again = member.commit_trouble or member.settings.guarantee is Guarantee.AT_MOST_ONCE
    again = again or turn.now >= life.committed_at + member.settings.interval
    if life.logged != write.tail or again:
        # Of a batch that was refused meanwhile nobody has got anything: that is not committed.
        wanted = write.tail if life.position is None else min(write.tail, life.position)
        turn.published[life.tp] = wanted
        life = replace(life, committed_at=turn.now)
    end = write.sent_at + _term(turn, life)
    return replace(life, lease_end=end, logged=write.tail, proved=True, failures=0)


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
    pause = min(2.0**life.failures, _LONGEST_BACKOFF) * (0.5 + _spread(turn, life))
    return replace(life, failures=min(life.failures + 1, 16), retry_at=turn.now + pause)


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
    lease, log = member.settings.lease, member.log_of(life.tp.topic)
    # Whoever writes about one key of the group may claim the next one.
    if log is None or log.is_go or member.is_beside_peers:
        return lease * 3 / 4 - 2.0
    return lease * 7 / 8 if log.append_time else lease * 3 / 4 - 1.0


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
