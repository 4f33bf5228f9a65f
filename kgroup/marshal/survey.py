"""What an administrator asks of a world: the owners, the ends of claims, and other libraries.

Decides: which peers of the original library count as live, which keys have an owner, and from when
    on a claim of a key is accepted.
Never: changes a world.
"""

from collections.abc import Iterable, Iterator, Mapping

from kgroup.marshal.key_state import QUIET_MS, Key, KeyState, Pause
from kgroup.marshal.plan import coordination_partition
from kgroup.marshal.standing import Standing, standing_of
from kgroup.marshal.world import World
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Holder:
    """The owner of a key.

    Args:
        tp: the key.
        client_id: of its owner, as text.
        instance_id: of its owner, as text.
        until: log time at which its claim ends unless it is renewed, milliseconds.
    """

    tp: TopicPartition
    client_id: str
    instance_id: str
    until: int


@dataclass(frozen=True, slots=True)
class Mixed:
    """A key that a member of the original library spoke of lately.

    Args:
        group: its group, as text.
        tp: the key.
        until: log time until which it is taken into account, milliseconds.
    """

    group: str
    tp: TopicPartition
    until: int


def standings(world: World, group: str | None = None) -> Iterator[tuple[Key, Standing]]:
    """Yield what is known of each key of a group, or of all, in order."""
    wanted = None if group is None else group.encode()
    for key in sorted(world.keys):
        if wanted is None or key.group == wanted:
            yield key, standing_of(world.keys[key])


def free_at(world: World, key: Key, *, complete: bool) -> int:
    """Return the log time from which a claim of a key is accepted, milliseconds; 0 for at once.

    Args:
        world: of its coordination partition.
        key: which.
        complete: whether nothing of the log is missing before what was read.
    """
    state = world.keys.get(key)
    if state is None:
        return 0 if complete else max(world.since, 0) + QUIET_MS
    return standing_of(state).free_at(world.since)


def holders(
    world: World, group: str, tps: Iterable[TopicPartition] | None, time: int
) -> list[Holder]:
    """Return the owners of a group's keys at a log time.

    Args:
        world: of their coordination partition.
        group: the group of the keys.
        tps: which keys; None for all.
        time: milliseconds.
    """
    wanted = None if tps is None else frozenset(tps)
    found: list[Holder] = []
    for key, standing in standings(world, group):
        tp = TopicPartition(_text(key.topic), key.partition)
        if not standing.owned or standing.beat is None or (wanted is not None and tp not in wanted):
            continue
        until = standing.beat + standing.ttl
        if time < until:
            names = _text(standing.client_id), _text(standing.instance_id)
            found.append(Holder(tp, *names, until))
    return found


def mixed_keys(world: World, time: int) -> list[Mixed]:
    """Return the keys, of all groups, that members of the original library spoke of lately."""
    keys: Mapping[Key, KeyState] = world.keys
    return [
        Mixed(_text(key.group), TopicPartition(_text(key.topic), key.partition), state.mixed_until)
        for key, state in sorted(keys.items(), key=lambda each: each[0])
        if time < state.mixed_until
    ]


def pause_left(pause: Pause | None, time: int) -> float:
    """Return how long a pause lasts from a log time on, seconds; 0 without one."""
    return 0.0 if pause is None else max(pause.until - time, 0) / 1000


def _text(word: bytes) -> str:
    return word.decode(errors="backslashreplace")


def names_everywhere(partitions: int) -> frozenset[str]:
    """Return names that no topic can have, at least one for each coordination partition.

    Args:
        partitions: of the coordination topic, at least 1.
    """
    found: dict[int, str] = {}
    number = 0
    while len(found) < partitions:
        name = f"~{number}"
        found.setdefault(coordination_partition(name, partitions), name)
        number += 1
    return frozenset(found.values())
