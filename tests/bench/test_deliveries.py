"""What a group delivered is judged by what was written and by what the broker holds."""

from zlib import crc32

import pytest

from kgroup.bench.deliveries import Deliveries, value_of

SIZE = 40


def row(partition, first, after):
    """What an honest member says of records."""
    values = (value_of(partition, offset, SIZE) for offset in range(first, after))
    return [partition, first, after, sum(map(crc32, values))]


def written(partitions=2, ticks=10, tick=0.1):
    """A topic to which a record of each partition was written in each tick."""
    found = Deliveries(partitions, SIZE)
    for number in range(ticks):
        found.wrote([[partition, number, 1, number * tick] for partition in range(partitions)])
    return found


def test_values_are_as_long_as_asked_and_no_two_are_the_same():
    values = {value_of(partition, offset, 64) for partition in range(3) for offset in range(50)}
    assert len(values) == 150
    assert {len(value) for value in values} == {64}


def test_a_record_that_nobody_delivered_is_missing_by_the_brokers_count():
    found = written(ticks=3)
    found.got("a", 1.0, 1.0, [row(0, 0, 3), row(1, 0, 2)])
    assert found.missing({0: 3, 1: 3}) == {1: 1}
    assert found.reached({0: 3})
    assert not found.reached({0: 3, 1: 3})


def test_a_record_that_a_member_claims_without_having_read_it_is_a_fault_and_missing():
    found = written(ticks=3)
    lie = row(0, 0, 3)
    lie[3] -= crc32(value_of(0, 1, SIZE))
    found.got("a", 1.0, 1.0, [lie])
    assert found.faults == ["a: offsets 0 to 2 of partition 0 are not what was written"]
    assert found.missing({0: 3}) == {0: 3}


@pytest.mark.parametrize(("first", "after"), [(0, 10**12), (-5, 2), (3, 3), (4, 2)])
def test_a_row_of_no_records_or_of_more_than_there_can_be_is_a_fault(first, after):
    found = written(ticks=3)
    found.got("a", 1.0, 1.0, [[0, first, after, 0]])
    assert len(found.faults) == 1


def test_deliveries_after_the_first_are_repeated():
    found = written(ticks=3)
    found.got("a", 1.0, 1.0, [row(0, 0, 3)])
    found.got("b", 1.1, 1.1, [row(0, 1, 3)])
    assert found.repeated() == 2


def test_a_record_waits_until_its_first_delivery():
    found = written(partitions=1, ticks=3)
    found.got("a", 0.25, 0.25, [row(0, 0, 2)])
    found.got("b", 5.0, 5.0, [row(0, 0, 3)])
    assert found.waits(0.0, 1.0) == pytest.approx([0.25, 0.15, 4.8])
    assert found.waits(0.15, 1.0) == pytest.approx([4.8])


def test_a_group_is_steady_when_each_member_delivers_and_no_two_deliver_one_partition():
    found = written()
    found.got("a", 0.9, 0.9, [row(0, 0, 8)])
    assert not found.steady(0.5, {"a", "b"})
    found.got("b", 0.95, 0.95, [row(1, 0, 8)])
    assert found.steady(0.5, {"a", "b"})
    assert not found.steady(0.5, {"a"}), "one delivers that is not there any more"
    assert not found.steady(0.93, {"a", "b"}), "partition 0 has been silent since"
    found.got("b", 0.97, 0.97, [row(0, 8, 9)])
    assert not found.steady(0.5, {"a", "b"})


def test_a_partition_has_moved_when_somebody_else_delivers_it_after_the_event():
    found = written(ticks=20)
    found.got("a", 0.5, 0.5, [row(0, 0, 5), row(1, 0, 5)])
    found.got("a", 1.5, 1.5, [row(0, 5, 15)])
    found.got("b", 1.9, 1.9, [row(1, 5, 19)])
    stays, moves = found.courses(0.55, 9.0)
    assert (stays.fate, stays.before, stays.after) == ("stay", ("a",), ("a",))
    assert (moves.fate, moves.before, moves.after) == ("moved", ("a",), ("b",))
    assert stays.wait == pytest.approx(1.0)
    assert moves.wait == pytest.approx(1.4)


def test_a_group_has_recovered_when_the_last_record_that_waited_long_has_come():
    found = written(partitions=1, ticks=20)
    for number in range(20):
        at = number * 0.1 + 0.01 if number < 5 or number >= 15 else 1.5
        found.got("a", at, at, [row(0, number, number + 1)])
    assert found.recovered(0.5, 9.0) == pytest.approx(1.0)
    assert found.recovered(1.6, 9.0) == 0.0
    assert found.recovered(0.5, 0.45) == 0.0, "no late record was made before that"


def test_spans_tell_who_delivered_when_and_leave_out_when_nobody_did():
    found = written(partitions=1, ticks=20)
    found.got("a", 0.1, 0.1, [row(0, 0, 1)])
    found.got("a", 0.2, 0.2, [row(0, 1, 2)])
    found.got("b", 1.2, 1.2, [row(0, 2, 12)])
    assert found.spans(1.0) == [[0, "a", -0.9, -0.8], [0, "b", 0.2, 0.2]]


def after(*owners, event=0.55):
    """Return what becomes of a partition that a delivers before an event, and these after it."""
    found = written(partitions=1, ticks=20)
    found.got("m2", 0.5, 0.5, [row(0, 0, 5)])
    for number, owner in enumerate(owners):
        at = 1.0 + number
        found.got(owner, at, at, [row(0, 5 + number, 6 + number)])
    [course] = found.courses(event, 9.0)
    return course


def test_a_partition_of_a_member_that_was_started_anew_neither_stays_nor_moves():
    assert after("m2").fate == "stay"
    assert after("m2", "m2 (2)").fate == "back"
    assert after("m2", "m0").fate == "moved"


def test_a_partition_that_was_elsewhere_meanwhile_has_moved():
    assert after("m2", "m0", "m2").fate == "moved"


def test_the_silence_of_a_partition_is_the_longest_time_without_a_new_record():
    assert after("m2", "m0").silence == (1.0, 2.0)
    assert after("m2", "m0", event=1.5).silence == (1.0, 2.0)
    assert after("m2", "m0", event=0.2).silence == (1.0, 2.0)


def test_a_delivery_of_what_was_there_already_ends_no_silence():
    found = written(partitions=1, ticks=20)
    for at, record in ((0.5, 4), (0.8, 4), (1.4, 5)):
        found.got("a", at, at, [row(0, record, record + 1)])
    assert found.courses(0.6, 9.0)[0].silence == (0.5, 1.4)


@pytest.mark.parametrize("at", [-1.0, 2.9, 5.1, float("nan"), float("inf")])
def test_a_time_of_delivery_that_cannot_be_is_a_fault(at):
    found = written(partitions=1)
    found.got("a", at, 5.0, [row(0, 0, 1)])
    assert "its time of delivery" in found.fault({0: 1})


def test_a_record_that_came_before_it_was_made_is_a_fault():
    found = written(partitions=1, ticks=3)
    found.got("a", 0.05, 0.05, [row(0, 0, 3)])
    assert found.fault({0: 3}) == "offset 1 of partition 0 came before it was made"


def test_a_record_that_the_broker_does_not_have_is_a_fault():
    found = written(partitions=1, ticks=3)
    found.got("a", 1.0, 1.0, [row(0, 0, 4)])
    assert found.fault({0: 3}) == "offset 3 of partition 0 was delivered, and is not there"


def test_what_is_lost_is_told_by_partition_and_altogether():
    found = written(ticks=3)
    found.got("a", 1.0, 1.0, [row(0, 0, 2), row(1, 0, 1)])
    assert found.fault({0: 3, 1: 3}) == (
        "1 records of partition 0 were never delivered; 3 altogether"
    )


def test_a_partition_that_the_topic_does_not_have_is_a_fault():
    found = written(ticks=3)
    found.got("a", 1.0, 1.0, [row(7, 0, 1)])
    assert len(found.faults) == 1
