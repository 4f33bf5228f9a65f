"""What `kgroup marshal` shows of a log of claims, and of its topic.

Decides: what is shown of each key, as a table and as JSON; times are log time.
Never: reads the log itself: it is handed a place at it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from kgroup.admin.groups import ask_committed
from kgroup.admin.marshal.claim_log import ClaimLog
from kgroup.admin.marshal.settings import SetUp
from kgroup.cli.printing import on_one_line
from kgroup.cli.tables import Cell, make_table, screen
from kgroup.errors import KGroupError
from kgroup.marshal.key_state import Key, Pause
from kgroup.marshal.standing import Standing
from kgroup.marshal.survey import pause_left, standings
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key.

    Args:
        tp: the key.
        standing: what the log says.
        committed: what the group coordinator has, None for nothing or not known.
    """

    tp: TopicPartition
    standing: Standing
    committed: int | None = None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group.

    Args:
        group: its name.
        keys: in order.
        members: topic -> client ids that show themselves.
        pauses: coordination partition -> pause.
        error: why nothing is known of what it committed, None when it is.
    """

    group: str
    keys: tuple[KeyRow, ...]
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pauses: Mapping[int, Pause] = field(default_factory=dict)
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One coordination partition.

    Args:
        next_offset: behind what was read.
        time: log time of the latest message, milliseconds; -1 before any.
        digest: hash of all that is known.
    """

    next_offset: int
    time: int
    digest: str


@dataclass(frozen=True, slots=True)
class State:
    """What was found.

    Args:
        topic: the coordination topic.
        now: log time, milliseconds.
        groups: in order of their names.
        parts: coordination partitions by number.
        rejects: how many records were no messages, by reason.
    """

    topic: str
    now: int
    groups: tuple[GroupRow, ...]
    parts: Mapping[int, Part]
    rejects: Mapping[str, int]

    def age(self, time: int | None) -> float | None:
        """Return how long ago a log time was, seconds."""
        return None if time is None else max(self.now - time, 0) / _MS

    def left(self, standing: Standing) -> float | None:
        """Return how long a claim lasts, seconds; None when nobody has the key."""
        if not standing.owned or standing.beat is None:
            return None
        return max(standing.beat + standing.ttl - self.now, 0) / _MS


async def state_of(
    claim_log: ClaimLog, *, group: str | None, topics: frozenset[str] | None
) -> State:
    """Return what the log says, and what the groups in it have committed.

    Args:
        claim_log: at the log.
        group: only this one; None for all.
        topics: only their keys; None for all.
    """
    worlds = {number: claim_log.world(number) for number in claim_log.partitions}
    now = max([claim_log.time, *(world.time for world in worlds.values())])
    found: dict[str, dict[TopicPartition, Standing]] = {}
    for world in worlds.values():
        for key, standing in standings(world, group):
            tp = _tp(key)
            if topics is None or tp.topic in topics:
                found.setdefault(_text(key.group), {})[tp] = standing
    if group is not None:
        found.setdefault(group, {})
    groups = [await _group(claim_log, name, keys, topics) for name, keys in sorted(found.items())]
    parts = {
        number: Part(world.next_offset, world.time, world.digest())
        for number, world in worlds.items()
    }
    return State(
        claim_log.settings.topic, now, tuple(groups), parts, dict(claim_log.reader.rejects)
    )


async def _group(
    claim_log: ClaimLog,
    name: str,
    keys: Mapping[TopicPartition, Standing],
    topics: frozenset[str] | None,
) -> GroupRow:
    members: dict[str, tuple[str, ...]] = {}
    pauses: dict[int, Pause] = {}
    for number in claim_log.partitions:
        world = claim_log.world(number)
        for topic, clients in world.presences.of(name.encode(), world.time).items():
            if topics is None or _text(topic) in topics:
                members[_text(topic)] = tuple(sorted(map(_text, clients)))
        pause = world.pause_of(name.encode())
        if pause is not None and pause_left(pause, claim_log.time):
            pauses[number] = pause
    committed, error = await _committed(claim_log, name) if keys else ({}, None)
    rows = tuple(KeyRow(tp, keys[tp], committed.get(tp)) for tp in sorted(keys))
    return GroupRow(name, rows, members, pauses, error)


async def _committed(
    claim_log: ClaimLog, group: str
) -> tuple[dict[TopicPartition, int], Exception | None]:
    """Return what a group has committed; what is not known hides nothing else."""
    try:
        found = await ask_committed(claim_log.cluster, group, timeout=claim_log.settings.timeout)
    except (KGroupError, TimeoutError) as error:
        return {}, error
    known = {tp: each.offset for tp, each in found.offsets.items() if each is not None}
    return known, next(iter(found.errors.values()), None)


def _tp(key: Key) -> TopicPartition:
    return TopicPartition(_text(key.topic), key.partition)


def _text(word: bytes) -> str:
    return word.decode(errors="backslashreplace")


# -- state -----------------------------------------------------------------------------------


def show_state(state: State, *, digests: bool) -> None:
    """Print it for a person."""
    console = screen()
    columns = ("partition", "owner", "state", "epoch", "beat", "left", "offset", "committed", "")
    for group in state.groups:
        console.print(_title(state, group), markup=False, style="bold")
        if group.keys:
            console.print(make_table(columns, [_row(state, row) for row in group.keys]))
        for topic, clients in sorted(group.members.items()):
            console.print(on_one_line(f"{topic}: {', '.join(clients)} there"), markup=False)
        if group.error is not None:
            text = f"{group.group}: what is committed is not known: {group.error}"
            screen(stderr=True).print(text, markup=False)
    if not state.groups:
        console.print("no group has claimed anything, as far as the log was read")
    if state.rejects:
        words = ", ".join(f"{count} x {why}" for why, count in sorted(state.rejects.items()))
        console.print(f"records that are no messages: {words}", markup=False)
    if digests:
        rows = [(number, part.next_offset, part.digest) for number, part in _parts(state)]
        console.print(make_table(("coordination partition", "next offset", "digest"), rows))


def _parts(state: State) -> Iterator[tuple[int, Part]]:
    yield from sorted(state.parts.items())


def _title(state: State, group: GroupRow) -> str:
    owned = sum(bool(state.left(row.standing)) for row in group.keys)
    words = [f"{len(group.keys)} keys, {owned} owned"]
    by_who: dict[str, int] = {}
    for pause in group.pauses.values():
        who = _text(pause.client_id)
        by_who[who] = max(by_who.get(who, 0), pause.until)
    for who, until in sorted(by_who.items()):
        words.append(f"paused by {who} for another {max(until - state.now, 0) / _MS:.0f} s")
    return on_one_line(f"{group.group}: {', '.join(words)}")


def _word(state: State, standing: Standing) -> str:
    if state.left(standing):
        return "owned"
    if standing.owned:
        return "lapsed"
    return "free" if standing.released_at is None else "released"


def _row(state: State, row: KeyRow) -> tuple[Cell, ...]:
    standing = row.standing
    owner = f"{_text(standing.client_id)}/{_text(standing.instance_id)}" if standing.owned else None
    marks = ["original library"] if standing.is_mixed(state.now) else []
    marks += [] if standing.definite else ["older claims may exist"]
    beat, left = state.age(standing.beat), state.left(standing)
    return (
        str(row.tp),
        owner,
        _word(state, standing),
        standing.epoch,
        None if beat is None else f"{beat:.1f} s",
        None if left is None else f"{left:.1f} s",
        standing.offset,
        row.committed,
        ", ".join(marks),
    )


def state_json(state: State, *, digests: bool) -> dict[str, Any]:
    """Return it for programs; times are milliseconds since the epoch, spans are seconds."""
    return {
        "coordination_topic": state.topic,
        "time": state.now,
        "groups": [_group_json(state, group) for group in state.groups],
        "rejects": dict(state.rejects),
        "coordination_partitions": [
            {
                "partition": number,
                "next_offset": part.next_offset,
                "time": None if part.time < 0 else part.time,
                **({"digest": part.digest} if digests else {}),
            }
            for number, part in _parts(state)
        ],
    }


def _group_json(state: State, group: GroupRow) -> dict[str, Any]:
    pauses = [
        {"coordination_partition": number, "client_id": _text(each.client_id), "until": each.until}
        for number, each in sorted(group.pauses.items())
    ]
    return {
        "group": group.group,
        "keys": [_key_json(state, row) for row in group.keys],
        "members": {topic: list(clients) for topic, clients in sorted(group.members.items())},
        "pauses": pauses,
        "error": None if group.error is None else str(group.error),
    }


def _key_json(state: State, row: KeyRow) -> dict[str, Any]:
    standing = row.standing
    return {
        "topic": row.tp.topic,
        "partition": row.tp.partition,
        "state": _word(state, standing),
        "client_id": _text(standing.client_id) or None,
        "instance_id": _text(standing.instance_id) or None,
        "epoch": standing.epoch,
        "since_heartbeat": state.age(standing.beat),
        "lease_left": state.left(standing),
        "offset": standing.offset,
        "committed": row.committed,
        "mixed": standing.is_mixed(state.now),
        "definite": standing.definite,
    }


# -- init ------------------------------------------------------------------------------------


def set_up_lines(done: SetUp, *, dry_run: bool) -> list[str]:
    """Return what was found or made, for a person."""
    topic = done.topic
    if done.check is not None and not done.made:
        fit = "is fit" if not done.check.warnings else "can be used"
        return [f"topic {topic.name} is there, has {done.check.partitions} partitions, and {fit}"]
    verb = "would create" if dry_run else "created"
    facts = f"{topic.partitions} partitions, {topic.replication_factor} replicas"
    return [f"{verb} topic {topic.name}: {facts}"] + [
        f"  {name}={value}" for name, value in sorted(topic.configs.items())
    ]


def set_up_json(done: SetUp, *, dry_run: bool) -> dict[str, Any]:
    """Return what was found or made, for programs."""
    check = done.check
    return {
        "name": done.topic.name,
        "created": done.made,
        "dry_run": dry_run,
        "partitions": done.topic.partitions if check is None else check.partitions,
        "replicas": done.topic.replication_factor if check is None or done.made else None,
        "settings": dict(done.topic.configs) if check is None or done.made else None,
        "warnings": [
            {"concern": each.concern.value, "text": each.text}
            for each in (() if check is None else check.warnings)
        ],
    }
