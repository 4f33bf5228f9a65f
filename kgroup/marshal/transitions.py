"""What a message does to its key: the rules of ownership, one function per type of message.

Decides: how a race of claims ends (`claim`); the owner of a key after a claim, a heartbeat, a
    release or a probe.
Never: knows another key, or more of the log than the record and what the key remembers.

1. The first claim of a free key wins: of two claims the one at the lower offset, for every reader.
   Its offset is the epoch of the ownership. A claim of a key that is not free is refused.
2. A process that was started later under its owner's client id takes a key without waiting.
3. A heartbeat counts under the present epoch only. A higher epoch is believed: its sender saw a
   claim that stands before the place where this reader began.
4. A heartbeat without an epoch comes from the original library. Its members obey such a heartbeat
   even if the key has another owner, so we do, too. Its offset is the epoch, and fences the former
   owner.
5. A release counts from its owner alone, also a second one.
"""

from typing import Final, NamedTuple

from kgroup.marshal.key_state import QUIET_MS, TTL_MS, KeyState
from kgroup.marshal.messages import Extension, Message
from kgroup.marshal.rules import Verdict

_MS: Final = 1000


class Place(NamedTuple):
    """Where in the log a message stands.

    Args:
        offset: of its record.
        time: log time, milliseconds.
        since: log time of the first message that was read, milliseconds.
        first: offset of the first record that was read.
    """

    offset: int
    time: int
    since: int
    first: int


def claim(state: KeyState, message: Message, peer: Extension | None, at: Place) -> Verdict:
    """Take the key for the sender if it is free, or if the sender succeeds its own last process.

    All that race for a key read the same log: each finds the claim at the lowest offset ACCEPTED,
    and the others REFUSED.
    """
    free = _free(state, at)
    state.heard = max(state.heard, at.time)
    if not free and not _succeeds(state, message, peer):
        return Verdict.REFUSED
    idle_since = state.nobodys_since(at.time)
    _own(state, message, peer, at)
    state.epoch = at.offset
    state.definite = True
    state.idle_since = at.time if idle_since is None or idle_since < 0 else idle_since
    return Verdict.ACCEPTED


def heartbeat(
    state: KeyState, message: Message, peer: Extension | None, at: Place, *, strict: bool
) -> Verdict:
    """Renew the claim of the owner, or learn the owner; `strict`: without rule 4."""
    state.heard = max(state.heard, at.time)
    known = state.owned and state.is_owner(message.client_id, message.instance_id)
    if strict and peer is None and not known:
        return Verdict.VOID
    epoch = _epoch(state, peer, at, known=known)
    if epoch > state.epoch:
        _own(state, message, peer, at)
        state.epoch = epoch
        state.offset = message.tail
        state.definite = state.definite or epoch >= at.first
        state.idle_since = -1
        return Verdict.ADOPTED
    if not known or epoch < state.epoch:
        return Verdict.VOID
    renew(state, message.tail, at.time, fenced=peer is not None)
    return Verdict.RENEWED


def renew(state: KeyState, tail: int, time: int, *, fenced: bool) -> None:
    """Renew the claim of the owner at a log time; `fenced`: its heartbeat has headers."""
    # Under one epoch a position goes forward only: of two heartbeats that were delivered twice, or
    # in the wrong order, the further one counts. The original library takes the last one.
    if not fenced or tail > state.offset:
        state.offset = tail
    if time > state.heard:
        state.heard = time
    if time > state.beat:
        state.beat = time
    state.idle_since = -1


def release(state: KeyState, message: Message, peer: Extension | None, at: Place) -> Verdict:
    """Free the key, and keep where its owner stopped."""
    if not state.is_owner(message.client_id, message.instance_id) or state.epoch < 0:
        return Verdict.VOID
    if peer is not None and peer.epoch is not None and peer.epoch != state.epoch:
        return Verdict.VOID
    state.owned, state.tenure = False, None
    state.offset = message.tail
    state.released_at = at.time
    if state.idle_since < 0:
        state.idle_since = at.time
    return Verdict.RELEASED


def probe(state: KeyState, message: Message, peer: Extension | None) -> Verdict:
    """Tell whether the sender is the owner at this place of the log."""
    known = state.owned and state.is_owner(message.client_id, message.instance_id)
    current = peer is None or peer.epoch is None or peer.epoch == state.epoch
    return Verdict.PROBED if known and current else Verdict.VOID


def _free(state: KeyState, at: Place) -> bool:
    if state.definite:
        return not state.owned_at(at.time)
    # A member of which nothing was read yet may own it; two minutes of silence say no.
    watched = at.time - at.since >= QUIET_MS
    return watched and (state.heard < 0 or at.time - state.heard >= QUIET_MS)


def _succeeds(state: KeyState, message: Message, peer: Extension | None) -> bool:
    return (
        peer is not None
        and peer.started is not None
        and state.owned
        and state.client_id == message.client_id
        and state.instance_id != message.instance_id
        and peer.started > state.started
    )


def _epoch(state: KeyState, peer: Extension | None, at: Place, *, known: bool) -> int:
    if peer is not None and peer.epoch is not None:
        return peer.epoch
    return state.epoch if known else at.offset


def _own(state: KeyState, message: Message, peer: Extension | None, at: Place) -> None:
    state.owned, state.tenure = True, None
    state.client_id, state.instance_id = message.client_id, message.instance_id
    state.started = -1 if peer is None or peer.started is None else peer.started
    interval = None if peer is None else peer.interval
    state.ttl = TTL_MS if interval is None else 2 * interval * _MS
    state.beat = at.time
    state.released_at = -1
