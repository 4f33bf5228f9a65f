"""Batches of records to batches of rows: plain commits a column at a time, the rest one by one.

Decides: which commits are plain: of version 4, without metadata, with the id of the topic or
without any tag. Nearly all are. Each different key is read once.
Never: says anything else than `silver` does; what is not plain goes there.

Arrow is not typed here: it is optional.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from kgroup.spark.coordination.declared import COMMIT_LOG, SILVER
from kgroup.spark.coordination.schema import arrow_schema, decoded_schema, tagged
from kgroup.spark.coordination.silver import OFFSETS_TOPIC, RawRecord, Silver, printed
from kgroup.wire.offsets_log import CommitKey, GroupKey, RecordType

_STANDING: Final = frozenset({RecordType.GROUP, RecordType.EPOCH})
_BARE: Final = 24
"""Bytes of a plain commit without the id of its topic."""
_WITH_ID: Final = 42
_MOST_KEYS: Final = 200_000
"""Keys that are kept as columns; with more, they are read again."""
_NO_COMMIT: Final = CommitKey(RecordType.COMMIT, "", "", 0)


class Columns:
    """Reads batches of `raw`; those of one log partition must come in their order.

    Args:
        generations: see `Silver`.
    """

    def __init__(self, generations: Mapping[str, int]) -> None:
        self._reader = Silver(generations)
        self._keys = _Keys(self._reader)
        self._fields = list(decoded_schema(COMMIT_LOG, SILVER))

    def rows(self, batch: Any) -> Any:  # noqa: ANN401 - pyarrow's
        """Return what each record says: the row of a plain commit, else a list of tagged rows."""
        known = self._keys.places(batch.column("key"))
        plain = _plain(batch, self._keys.is_commit.take(known))
        numbers = compute.indices_nonzero(plain)
        places = compute.indices_nonzero(compute.invert(plain))
        rest = zip(places.to_pylist(), records_of(batch.take(places)), strict=True)
        found, pieces, done = [], [], 0
        taken = known.take(numbers)
        order: list[int] | None = None
        for place, record in rest:
            key = self._reader.key(record.key)
            if isinstance(key, GroupKey) and key.type in _STANDING:
                # What stands in front of it was committed before.
                order = numbers.to_pylist() if order is None else order
                end = bisect_left(order, place)
                pieces.append(self._stand(taken.slice(done, end - done)))
                done = end
            found.append([tagged(*each) for each in self._reader.rows(record)])
        pieces.append(self._stand(taken.slice(done)))
        commits = self._commits(batch.take(numbers), taken, pa.concat_arrays(pieces))
        several = pa.array(found, self._fields[1].type)
        both = [_spread(commits, plain), _spread(several, compute.invert(plain))]
        return pa.StructArray.from_arrays(both, fields=self._fields)

    def _stand(self, taken: Any) -> Any:  # noqa: ANN401 - pyarrow's
        if not len(taken):
            return pa.nulls(0, pa.int32())
        values = [self._reader.stands(group) for group in self._keys.names]
        return pa.array(values, pa.int32()).take(self._keys.name.take(taken))

    def _commits(self, batch: Any, taken: Any, stand: Any) -> Any:  # noqa: ANN401 - pyarrow's
        count, value = batch.num_rows, batch.column("value")
        epochs = _int(value, 10, pa.int32())
        columns = {
            "group": self._keys.group.take(taken),
            "topic": self._keys.topic.take(taken),
            "partition": self._keys.partition.take(taken),
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
        return pa.StructArray.from_arrays(arrays, fields=fields)


class _Keys:
    """Keys that were read, and what they say, as columns.

    Args:
        reader: reads them.
    """

    def __init__(self, reader: Silver) -> None:
        self._reader = reader
        self._forget()

    def _forget(self) -> None:
        self._data = pa.array([], pa.binary())
        self.is_commit = pa.array([], pa.bool_())
        self.group, self.topic = pa.array([], pa.string()), pa.array([], pa.string())
        self.partition = pa.array([], pa.int32())
        self.name = pa.array([], pa.int32())
        """Place of the group in `names`."""
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def places(self, keys: Any) -> Any:  # noqa: ANN401 - pyarrow's
        """Return the place of each key in the columns, null of no key."""
        found = compute.index_in(keys, value_set=self._data)
        new = keys.filter(compute.and_(compute.is_null(found), compute.is_valid(keys)))
        if not len(new):
            return found
        new = compute.unique(new)
        if len(self._data) + len(new) > _MOST_KEYS:
            self._forget()
            new = compute.unique(keys.drop_null())
        self._learn(new)
        return compute.index_in(keys, value_set=self._data)

    def _learn(self, new: Any) -> None:  # noqa: ANN401 - pyarrow's
        keys = [self._reader.key(data) for data in new.to_pylist()]
        commits = [key if isinstance(key, CommitKey) else _NO_COMMIT for key in keys]
        for key in commits:
            if key.group not in self._numbers:
                self._numbers[key.group] = len(self.names)
                self.names.append(key.group)
        self._data = pa.concat_arrays([self._data, new])
        self.is_commit = _more(self.is_commit, [key is not _NO_COMMIT for key in commits])
        self.group = _more(self.group, [key.group for key in commits])
        self.topic = _more(self.topic, [key.topic for key in commits])
        self.partition = _more(self.partition, [key.partition for key in commits])
        self.name = _more(self.name, [self._numbers[key.group] for key in commits])


def _more(column: Any, values: list[Any]) -> Any:  # noqa: ANN401 - pyarrow's
    return pa.concat_arrays([column, pa.array(values, column.type)])


def batch_of(columns: Sequence[Any]) -> Any:  # noqa: ANN401 - pyarrow's
    """Return the columns of `raw` as a batch."""
    return pa.RecordBatch.from_arrays(list(columns), names=list(RawRecord._fields))


def records_of(batch: Any) -> Iterator[RawRecord]:  # noqa: ANN401 - pyarrow's
    """Yield the records of a batch of `raw`."""
    columns = [batch.column(name).to_pylist() for name in RawRecord._fields]
    return map(RawRecord._make, zip(*columns, strict=True))


def _spread(values: Any, where: Any) -> Any:  # noqa: ANN401 - pyarrow's
    """Return values at the places that are true, null elsewhere."""
    if len(values) == len(where):
        return values
    if not len(values):
        return pa.nulls(len(where), values.type)
    number = compute.subtract(compute.cumulative_sum(where.cast(pa.int32())), 1)
    return values.take(compute.if_else(where, number, pa.scalar(None, pa.int32())))


def _plain(batch: Any, is_commit: Any) -> Any:  # noqa: ANN401 - pyarrow's
    """Return for each row whether it is a plain commit."""
    value = batch.column("value")
    size = compute.binary_length(value)
    bare = compute.and_(compute.equal(size, _BARE), _has(value, 23, b"\0"))
    with_id = compute.and_(compute.equal(size, _WITH_ID), _has(value, 23, b"\1\0\x10"))
    found = compute.or_(bare, with_id)
    found = compute.and_(found, compute.and_(_has(value, 0, b"\0\4"), _has(value, 14, b"\1")))
    found = compute.and_(found, compute.equal(batch.column("src"), OFFSETS_TOPIC))
    found = compute.and_(found, is_commit)
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
