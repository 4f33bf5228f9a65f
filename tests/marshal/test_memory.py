"""What a reader of the log of claims keeps of each partition, and how much that is."""

import tracemalloc

from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.world import World

START = 1_700_000_000
DAY = 86_400
KEYS = 2_000


def say(world: World, kind: Kind, at: int, partition: int, tail: int = 0) -> None:
    """Append a message of one member of kgroup's."""
    time, offset = START + at, world.next_offset
    message = Message(kind, time, b"3f2a9c01", b"web-01", b"billing", b"orders", partition, tail)
    world.apply(offset, time * 1000, encode(message), write_extension(Extension(None, 1000, 60)))


def test_a_position_is_kept_however_long_nobody_has_its_partition() -> None:
    world = World(WorldRules(append_time=True, complete=True))
    say(world, Kind.CLAIMING_PARTITION, 0, 7)
    say(world, Kind.RELEASING_PARTITION, 1, 7, 4711)
    say(world, Kind.CLAIMING_PARTITION, 30 * DAY, 8)
    kept = world.keys[Key(b"billing", b"orders", 7)]
    assert (kept.owned, kept.offset) == (False, 4711)


def test_a_partition_takes_less_than_a_kilobyte() -> None:
    tracemalloc.start()
    try:
        world = World(WorldRules(append_time=True, complete=True))
        for partition in range(KEYS):
            say(world, Kind.CLAIMING_PARTITION, partition, partition)
            say(world, Kind.HEARTBEAT, partition, partition, 10**9 + partition)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(world.keys) == KEYS
    assert held / KEYS < 1000, f"{held / KEYS:.0f} bytes"
