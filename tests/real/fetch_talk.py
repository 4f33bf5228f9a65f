"""Raw requests in few words, to a real broker or to the core of the in-process one.

Decides: how a request names topics in its version.
Never: judges an answer.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from kgroup.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionProduceData,
    ProduceRequest,
    ReplicaState,
    TopicProduceData,
)
from kgroup.wire.records import NewRecord, encode_batch
from kgroup.wire.schema import Message, Request
from kgroup.wire.vocabulary import ZERO_UUID
from tests.real.fetch_worlds import Parked, Transcript, World

R = TypeVar("R", bound=Message)

NAMES = 12
IDS = 17
NEW, ALONE = (0, 0), (0, -1)
TRANSACTION = "fetching"
# Now, because a broker that marks the end of a transaction a week after its records were written
# begins another segment with the mark, and a fetch ends where a segment does.
WRITTEN_AT = round(time.time() * 1000)

Rows: TypeAlias = Mapping[tuple[str, int], int | Mapping[str, int]]


class Talk:
    """Raw requests in few words, and what came of them.

    Args:
        world: the one that is asked.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen = Transcript(world)

    def create(self, name: str, partitions: int) -> None:
        self.world.create(name, partitions)
        self.seen.know(name)

    def ask(self, request: Request[R], version: int) -> R:
        return self.world.park(request, version).answer()

    def append(self, *values: bytes, number: int = 0, **batch: Any) -> int:
        """Append one batch to a partition of `t`; return how many bytes it takes."""
        records = [NewRecord(None, value, timestamp=WRITTEN_AT) for value in values]
        data = encode_batch(records, **batch)
        rows = PartitionProduceData(index=number, records=data)
        topic = TopicProduceData(name=self.world.real_name("t"), partition_data=(rows,))
        name = TRANSACTION if batch.get("transactional") else None
        request = ProduceRequest(
            transactional_id=name, acks=-1, timeout_ms=5000, topic_data=(topic,)
        )
        answer = self.ask(request, 8)
        assert answer.responses[0].partition_responses[0].error_code == 0
        return len(data)

    def request(
        self,
        rows: Rows,
        *,
        version: int,
        session: tuple[int, int],
        forgotten: Sequence[tuple[str, int]] = (),
        ids: Mapping[str, bytes] | None = None,
        replica: int = -1,
        **fields: Any,
    ) -> FetchRequest:
        named = _Named(self.world, version > NAMES, ids or {})
        return FetchRequest(
            replica_id=replica if version < 15 else -1,
            replica_state=ReplicaState(replica_id=replica if version >= 15 else -1),
            max_wait_ms=fields.pop("max_wait_ms", 0),
            min_bytes=fields.pop("min_bytes", 1),
            session_id=session[0],
            session_epoch=session[1],
            topics=tuple(
                FetchTopic(**named.of(topic), partitions=(_row(number, given),))
                for (topic, number), given in rows.items()
            ),
            forgotten_topics_data=tuple(
                ForgottenTopic(**named.of(topic), partitions=(number,))
                for topic, number in forgotten
            ),
            **fields,
        )

    def park(
        self, rows: Rows, *, version: int = IDS, session: tuple[int, int] = ALONE, **fields: Any
    ) -> Parked[FetchResponse]:
        request = self.request(rows, version=version, session=session, **fields)
        return self.world.park(request, version)

    def fetch(
        self,
        what: str,
        rows: Rows,
        *,
        version: int = IDS,
        session: tuple[int, int] = ALONE,
        **fields: Any,
    ) -> FetchResponse:
        answer = self.park(rows, version=version, session=session, **fields).answer()
        self.seen.fetched(f"{what} v{version}", answer)
        return answer


class _Named:
    """Names topics as a version wants it."""

    def __init__(self, world: World, by_id: bool, ids: Mapping[str, bytes]) -> None:
        self._world, self._by_id, self._ids = world, by_id, ids

    def of(self, topic: str) -> dict[str, Any]:
        if not self._by_id:
            return {"topic": self._world.real_name(topic), "topic_id": ZERO_UUID}
        return {"topic": "", "topic_id": self._ids.get(topic) or self._world.topic_id(topic)}


def _row(number: int, given: int | Mapping[str, int]) -> FetchPartition:
    fields: Mapping[str, Any] = {"fetch_offset": given} if isinstance(given, int) else given
    return FetchPartition(
        **{"partition": number, "fetch_offset": 0, "partition_max_bytes": 1 << 20, **fields}
    )
