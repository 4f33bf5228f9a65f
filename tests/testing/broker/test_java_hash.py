"""Hashes of Java and Scala, and the orders that hash maps have of them."""

import pytest

from kgroup.testing.broker.mint import (
    bucket_order,
    group_partition,
    java_hash,
    trie_order,
)


@pytest.mark.slow
def test_a_group_has_the_partition_of_its_hash() -> None:
    # The recorded groups of coordinator_sigkill were all on partition 1 of 4.
    recorded = ("stable", "prep0", "compl0", "silent0")
    groups = [f"coordinator_sigkill-kill-{name}" for name in recorded]
    assert {group_partition(group, 4) for group in groups} == {1}
    # Java's own examples: an odd negative hash, and the smallest number, whose absolute is itself.
    assert java_hash("polygenelubricants") == -(1 << 31)
    assert group_partition("polygenelubricants", 7) == 0
    odd = next(
        name
        for name in map(str, range(10**6, 2 * 10**6))
        if java_hash(name) % 2 and java_hash(name) < 0
    )
    assert group_partition(odd, 4) == -java_hash(odd) % 4 != java_hash(odd) & 3


def test_names_of_one_bucket_keep_their_order_in_java_and_are_sorted_by_hash_in_scala() -> None:
    # "Aa" and "BB" have the same hash; "a" and "q" differ by 16, one turn of the smallest table.
    assert bucket_order(["BB", "Aa"]) == ["BB", "Aa"]
    assert bucket_order(["q", "a"]) == ["q", "a"]
    assert bucket_order(["q", "a"], scala=True) == ["a", "q"]


def test_a_table_is_doubled_when_it_is_three_quarters_full() -> None:
    # "a" and "Q" share a bucket of 16, but not of 32.
    others = [chr(code) for code in range(ord("a"), ord("a") + 12)]
    assert bucket_order(["Q", *others[:11]])[0] == "Q"
    assert bucket_order(["Q", *others])[0] == "a"


def test_scalas_trie_lists_the_four_assignors_as_the_votes_of_3_9_1_went() -> None:
    assert trie_order(["sticky", "range", "roundrobin", "cooperative-sticky"]) == [
        "cooperative-sticky",
        "roundrobin",
        "range",
        "sticky",
    ]
    assert trie_order(["BB", "Aa"]) == ["BB", "Aa"]
