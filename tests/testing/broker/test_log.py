"""The log of a partition: what is kept, read, cut, and known of producers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.testing.broker.logs.log import Log
from kgroup.wire.compression import Codec
from kgroup.wire.records import (
    MessageSetView,
    iter_batches,
)
from tests.testing.broker.logs import EVERYTHING, append, new_log, views
from tests.wire.records.old_messages import message

few = settings(max_examples=25, deadline=None)


def offsets(log: Log) -> list[int]:
    data = log.read(log.start, EVERYTHING, upto=log.end)
    return [row[0] for view in views(data) for row in view.columns()]


# -- what is kept --------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(1, 4), max_size=8),
    codec=st.sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD]),
    data=st.data(),
)
@few
def test_from_every_offset_a_log_reads_what_was_written(
    sizes: list[int], codec: Codec, data: st.DataObject
) -> None:
    log, written = new_log(), []
    for size in sizes:
        values = [b"%d" % (log.end + place) for place in range(size)]
        written += values
        append(log, *values, codec=codec)
    offset = data.draw(st.integers(0, log.end))
    upto = data.draw(st.integers(offset, log.end))
    limit = data.draw(st.sampled_from([0, 100, 300, EVERYTHING]))

    read = views(log.read(offset, limit, upto=upto))

    rows = [row for view in read for row in view.columns()]
    assert [value for *_, value, _ in rows] == [written[row[0]] for row in rows]
    assert [row[0] for row in rows] == [*range(rows[0][0], rows[-1][0] + 1)] if rows else not read
    assert all(view.next_offset <= upto for view in read)
    if read:
        assert read[0].base_offset <= offset < read[0].next_offset
        assert len(read) == 1 or sum(view.size for view in read) <= limit
    first = next(iter(log.batches_from(offset, log.end)), None)
    assert bool(read) == (first is not None and first.last_offset < upto)


def test_a_first_batch_that_is_too_large_is_read_only_if_asked_for() -> None:
    log = new_log()
    append(log)

    assert log.read(0, 1, upto=1) != b""
    assert log.read(0, 1, upto=1, at_least_one=False) == b""


def test_bytes_that_a_test_lays_into_a_log_are_read_as_they_are() -> None:
    log = new_log()
    append(log)
    old = message(1, 1, b"key", b"value", timestamp=5) + message(1, 2, None, b"x", timestamp=6)

    assert log.append_raw(old, offsets=2, epoch=0) == 1
    append(log)

    _, middle, last = iter_batches(log.read(0, EVERYTHING, upto=log.end))
    assert isinstance(middle, MessageSetView)
    assert [row[0] for row in middle.columns()] == [1, 2]
    assert (last.base_offset, log.end) == (3, 4)


# -- what is cut ---------------------------------------------------------------------------------


def test_a_truncated_log_forgets_epochs_and_producers() -> None:
    log = new_log()
    append(log, b"a", b"b", epoch=1, producer=(7, 0))
    append(log, b"c", epoch=2, producer=(7, 0), sequence=2, transactional=True)
    append(log, b"d", epoch=3)

    log.truncate(2)

    assert (log.end, log.last_stable_offset, log.epochs.latest) == (2, 2, 1)
    assert append(log, b"x", epoch=4, producer=(7, 0), sequence=2).base_offset == 2
    assert log.end_of_epoch(3) == (1, 2)


def test_a_truncation_inside_a_batch_loses_the_whole_batch() -> None:
    log = new_log()
    append(log, b"a", b"b")
    append(log, b"c", b"d", b"e")

    log.truncate(3)

    assert (log.end, offsets(log)) == (2, [0, 1])


def test_removed_records_leave_gaps_that_are_not_filled() -> None:
    log = new_log()
    append(log, b"a", b"b", b"c", codec=Codec.GZIP)
    append(log, b"d")
    append(log, b"e")

    log.remove({1, 2, 3})

    assert offsets(log) == [0, 4]
    first, last = views(log.read(0, EVERYTHING, upto=log.end))
    assert (first.next_offset, first.count, last.base_offset) == (3, 1, 4)
    assert views(log.read(3, EVERYTHING, upto=log.end))[0].base_offset == 4
    assert append(log).base_offset == 5


def test_an_emptied_batch_may_stay_with_its_bounds() -> None:
    log = new_log()
    append(log, b"a", b"b")

    log.remove({0, 1}, keeps_empty=True)

    (view,) = views(log.read(0, EVERYTHING, upto=2))
    assert (view.count, view.next_offset, list(view.columns())) == (0, 2, [])


def test_an_epoch_without_records_is_forgotten_when_the_next_begins() -> None:
    log = new_log()
    append(log, epoch=0)
    log.begin_epoch(1)
    log.begin_epoch(2)
    append(log, epoch=2)

    assert [log.end_of_epoch(epoch) for epoch in range(4)] == [(0, 1), (0, 1), (2, 2), None]


def test_an_epoch_begins_where_the_log_does_when_its_first_records_are_gone() -> None:
    log = new_log()
    for epoch in (0, 1, 2):
        append(log, b"a", b"b", epoch=epoch)

    log.delete_before(3)

    assert [log.end_of_epoch(epoch) for epoch in range(3)] == [(0, 3), (1, 4), (2, 6)]


# -- how far one may read ------------------------------------------------------------------------


def test_a_high_watermark_is_held_back_until_it_is_let_go() -> None:
    log, rung = new_log(), []
    log.bell.listen(1, lambda: rung.append(log.high_watermark))
    log.hold_back(1)
    append(log, b"a", b"b")
    append(log)

    assert (log.high_watermark, log.last_stable_offset, log.end) == (1, 1, 3)
    log.hold_back(None)

    assert log.high_watermark == 3
    assert rung == [0, 1, 1, 3]
