"""Batches of records to batches of rows: plain commits a column at a time, the rest one by one.

Decides: which commits are plain: of version 4, without metadata, with the id of the topic or
without any tag. Nearly all are. Each different key is read once in a batch.
Never: says anything else than `silver` does; what is not plain goes there.

Arrow is not typed here: it is optional.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from kgroup.spark.coordination.declared import COMMIT_LOG, SILVER
from kgroup.spark.coordination.schema import TAG, arrow_schema, tagged, tagged_schema
from kgroup.spark.coordination.silver import OFFSETS_TOPIC, RawRecord, Silver, printed
from kgroup.wire.offsets_log import CommitKey, GroupKey, RecordType

_STANDING: Final = frozenset({RecordType.GROUP, RecordType.EPOCH})
_BARE: Final = 24
"""Bytes of a plain commit without the id of its topic."""
_WITH_ID: Final = 42


class Columns:
    """Reads batches of `raw`; those of one log partition must come in their order.

    Args:
        generations: see `Silver`.
    """

    def __init__(self, generations: Mapping[str, int]) -> None:
        self._reader = Silver(generations)
        self._schema = tagged_schema(SILVER)
        self._kind = pa.list_(pa.struct(self._schema))

    def rows(self, batch: Any) -> Any:  # noqa: ANN401 - pyarrow's
        """Return the rows of each record, as a list, each row under the name of its table."""
        keys = batch.column("key").dictionary_encode()
        known = [self._reader.key(data) for data in keys.dictionary.to_pylist()]
        plain = _plain(batch, keys, [isinstance(key, CommitKey) for key in known])
        numbers = compute.indices_nonzero(plain)
        places = compute.indices_nonzero(compute.invert(plain))
        rest = zip(places.to_pylist(), records_of(batch.take(places)), strict=True)
        groups = [key.group if isinstance(key, CommitKey) else "" for key in known]
        found, pieces, done = [], [], 0
        taken = keys.indices.take(numbers)
        order: list[int] | None = None
        for place, record in rest:
            key = self._reader.key(record.key)
            if isinstance(key, GroupKey) and key.type in _STANDING:
                # What stands in front of it was committed before.
                order = numbers.to_pylist() if order is None else order
                end = bisect_left(order, place)
                pieces.append(self._stand(groups, taken.slice(done, end - done)))
                done = end
            found.append([tagged(*each) for each in self._reader.rows(record)])
        pieces.append(self._stand(groups, taken.slice(done)))
        lists = [pa.array(found, self._kind)]
        if len(numbers):
            stand = pa.concat_arrays(pieces)
            rows = self._commits(batch.take(numbers), taken, known, stand)
            ends = pa.array(range(len(numbers) + 1), pa.int32())
            lists = [pa.ListArray.from_arrays(ends, rows), *lists]
            order = compute.sort_indices(pa.concat_arrays([numbers, places]))
            return pa.concat_arrays(lists).take(order)
        return lists[0]

    def _stand(self, groups: list[str], taken: Any) -> Any:  # noqa: ANN401 - pyarrow's
        if not len(taken):
            return pa.nulls(0, pa.int32())
        values = [self._reader.stands(group) for group in groups]
        return pa.array(values, pa.int32()).take(taken)

    def _commits(self, batch: Any, taken: Any, known: list[Any], stand: Any) -> Any:  # noqa: ANN401
        count, value = batch.num_rows, batch.column("value")
        keys = [key if isinstance(key, CommitKey) else (None, "", "", 0) for key in known]
        _, groups, topics, numbers = zip(*keys, strict=True)
        epochs = _int(value, 10, pa.int32())
        columns = {
            "group": pa.array(groups, pa.string()).take(taken),
            "topic": pa.array(topics, pa.string()).take(taken),
            "partition": pa.array(numbers, pa.int32()).take(taken),
            "log_partition": batch.column("log_partition"),
            "log_offset": batch.column("log_offset"),
            "append_ts": batch.column("append_ts"),
            "commit_ts": _int(value, 15, pa.int64()),
            "offset": _int(value, 2, pa.int64()),
            "leader_epoch": compute.if_else(
                compute.less(epochs, 0), pa.scalar(None, pa.int32()), epochs
            ),
            "topic_id": _ids(value),
            "metadata": pa.repeat(pa.scalar(""), count),
            "tombstone": pa.repeat(pa.scalar(False), count),  # noqa: FBT003 - pyarrow's
            "gen_by_order": stand,
        }
        fields = list(arrow_schema(COMMIT_LOG))
        arrays = [columns.get(each.name, pa.nulls(count, each.type)) for each in fields]
        made = {
            TAG: pa.repeat(pa.scalar(COMMIT_LOG.name), count),
            COMMIT_LOG.name: pa.StructArray.from_arrays(arrays, fields=fields),
        }
        whole = [made.get(each.name, pa.nulls(count, each.type)) for each in self._schema]
        return pa.StructArray.from_arrays(whole, fields=list(self._schema))


def batch_of(columns: Sequence[Any]) -> Any:  # noqa: ANN401 - pyarrow's
    """Return the columns of `raw` as a batch."""
    return pa.RecordBatch.from_arrays(list(columns), names=list(RawRecord._fields))


def records_of(batch: Any) -> Iterator[RawRecord]:  # noqa: ANN401 - pyarrow's
    """Yield the records of a batch of `raw`."""
    columns = [batch.column(name).to_pylist() for name in RawRecord._fields]
    return map(RawRecord._make, zip(*columns, strict=True))


def _plain(batch: Any, keys: Any, commits: list[bool]) -> Any:  # noqa: ANN401 - pyarrow's
    """Return for each row whether it is a plain commit."""
    value = batch.column("value")
    size = compute.binary_length(value)
    bare = compute.and_(compute.equal(size, _BARE), _has(value, 23, b"\0"))
    with_id = compute.and_(compute.equal(size, _WITH_ID), _has(value, 23, b"\1\0\x10"))
    found = compute.or_(bare, with_id)
    found = compute.and_(found, compute.and_(_has(value, 0, b"\0\4"), _has(value, 14, b"\1")))
    found = compute.and_(found, compute.equal(batch.column("src"), OFFSETS_TOPIC))
    found = compute.and_(found, pa.array(commits, pa.bool_()).take(keys.indices))
    return compute.fill_null(found, False)  # noqa: FBT003 - pyarrow's


def _has(value: Any, start: int, expected: bytes) -> Any:  # noqa: ANN401 - pyarrow's
    return compute.equal(_slice(value, start, len(expected)), pa.scalar(expected))


def _slice(value: Any, start: int, size: int) -> Any:  # noqa: ANN401 - pyarrow's
    return compute.binary_slice(value, start, start + size)


def _int(value: Any, start: int, kind: Any) -> Any:  # noqa: ANN401 - pyarrow's
    """Return big-endian numbers of values, all long enough."""
    parts = compute.binary_reverse(_slice(value, start, kind.bit_width // 8))
    return pa.Array.from_buffers(kind, len(value), [None, parts.buffers()[2]])


def _ids(value: Any) -> Any:  # noqa: ANN401 - pyarrow's
    """Return the ids of topics as Kafka prints them, null without one; each is written once."""
    found = _slice(value, 26, 16).dictionary_encode()
    texts = [printed(data) if data else None for data in found.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(found.indices)
