"""A log of claims of one key for tests, written message by message.

Decides: that its members beat every two seconds, so that a claim is over after four.
"""

from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.spark.coordination.silver import RawRecord
from tests.spark.coordinator import T0, Rows, claims_of

TTL = 4000
"""Of a claim whose owner beats every two seconds."""


class Claims:
    """A log of claims of one key; times are seconds from its beginning."""

    def __init__(self) -> None:
        self.records: list[RawRecord] = []

    def say(
        self, at: float, kind: Kind, who: str, tail: int = 0, *, epoch: int | None = None
    ) -> int:
        """Append a message of a process of a client, both in one word: `web/1`."""
        client, _, process = who.partition("/")
        ts = T0 + int(at * 1000)
        message = Message(kind, ts // 1000, process.encode(), client.encode(), b"g", b"t", 0, tail)
        started = T0 + int(process)
        headers = write_extension(Extension(epoch=epoch, started=started, interval=2))
        given = [{"key": key, "value": value} for key, value in headers]
        offset = len(self.records)
        place = (0, offset, ts, True)
        self.records.append(RawRecord("__marshal", *place, None, encode(message), given))
        return offset

    def claim(self, at: float, who: str) -> int:
        return self.say(at, Kind.CLAIMING_PARTITION, who)

    def beat(self, at: float, who: str, epoch: int, tail: int = 0) -> int:
        return self.say(at, Kind.HEARTBEAT, who, tail, epoch=epoch)

    def release(self, at: float, who: str, epoch: int) -> int:
        return self.say(at, Kind.RELEASING_PARTITION, who, epoch=epoch)

    def gold(self) -> Rows:
        return claims_of(self.records)
