"""What a replacement costs is counted to its end: a gap counts though nothing came after it."""

from kgroup.types import TopicPartition
from tests.real.rolling import Spells

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_spell_that_is_over_counts_from_its_beginning() -> None:
    spells = Spells()
    for now in (1.0, 1.5):
        spells.gone(A, now)
    spells.back(A, 3.0)
    spells.back(B, 9.0)
    assert (spells.longest, spells.count) == (2.0, {A: 1})


def test_what_is_away_when_nobody_looks_any_more_counts_up_to_then() -> None:
    spells = Spells()
    spells.gone(A, 1.0)
    spells.back(A, 2.0)
    spells.gone(A, 10.0)
    spells.gone(B, 12.0)
    spells.end(15.0)
    assert (spells.longest, spells.since) == (5.0, {})
    assert spells.most == 2
