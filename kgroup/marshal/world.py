"""The owners of all keys, read off the log: the state of all groups of a coordination partition.

Decides: what is read, in which order, and what each record changes. The rules look at nothing but
    the log, so equal logs give equal worlds to every reader, at any time, in pieces of any size.
Never: reads a clock, believes the reader about anything, writes.
Source: the rules of dropbox/marshal, with the reader's clock replaced by log time, and claims
    fenced by the offset at which they were accepted, their epoch (`transitions`).

Log time is the broker's if the topic has LogAppendTime, and never goes back; otherwise it is what
the sender wrote. A reader that begins in the middle of the log does not know what was before it:
a key is `definite` when what went before can no longer matter.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from kgroup.marshal.key_state import LONGEST_PAUSE, Key, KeyState, Pause, Tenure
from kgroup.marshal.messages import Extension, Kind, Message, Reject, decode, read_extension
from kgroup.marshal.presence import PATIENCE_MS, Presences, Sign, Wait, is_presence
from kgroup.marshal.rules import Compat, Verdict, WorldRules
from kgroup.marshal.shares import Workers
from kgroup.marshal.transitions import Place, claim, heartbeat, probe, release, renew

_MS: Final = 1000
_MIXED_MS: Final = 600 * _MS
_TEN_YEARS_MS: Final = 3653 * 86_400 * _MS
_HASHED_AS: Final = {"ttl": "lease", "skipped_until": "passed_until", "Sign": "_Sign"}
"""Name -> what the digest calls it: readers of older versions compare their digests with ours."""
_LONGEST: Final = 64 * 1024
_PLAUSIBLE_MS: Final = range(1_388_534_400 * _MS, 4_102_444_800 * _MS)
"""From 2014, when there was no such log yet, to 2100."""


class World:
    """The state of one coordination partition; grows by one record at a time.

    Args:
        rules: how to read it.
    """

    def __init__(self, rules: WorldRules) -> None:
        self.time = -1
        """Latest log time that was read, milliseconds since the epoch; -1 before any."""
        self.next_offset = 0
        """Behind the last record."""
        self.since = -1
        """Log time of the first message that was read, milliseconds; -1 before any."""
        self.rejects: Counter[Reject] = Counter()
        """How many records were no messages, or not believed, by reason."""
        self.rejected_at: dict[Reject, int] = {}
        """Offset of the last of them, by reason."""
        self.message: Message | None = None
        """The message of the last record, None when it was none or was not believed."""
        self.peer: Extension | None = None
        """The headers of that message by which it is judged, None without."""
        self.nonce: bytes | None = None
        """By which the sender recognizes its message, even if headers do not count, or None."""
        self.is_of_original = False
        """Whether its sender does not keep kgroup's rules, whatever its headers count for."""
        self.presences = Presences()
        """The signs of presence."""
        self._rules = rules
        self._keys: dict[Key, KeyState] = {}
        self._of_topic: dict[tuple[bytes, bytes], list[Key]] = {}
        self._workers: dict[tuple[bytes, bytes], Workers] = {}
        self._paused: dict[bytes, Pause] = {}
        self._ended: dict[bytes, int] = {}
        self._ids: dict[bytes, bytes] = {}
        self._first = 0 if rules.complete else -1
        self._stamped = -1

    @property
    def keys(self) -> Mapping[Key, KeyState]:
        """Every key that was ever spoken of; a view, not to be written through."""
        return MappingProxyType(self._keys)

    def apply(
        self,
        offset: int,
        timestamp: int,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> Verdict | Reject:
        """Apply the next record of the log.

        Args:
            offset: of the record.
            timestamp: of the record, milliseconds since the epoch; -1 when it has none.
            value: of the record.
            headers: of the record.

        Returns:
            What its message did, or why it is none.
        """
        self.next_offset = offset + 1
        if self._first < 0:
            self._first = offset
        message = self._believed(value, timestamp)
        if isinstance(message, Reject):
            return self._reject(message)
        peer = read_extension(headers) if headers else None
        if isinstance(peer, Reject):
            return self._reject(peer)
        self.nonce = None if peer is None else peer.nonce
        self.is_of_original = peer is None
        if self._rules.compat is Compat.GO:
            peer = None
        if peer is not None and _names_what_is_to_come(message, peer, offset):
            return self._reject(Reject.EPOCH_RANGE)
        self.message, self.peer = message, peer
        at = self._place(message, offset, timestamp)
        if message.kind is Kind.RELEASE_GROUP:
            return self._pause(message, at)
        return self._change(message, peer, at)

    def renew(self, tenure: Tenure, offset: int, timestamp: int, sent: int, tail: int) -> bool:
        """Apply the next record, a heartbeat like one that has counted before.

        Args:
            tenure: the member and key of the message.
            offset: of the record.
            timestamp: of the record, as in `apply`.
            sent: time in the message, at least 0.
            tail: position in the message, at least 0.

        Returns:
            Whether it renews the claim; if not, nothing has happened, and `apply` has to judge.
        """
        state = tenure.state
        if state.tenure is not tenure or self.time - state.beat >= state.ttl:
            return False  # its claim had expired: to `Workers` it begins anew
        time = sent * _MS
        if self._is_far(time, timestamp):
            return False
        self.next_offset = offset + 1
        self.message = self.peer = None
        if self._rules.append_time:
            time = max(self.time, timestamp)
        if time > self.time:
            self.time = time
        if self.since < 0:
            self.since = time
        if tenure.is_of_original and time + _MIXED_MS > state.mixed_until:
            state.mixed_until = time + _MIXED_MS
        renew(state, tail, time, fenced=tenure.fenced)
        return True

    def pause_of(self, group_id: bytes) -> Pause | None:
        """Return the pause of a group, unless it is over by the latest log time."""
        pause = self._paused.get(group_id)
        return pause if pause is not None and self.time < pause.until else None

    def pause_ended_at(self, group_id: bytes) -> int:
        """Return the offset of the latest message that ended the pause of a group, -1 without."""
        return self._ended.get(group_id, -1)

    def forget(self, before: int) -> None:
        """Drop keys that nobody owns or has spoken of since a log time: as if they never were.

        A reader that goes on for weeks keeps no more than one that began then.

        Args:
            before: log time, milliseconds.
        """
        gone = [
            key
            for key, state in self._keys.items()
            if state.heard < before and not state.owned_at(self.time)
        ]
        for key in gone:
            del self._keys[key]
            self._of_topic[key[:2]].remove(key)
            self._workers.pop(key[:2], None)  # they are counted again when they are needed

    def digest(self) -> str:
        """Return a hash of everything that is known; equal logs give equal ones."""
        words = [repr((self.next_offset, self.time, sorted(self._paused.items())))]
        words += [
            f"({', '.join(map(_hashed, (*key, self._keys[key])))})" for key in sorted(self._keys)
        ]
        words += [f"({', '.join(map(_hashed, each))})" for each in self.presences.known(self.time)]
        return sha256("\n".join(words).encode()).hexdigest()

    def _believed(self, value: bytes | None, timestamp: int) -> Message | Reject:
        """Return the message of a record, unless one of its figures cannot be true."""
        if value is not None and len(value) > _LONGEST:
            return Reject.TOO_LONG
        message = decode(value)
        if isinstance(message, Reject):
            return message
        if not 0 <= message.partition < self._rules.partitions:
            return Reject.PARTITION_RANGE
        if message.tail < 0:
            return Reject.OFFSET_RANGE
        if self._is_far(message.time * _MS, timestamp):
            return Reject.TIME_RANGE
        return message

    def _is_far(self, time: int, timestamp: int) -> bool:
        """Tell whether a message says a time that cannot be that of its record.

        What the original library writes has no timestamp. Such a record proves nothing about
        another one: 1. the first says a time that is far off; 2. the next ones are right.
        """
        reference = timestamp if timestamp >= 0 else self._stamped
        if reference < 0:
            return time not in _PLAUSIBLE_MS
        if reference in _PLAUSIBLE_MS:
            self._stamped = reference
        return abs(time - reference) >= _TEN_YEARS_MS

    def _reject(self, why: Reject) -> Reject:
        self.rejects[why] += 1
        self.rejected_at[why] = self.next_offset - 1
        self.message = self.peer = None
        return why

    def _place(self, message: Message, offset: int, timestamp: int) -> Place:
        time = message.time * _MS
        if self._rules.append_time:
            # The clock of a new leader may be behind that of the former one.
            time = max(self.time, timestamp)
        self.time = max(self.time, time)
        if self.since < 0:
            self.since = time
        return Place(offset, time, self.since, self._first)

    def _pause(self, message: Message, at: Place) -> Verdict:
        seconds = min(max(message.tail - message.time, 0), LONGEST_PAUSE)
        until = at.time + seconds * _MS
        if not seconds:
            self._ended[self._same(message.group_id)] = at.offset
        self._paused[self._same(message.group_id)] = Pause(until, self._same(message.client_id))
        return Verdict.PAUSED

    def _change(self, message: Message, peer: Extension | None, at: Place) -> Verdict:
        state = self._state(message)
        if state is None:
            return self.presences.apply(message, peer, at.time, self.time)
        if self.is_of_original:
            state.mixed_until = max(state.mixed_until, at.time + _MIXED_MS)
        match message.kind:
            case Kind.HEARTBEAT:
                verdict = self._heartbeat(state, message, peer, at)
            case Kind.CLAIMING_PARTITION:
                verdict = self._claim(state, message, peer, at)
            case Kind.RELEASING_PARTITION:
                verdict = release(state, message, peer, at)
            case _:
                verdict = probe(state, message, peer)
        if self._workers:
            self._count(message)
        return verdict

    def _heartbeat(
        self, state: KeyState, message: Message, peer: Extension | None, at: Place
    ) -> Verdict:
        idle_since = state.idle_since
        strict = self._rules.compat is Compat.STRICT
        verdict = heartbeat(state, message, peer, at, strict=strict)
        if verdict is Verdict.ADOPTED or (verdict is Verdict.RENEWED and idle_since >= 0):
            self.presences.takes(message, verdict, at.time)
        return verdict

    def _claim(
        self, state: KeyState, message: Message, peer: Extension | None, at: Place
    ) -> Verdict:
        if self._barred(message, at):
            return Verdict.REFUSED
        idle_since = state.nobodys_since(at.time)
        verdict = claim(state, message, peer, at)
        if verdict is Verdict.ACCEPTED and idle_since is not None and idle_since >= 0:
            pause = self._paused.get(message.group_id)  # no member could claim while it lasted
            since = idle_since if pause is None else max(idle_since, pause.until)
            if at.time - since >= PATIENCE_MS:
                self._skip(message, since, at.time)
        self.presences.takes(message, verdict, at.time)
        return verdict

    def _skip(self, message: Message, idle_since: int, time: int) -> None:
        """Wait no longer for members that left to the sender a key that they could have taken."""
        group, topic = message.group_id, message.topic
        late = self.presences.late(group, topic, idle_since, time)
        if not late or late == [message.client_id]:
            return
        workers = self._count(message)
        if workers is None:
            keys = self._of_topic[group, topic]
            workers = self._workers[group, topic] = Workers(keys, self._keys, self.time)
        has = workers.working(self.time)
        for who in late:
            if has[who] < has[message.client_id]:
                self.presences.skip(group, topic, who, time)

    def _count(self, message: Message) -> Workers | None:
        """Keep the count of a topic, if there is one: most topics are never counted."""
        workers = self._workers.get((message.group_id, message.topic))
        if workers is not None:
            workers.changed(Key(message.group_id, message.topic, message.partition), self.time)
        return workers

    def _barred(self, message: Message, at: Place) -> bool:
        pause = self._paused.get(message.group_id)
        return pause is not None and at.time < pause.until and pause.client_id != message.client_id

    def _state(self, message: Message) -> KeyState | None:
        """Return the state of a key, a new one if there is none; None for a sign of presence."""
        key = Key(message.group_id, message.topic, message.partition)
        state = self._keys.get(key)
        if state is None and not is_presence(message.topic):
            same = self._same
            state = KeyState(definite=self._rules.complete)
            key = Key(same(key.group), same(key.topic), key.partition)
            self._keys[key] = state
            self._of_topic.setdefault(key[:2], []).append(key)
        return state

    def _same(self, word: bytes) -> bytes:
        """Return the one copy of an id that is kept."""
        return self._ids.setdefault(word, word)


def _names_what_is_to_come(message: Message, peer: Extension, offset: int) -> bool:
    """Tell whether a message names a claim that does not stand before it.

    1. A claim stood there; 2. the log lost its tail, and the claim with it; 3. its owner does not
    know that yet, and goes on. If it were believed, it would outrank every claim to come.
    """
    claims = message.kind is Kind.CLAIMING_PARTITION  # it has no epoch, whatever its headers say
    return peer.epoch is not None and peer.epoch >= offset and not claims


def _hashed(value: object) -> str:
    """Return what the digest says of a value: its `repr`, with names that never change."""
    if isinstance(value, KeyState):
        known = {each.name: getattr(value, each.name) for each in fields(value) if each.repr}
    elif isinstance(value, Sign | Wait):
        known = value._asdict()
    else:
        return repr(value)
    words = (f"{_HASHED_AS.get(name, name)}={_hashed(each)}" for name, each in known.items())
    return f"{_HASHED_AS.get(type(value).__name__, type(value).__name__)}({', '.join(words)})"
