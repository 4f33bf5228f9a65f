"""Who works on how many keys of a topic: counted once, and from then on kept as it changes.

Decides: how many keys each member of one topic has begun with, at the latest log time.
Never: looks at all keys again: a count costs what has changed since the last one, however many
    keys there are.

What a heartbeat changes about a key that is worked on is not told here, for most records are such
heartbeats: the end of a lease is looked up when it may have come. A key whose lease is over is let
go; a heartbeat that comes after all renews no tenure, and is told here (`World.renew`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from kgroup.marshal.key_state import Key, KeyState

__all__ = ["Workers"]


class Workers:
    """The members of one topic of a group; mutable, written by the world alone.

    Args:
        keys: all keys of the topic.
        states: of all keys.
        time: latest log time, milliseconds.
    """

    __slots__ = ("_ends", "_known", "_states", "_working")

    def __init__(self, keys: Iterable[Key], states: Mapping[Key, KeyState], time: int) -> None:
        self._states = states
        self._working: Counter[bytes] = Counter()
        self._known: dict[Key, tuple[bytes, int]] = {}
        self._ends: list[tuple[int, Key]] = []
        for key in keys:
            self.changed(key, time)

    def changed(self, key: Key, time: int) -> None:
        """Take in what a message has done to a key.

        Args:
            key: of the topic.
            time: latest log time, milliseconds.
        """
        state, known = self._states[key], self._known.get(key)
        works, end = state.nobodys_since(time) is None, state.beat + state.lease
        if known is not None:
            if works and known[0] == state.client_id and known[1] <= end:
                return
            self._let_go(key)
        if works:
            self.working(time)  # what is over is not kept until somebody asks
            self._known[key] = state.client_id, end
            self._working[state.client_id] += 1
            heappush(self._ends, (end, key))

    def working(self, time: int) -> Counter[bytes]:
        """Return how many keys each member works on; a view, not to be written through.

        Args:
            time: latest log time, milliseconds.
        """
        while self._ends and self._ends[0][0] <= time:
            end, key = heappop(self._ends)
            who, known_end = self._known.get(key, (b"", -1))
            if end != known_end:
                continue  # it has changed hands since
            state = self._states[key]
            later = state.beat + state.lease
            if later > time:
                self._known[key] = who, later
                heappush(self._ends, (later, key))
            else:
                self._let_go(key)
        return self._working

    def _let_go(self, key: Key) -> None:
        who, _ = self._known.pop(key)
        self._working[who] -= 1
        if not self._working[who]:
            del self._working[who]
