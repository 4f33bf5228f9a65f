"""Folds a log into a world the short way: most records are heartbeats like others before them.

Decides: which heartbeats are so like a former one, of the same sender about the same key under the
    same epoch, that nothing but four numbers has to be read of them.
Never: differs from `World.apply`, to which all other records go; is kept behind the end of the log:
    the reader drops it there.

A heartbeat is like a former one when all of its value between the time and the position is the
same, and all of its headers but the value of the last, the nonce. What is known of the former one
(its sender, that it is a message, what its headers say) is true of it, too.
"""

from collections.abc import Iterable
from typing import Final

from kgroup.marshal.key_state import Key, Tenure
from kgroup.marshal.messages import NONCE
from kgroup.marshal.rules import Verdict
from kgroup.marshal.world import World
from kgroup.wire.records import Headers, RawRow, RecordColumns, pack_headers
from kgroup.wire.records.varints import pack_varint

_HEARTBEAT: Final = b"Heartbeat/1/"
_DIGITS: Final = 18
"""A number of more may be too large for its field."""

_LONGEST: Final = 1024
"""Of a sender and a key that are remembered."""

_A_KEY: Final = 4
"""Senders that are remembered, on average."""

_COUNTS: Final = (Verdict.RENEWED, Verdict.ADOPTED)

_Known = tuple[bytes, Tenure | None]
"""Headers as they are stored, up to the value of the nonce; and what a heartbeat with them said."""

_NOBODY: Final[_Known] = (b"", None)


class CatchUp:
    """Folds records without their verdicts.

    Args:
        world: that grows by them.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[bytes, _Known] = {}
        self._opening = b""
        self._sent = -1

    @property
    def remembered(self) -> int:
        """Of how many senders and keys something is kept."""
        return len(self._known)

    def fold(self, columns: RecordColumns, rows: Iterable[RawRow]) -> None:
        """Apply records, in order.

        Args:
            columns: where they are.
            rows: some of its `raw_rows`.
        """
        known, like, renew = self._known.get, columns.buffer.startswith, self._world.renew
        opening, sent = self._opening, self._sent
        for offset, timestamp, value, at in rows:
            if sent < 0 or value is None or not value.startswith(opening):
                opening, sent = _opening(value)
            if value is None or sent < 0:
                self._world.apply(offset, timestamp, value, columns.headers_at(at))
                continue
            who, _, tail = value[len(opening) :].rpartition(b"/")
            headers, tenure = known(who, _NOBODY)
            if (
                tenure is None
                or not like(headers, at)
                or not tail.isdigit()
                or len(tail) > _DIGITS
                or not renew(tenure, offset, timestamp, sent, int(tail))
            ):
                self._heard(columns, who, (offset, timestamp, value, at))
        self._opening, self._sent = opening, sent

    def _heard(self, columns: RecordColumns, who: bytes, row: RawRow) -> None:
        """Apply a heartbeat, and remember what others like it need not be read for."""
        offset, timestamp, value, at = row
        world, headers = self._world, columns.headers_at(at)
        verdict = world.apply(offset, timestamp, value, headers)
        message, peer = world.message, world.peer
        if verdict not in _COUNTS or message is None or len(who) > _LONGEST:
            return
        state = world.keys.get(Key(message.group_id, message.topic, message.partition))
        front = _front(columns.buffer, at, headers)
        if state is None or front is None or (peer is not None and peer.epoch is None):
            return
        if len(self._known) > _A_KEY * len(world.keys):
            self._known.clear()  # senders come and go
        tenure = Tenure(state, fenced=peer is not None, is_of_original=world.is_of_original)
        state.tenure = tenure
        self._known[who] = front, tenure


def _opening(value: bytes | None) -> tuple[bytes, int]:
    """Return what is in front of the sender of a heartbeat, and its time; -1 if it is none."""
    if value is not None and value.startswith(_HEARTBEAT):
        time = value[len(_HEARTBEAT) : len(_HEARTBEAT) + _DIGITS].partition(b"/")[0]
        if time.isdigit() and len(time) < _DIGITS:
            return b"%b%b/" % (_HEARTBEAT, time), int(time)
    return b"", -1


def _front(buffer: bytes, at: int, headers: Headers) -> bytes | None:
    """Return headers as they are stored, up to the value of the nonce; None without a nonce."""
    stored = pack_headers(headers)
    if headers:
        name, nonce = headers[-1]
        if name != NONCE or nonce is None:
            return None
        stored = stored[: -len(nonce) - len(pack_varint(len(nonce)))]
    return stored if buffer.startswith(stored, at) else None
