"""What a log knows of producers: transactions, duplicates, epochs that fence."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.codes import ErrorCode
from kgroup.testing.broker.logs.log import Log
from kgroup.wire.records import (
    AbortedTransactions,
    ControlRecord,
    ControlType,
    control_type,
)
from tests.testing.broker.logs import EVERYTHING, NOW, append, new_log, views

few = settings(max_examples=25, deadline=None)


def test_a_mark_that_is_not_replicated_keeps_its_transaction_unstable() -> None:
    log = new_log()
    append(log)
    append(log, b"a", producer=(7, 0), transactional=True)
    append(log)
    log.hold_back(3)
    log.append_control(7, 0, committed=True, epoch=0, now_ms=NOW)

    assert log.last_stable_offset == 1
    log.hold_back(4)

    assert log.last_stable_offset == 4


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["write", "commit", "abort"])), max_size=20
)


def play(steps: list[tuple[int, str]]) -> Log:
    """Producer 0 is a plain one; the others write in transactions, one batch a step."""
    log, sequences = new_log(), [0, 0, 0, 0]
    for producer, step in steps:
        if producer == 0:
            append(log, b"plain", b"plain")
        elif step == "write":
            sequence = sequences[producer]
            result = append(
                log, b"t", b"t", producer=(producer, 0), sequence=sequence, transactional=True
            )
            assert result.code == 0
            sequences[producer] += 2
        else:
            committed = step == "commit"
            log.append_control(producer, 0, committed=committed, epoch=0, now_ms=NOW)
    return log


def judged(log: Log) -> tuple[dict[int, bool | None], dict[int, tuple[int, int | None]]]:
    """Read the whole log: offset -> fate of its record (None: open), and each transaction."""
    fates: dict[int, bool | None] = {}
    spans: dict[int, tuple[int, int | None]] = {}
    running: dict[int, list[int]] = {}
    for view in views(log.read(0, EVERYTHING, upto=log.end)):
        found = [row[0] for row in view.columns()]
        producer = view.producer_id
        if producer is None:
            fates |= dict.fromkeys(found, True)
        elif view.is_control:
            mark = control_type(view.columns())
            ended = running.pop(producer, [])
            fates |= dict.fromkeys(ended, mark == ControlRecord(0, ControlType.COMMIT))
            if ended:
                spans[ended[0]] = (ended[0], view.last_offset)
        else:
            running.setdefault(producer, []).extend(found)
            fates |= dict.fromkeys(found, None)
    for first, *_ in running.values():
        spans[first] = (first, None)
    return fates, spans


@given(steps=STEPS, data=st.data())
@few
def test_read_committed_sees_what_was_committed_and_nothing_beyond(
    steps: list[tuple[int, str]], data: st.DataObject
) -> None:
    log = play(steps)
    held = data.draw(st.integers(0, log.end))
    log.hold_back(held)
    fates, spans = judged(log)

    unstable = [first for first, mark in spans.values() if mark is None or mark >= held]
    stable = min([*unstable, held])
    assert log.last_stable_offset == stable

    offset = data.draw(st.integers(0, stable))
    read = views(log.read(offset, EVERYTHING, upto=stable))
    upto = read[-1].next_offset if read else offset
    aborted = log.aborted_between(offset, upto)
    chosen = AbortedTransactions((each.producer_id, each.first_offset) for each in aborted)
    seen = [row[0] for view in read if chosen.admits(view) for row in view.columns()]
    begins = read[0].base_offset if read else offset
    assert seen == [each for each in sorted(fates) if begins <= each < upto and fates[each]]
    assert all(each.first_offset < upto and each.last_offset >= offset for each in aborted)


@given(st.lists(st.integers(0, 8), max_size=30))
@few
def test_batches_sent_again_are_in_the_log_once(order: list[int]) -> None:
    log, stored = new_log(), list[int]()
    for number in order:
        result = append(log, b"a", b"b", producer=(7, 0), sequence=2 * number)
        if number in stored[-5:]:
            at = 2 * stored.index(number)
            assert (result.code, result.base_offset, result.is_duplicate) == (0, at, True)
        elif not stored or number == stored[-1] + 1:
            assert (result.code, result.is_duplicate) == (0, False)
            stored.append(number)
        else:
            assert result.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.end == 2 * len(stored)


def test_a_mark_of_a_newer_epoch_fences_the_older_producer() -> None:
    log = new_log()
    append(log, producer=(7, 0), transactional=True)

    log.append_control(7, 1, committed=False, epoch=0, now_ms=NOW)

    late = append(log, producer=(7, 0), sequence=1, transactional=True)
    assert late.code is ErrorCode.INVALID_PRODUCER_EPOCH
    too_late = log.append_control(7, 0, committed=True, epoch=0, now_ms=NOW)
    assert too_late.code is ErrorCode.INVALID_PRODUCER_EPOCH
