"""Partitions by number: what the built-in assignors work on, and what users see of it."""

import pytest

from kgroup.assignors import PartitionNumbering
from kgroup.types import TopicPartition
from kgroup.wire.partition_runs import PartitionRuns
from tests.assignors.groups import tp, tps

ALL = PartitionNumbering({"u": [1, 0], "t": [3, 0, 7], "gone": []})
DENSE = PartitionNumbering({"u": range(2), "t": {0: None, 1: None, 2: None}})


def test_partitions_are_in_the_order_of_topic_and_number():
    assert tuple(ALL) == tps("t-0 t-3 t-7 u-0 u-1")
    assert tps("t-0 t-3 t-7 u-0 u-1") == ALL
    assert ALL.topics == ("t", "u")


def test_topics_are_in_javas_order():
    names = ["\U0001f600", "\uffff", "b", "B"]
    assert PartitionNumbering({name: [0] for name in names}).topics == (
        "B",
        "b",
        "\U0001f600",
        "\uffff",
    )


@pytest.mark.parametrize("numbering", [ALL, DENSE])
def test_a_partition_leads_to_its_place_and_back(numbering):
    for place, partition in enumerate(numbering):
        assert numbering[place] == partition
        assert numbering.index(partition) == place
        assert partition in numbering
    assert numbering[-1] == tp("u-1")


@pytest.mark.parametrize("partition", [tp("t-4"), tp("t--1"), tp("u-2"), tp("x-0"), ("t",), "t-0"])
@pytest.mark.parametrize("numbering", [ALL, DENSE])
def test_what_is_not_there_has_no_place(numbering, partition):
    assert partition not in numbering
    with pytest.raises(ValueError, match="is not among these partitions"):
        numbering.index(partition)


@pytest.mark.parametrize("numbering", [ALL, DENSE])
@pytest.mark.parametrize("shape", [tuple, lambda them: PartitionRuns([(t, (n,)) for t, n in them])])
def test_indices_keep_order_and_repetitions_and_leave_out_what_is_not_there(numbering, shape):
    claimed = tps("u-1 t-0 x-0 t--1 t-9 u-1 u-0")
    found = numbering.indices_of(shape(claimed))
    assert [numbering[index] for index in found] == list(tps("u-1 t-0 u-1 u-0"))


def test_a_selection_looks_like_the_partitions_it_is_of():
    some = ALL.select([4, 0, 1])
    assert some == tps("u-1 t-0 t-3")
    assert some != tps("t-0 t-3 u-1")
    assert tps("u-1 t-0 t-3") == some
    assert hash(some) == hash(tps("u-1 t-0 t-3"))
    assert (len(some), some[0], tuple(some[1:])) == (3, tp("u-1"), tps("t-0 t-3"))
    assert list(some.runs()) == [("u", [1]), ("t", [0, 3])]
    assert tp("t-3") in some
    assert repr(some) == "(u-1, t-0, t-3)"


def test_the_indices_of_a_selection_are_its_own():
    assert ALL.indices_of(ALL.select([2, 1])) == [2, 1]
    assert DENSE.indices_of(ALL.select([3, 2])) == [3]


def test_the_span_of_a_topic_is_where_its_partitions_are():
    assert (ALL.span("t"), ALL.span("u"), len(ALL.span("x"))) == (range(3), range(3, 5), 0)
    assert list(ALL.partition_numbers()) == [0, 3, 7, 0, 1]
    assert [ALL.topic_at(index) for index in range(5)] == [0, 0, 0, 1, 1]
    assert ALL.topics_of([1, 2, 3]) == {"t", "u"}


def test_runs_of_the_wire_look_like_partitions():
    runs = PartitionRuns([("t", (3, 0)), ("u", (1,)), ("t", (3,))])
    assert runs == tps("t-3 t-0 u-1 t-3")
    assert (len(runs), runs[2], runs[1:3]) == (4, tp("u-1"), tps("t-0 u-1"))
    assert all(isinstance(each, TopicPartition) for each in runs)
    assert hash(runs) == hash(tps("t-3 t-0 u-1 t-3"))
