"""Which partition of the offsets topic keeps a group, and how addresses are read."""

import pytest

from kgroup.errors import ConfigError
from kgroup.testing.kafka.ready import group_on_partition, offsets_partition, parse_bootstrap


@pytest.mark.parametrize(
    ("group_id", "partitions", "partition"),
    [
        ("", 50, 0),
        ("a", 50, 97 % 50),
        ("ab", 50, (97 * 31 + 98) % 50),
        # Its hash is the smallest number of all, whose absolute value does not exist.
        ("polygenelubricants", 50, 0),
        ("Hello", 50, 0),
        ("group-7", 50, 5),
        # Negative hashes: the low 31 bits would give 17 and 8.
        ("orders", 50, 31),
        ("console-consumer", 50, 40),
        ("\N{GRINNING FACE}", 50, (0xD83D * 31 + 0xDE00) % 50),
    ],
)
def test_a_group_is_kept_by_the_absolute_java_hash_of_its_name(
    group_id: str, partitions: int, partition: int
) -> None:
    assert offsets_partition(group_id, partitions) == partition


@pytest.mark.parametrize("partitions", [1, 3, 50])
def test_every_partition_has_a_group_to_ask_for(partitions: int) -> None:
    for partition in range(partitions):
        assert offsets_partition(group_on_partition(partition, partitions), partitions) == partition


def test_addresses_are_read_in_order() -> None:
    assert parse_bootstrap("a:1, [::1]:9092,c.d:3") == [("a", 1), ("::1", 9092), ("c.d", 3)]


@pytest.mark.parametrize("wrong", ["", "localhost", "a:1,b", "a:b", "a:1,,c:2"])
def test_an_address_without_a_port_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match="expected host:port"):
        parse_bootstrap(wrong)
