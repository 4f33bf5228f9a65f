"""Words: what they are as keys."""

from copy import deepcopy
from pickle import dumps, loads

from kgroup.types import MemberState
from kgroup.words import Word


class Fruit(Word):
    PEAR = "pear"


class Tree(Word):
    PEAR = "pear"


def test_a_word_is_another_key_than_the_same_word_of_another_set() -> None:
    assert {Fruit.PEAR: 1, Tree.PEAR: 2}[Tree.PEAR] == 2
    assert len({Fruit.PEAR, Tree.PEAR}) == 2


def test_a_word_that_was_copied_or_sent_elsewhere_finds_what_it_found_before() -> None:
    table = {MemberState.STABLE: "stands"}
    assert table[deepcopy(MemberState.STABLE)] == "stands"
    assert table[loads(dumps(MemberState.STABLE))] == "stands"
    assert table[MemberState("stable")] == "stands"
