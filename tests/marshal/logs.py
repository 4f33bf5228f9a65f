"""Logs of a coordination partition, written one message a line.

Decides: what is short to say in a test: which client says what about which key, when.
"""

from collections.abc import Sequence

from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import Extension, Kind, Message, Reject, encode, write_extension
from kgroup.marshal.rules import Compat, Verdict, WorldRules
from kgroup.marshal.world import World
from kgroup.wire.records import RecordColumns, pack_headers

START = 1_700_000_000
"""Log time of a test's beginning, seconds."""


class Peer:
    """A process that writes messages.

    Args:
        client: its client id.
        instance: its process; another one for each start.
        started: seconds after `START`; None: it is of the original library, without headers.
        interval: between its heartbeats, seconds; None: it does not say.
    """

    def __init__(
        self,
        client: str,
        instance: str = "i1",
        *,
        started: int | None = 0,
        interval: int | None = None,
    ) -> None:
        self.client = client.encode()
        self.instance = instance.encode()
        self.started = started
        self.interval = interval


class Log:
    """A log that is read as it is written.

    Args:
        append_time: whether records carry the broker's time.
        complete: whether it is read from its beginning.
        compat: as in `WorldRules`.
        first: offset of the first record.
    """

    def __init__(
        self,
        *,
        append_time: bool = True,
        complete: bool = True,
        compat: Compat = Compat.AUTO,
        first: int = 0,
    ) -> None:
        self.world = World(WorldRules(append_time=append_time, complete=complete, compat=compat))
        self.rows: list[tuple[int, int, bytes | None, list[tuple[str, bytes]]]] = []
        self.at = 0
        """Seconds since `START`."""
        self._first = first
        self._append_time = append_time

    @property
    def state(self) -> KeyState:
        """Of the one key that tests speak of."""
        return self.key(0)

    def key(self, partition: int) -> KeyState:
        """Return what is known of a partition of "t", for group "g"."""
        return self.world.keys.get(Key(b"g", b"t", partition), KeyState())

    @property
    def owner(self) -> str | None:
        """Client id of the key's owner now; None when it is free."""
        owned = self.state.owned_at((START + self.at) * 1000)
        return self.state.client_id.decode() if owned else None

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.at += seconds

    def claim(self, peer: Peer, partition: int = 0, *, late: int = 0) -> Verdict | Reject:
        """Write a ClaimingPartition; `late` seconds are older than its record."""
        return self._say(Kind.CLAIMING_PARTITION, peer, partition, 0, None, late)

    def beat(
        self, peer: Peer, offset: int, epoch: int | None = None, *, late: int = 0
    ) -> Verdict | Reject:
        """Write a Heartbeat, under an epoch, or the present one."""
        return self._say(Kind.HEARTBEAT, peer, 0, offset, self._epoch(epoch), late)

    def release(self, peer: Peer, offset: int, epoch: int | None = None) -> Verdict | Reject:
        """Write a ReleasingPartition."""
        return self._say(Kind.RELEASING_PARTITION, peer, 0, offset, self._epoch(epoch), 0)

    def probe(self, peer: Peer, offset: int, epoch: int | None = None) -> Verdict | Reject:
        """Write a ClaimingMessages."""
        return self._say(Kind.CLAIMING_MESSAGES, peer, 0, offset, self._epoch(epoch), 0)

    def pause(self, peer: Peer, seconds: int) -> Verdict | Reject:
        """Write a ReleaseGroup that holds for some seconds."""
        now = START + self.at
        message = Message(
            Kind.RELEASE_GROUP, now, peer.instance, peer.client, b"g", b"", 0, now + seconds
        )
        return self.append(encode(message))

    def append(
        self, value: bytes | None, headers: list[tuple[str, bytes]] | None = None
    ) -> Verdict | Reject:
        """Write any record."""
        offset = self._first + len(self.rows)
        timestamp = (START + self.at) * 1000 if self._append_time else -1
        self.rows.append((offset, timestamp, value, headers or []))
        return self.world.apply(*self.rows[-1])

    def _epoch(self, epoch: int | None) -> int:
        return self.state.epoch if epoch is None else epoch

    def _say(
        self, kind: Kind, peer: Peer, partition: int, tail: int, epoch: int | None, late: int
    ) -> Verdict | Reject:
        time = START + self.at - late
        message = Message(kind, time, peer.instance, peer.client, b"g", b"t", partition, tail)
        if peer.started is None:
            return self.append(encode(message))
        started = (START + peer.started) * 1000
        extension = Extension(epoch, started, peer.interval)
        return self.append(encode(message), write_extension(extension))


def columns_of(
    rows: Sequence[tuple[int, int, bytes | None, Sequence[tuple[str, bytes | None]]]],
) -> RecordColumns:
    """Return records (offset, timestamp, value, headers) as those of a batch come out of a scan."""
    buffer, bounds = bytearray(), list[int]()
    for _, _, value, headers in rows:
        start = len(buffer)
        buffer += value or b""
        bounds += (start, -1, start, -1 if value is None else len(buffer), len(buffer))
        buffer += pack_headers(tuple(headers))
    offsets = [row[0] for row in rows]
    return RecordColumns(bytes(buffer), offsets, [row[1] for row in rows], bounds)
