"""One process of the original library, reduced likewise: no headers, its own clock, its own rule.

Decides: what such a peer writes beside kgroup's members; at least once only.
"""

from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Kind, Message
from tests.marshal.go_rule import GoClaim, GoWorld
from tests.marshal.model.process import Identity, Surroundings
from tests.marshal.model.shared import EPOCH

_BATCH = 5


class Original:
    """One member of the original library.

    Args:
        who: its identity.
        around: the run that it is part of.
        keys: it wants.
    """

    def __init__(self, who: Identity, around: Surroundings, keys: list[Key]) -> None:
        self.who = who
        self.deaf_until = 0.0
        self._around = around
        self._world = GoWorld()
        self._next = 0
        self._owned: dict[Key, int] = {}
        self._claiming: dict[Key, float] = {}
        self._beat_at: dict[Key, float] = {}
        self._keys = keys

    def step(self, now: float) -> None:
        """Read what there is, and do what is to be done."""
        clock = int(EPOCH + now + self.who.skew)
        entries = self._around.log.entries
        self._next = min(self._next, len(entries))
        for entry in entries[self._next :]:
            self._world.apply(entry.value, clock)
        self._next = len(entries)
        for key in self._keys:
            self._act(key, clock, now)

    def _act(self, key: Key, clock: int, now: float) -> None:
        claim = self._world.claims.get(key, GoClaim())
        mine = claim.claimed(clock) and claim.client == self.who.client_id
        if key in self._owned:
            if mine:
                self._serve(key, now)
            else:
                del self._owned[key]
        elif mine:
            committed = self._around.shelf.committed.get(key, 0)
            self._owned[key] = claim.current_offset or committed
            self._around.shelf.begin(key, self._owned[key])
            self._say(Kind.HEARTBEAT, key, self._owned[key], now)
        elif not claim.claimed(clock) and now >= self._claiming.get(key, 0.0):
            self._claiming[key] = now + 60
            self._say(Kind.CLAIMING_PARTITION, key, 0, now)

    def _serve(self, key: Key, now: float) -> None:
        dice, at = self._around.dice, self._owned[key]
        upto = at + dice.randint(1, _BATCH)
        self._around.shelf.hand_out(key, range(at, upto), (0, self.who.client_id), now, once=False)
        self._owned[key] = upto
        if dice.random() < 0.03:
            del self._owned[key]
            self._say(Kind.RELEASING_PARTITION, key, upto, now)
        elif now - self._beat_at[key] > dice.uniform(15, 44):
            self._around.shelf.committed[key] = upto
            self._say(Kind.HEARTBEAT, key, upto, now)

    def _say(self, kind: Kind, key: Key, tail: int, now: float) -> None:
        if kind is Kind.HEARTBEAT:
            self._beat_at[key] = now
        who = self.who
        time = int(EPOCH + now + who.skew)
        message = Message(kind, time, who.instance_id, who.client_id, *key, tail)
        self._around.send(now, message, ())
