"""A member that restarts finds its partitions waiting: for a while nobody else gets them.

When a member leaves, what it had is held back for `grace` seconds. It is given at once to the
member that comes back (a static one is known by its instance id), or else to any newcomer, which
then has exactly what the other one had. If nobody comes, it is divided among those who are
there. Everybody else keeps what it has all the while.

The price: the partitions of a member that leaves for good are read by nobody for that long.

Where the memory is. The leader writes down who has what, and who is awaited until when, and
sends it along with the assignment; members return it, byte for byte, with their next
subscription. So the next leader knows, whoever that is. What this means:

- The leader changes, or leaves itself: the new one reads the same bytes and goes on.
- Clocks differ: the end of a wait is an instant by the clock of the leader that wrote it down. A
  clock that is ahead shortens the wait by so much, one that is behind lengthens it, though no
  round lets anybody wait for more than `grace` from its own now.
- All leave: the memory leaves with them, and who comes next begins anew.
- A static leader restarts within its session: the coordinator gives it back what it had without a
  round. It sees that some of the partitions were given to nobody, and begins a round itself.
- A member missed a round: of several memories the one with the highest generation counts.
- Bytes that cannot be read are no memory. False ones can at most hold back, for `grace` seconds,
  what nobody has: whatever a member holds stays with it or is divided as usual.
- The memory is large: a coordinator keeps all members' bytes in one record of about a megabyte,
  so only as many members carry it as fit into `BUDGET`, and none if it is larger than that. With
  no carrier left the partitions are divided at once, as if there were no grace.

Why every leader decides the same: the answer follows from the group, in the group's own order,
and from `group.now`; chance and the leader's own memory have no part in it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import ClassVar

from kgroup.assignors import Draft, GroupAssignment, GroupSubscription, Member, RebalanceProtocol
from kgroup.types import TopicPartition

__all__ = ["GraceAssignor"]

BUDGET = 128 * 1024
"""Bytes of all copies of the memory in one round."""

AT_LEAST = 1.0
"""Seconds until the leader looks again; clocks are not exact."""

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Memory:
    """What the last leader wrote down.

    Args:
        had: partition -> who had it, or is awaited with it.
        until: everybody it knew -> the end of the wait, None for who was there.
    """

    had: Mapping[TopicPartition, str] = field(default_factory=dict)
    until: Mapping[str, float | None] = field(default_factory=dict)


class GraceAssignor:
    """Divide equally; what a member leaves behind waits for it, or for its successor.

    Args:
        grace: seconds to wait; long enough for a restart, shorter than a backlog you can bear.

    Raises:
        ValueError: the time is not positive.
    """

    name: ClassVar[str] = "grace"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (
        RebalanceProtocol.COOPERATIVE,
        RebalanceProtocol.EAGER,
    )

    def __init__(self, grace: float = 60.0) -> None:
        if not (grace > 0 and isfinite(grace)):
            raise ValueError(f"grace {grace} is not a positive number of seconds")
        self._grace = grace

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Hold back what is waited for, divide the rest, and write both down."""
        memory = _newest(group)
        had = {**memory.had, **_owned(group)}
        awaited = self._awaited(group, memory, had)
        heirs = _heirs(group, memory, had, awaited)
        waits = {who: end for who, end in awaited.items() if who not in heirs}
        members = heirs | {_identity(member): member for member in group.members}
        owners = {tp: members[who] for tp, who in had.items() if who in members}
        draft = group.draft()
        for audience in group.audiences:  # topics that the same members subscribe to
            partitions = [tp for topic in audience.topics for tp in group.partitions_of(topic)]
            for partition in partitions:
                if had.get(partition) in waits:
                    draft.withhold(partition)
            rest = [partition for partition in partitions if had.get(partition) not in waits]
            _divide(draft, audience.members, rest, owners)
        written = _write(group, draft, had, waits)
        carriers = group.members[: BUDGET // len(written)]
        return draft.freeze(
            RebalanceProtocol.COOPERATIVE,
            user_data={member.member_id: written for member in carriers},
            rejoin_after=max(min(waits.values()) - group.now, AT_LEAST) if waits else None,
        )

    def _awaited(
        self, group: GroupSubscription, memory: Memory, had: Mapping[TopicPartition, str]
    ) -> dict[str, float]:
        """Return who had something and is gone -> until when it is waited for."""
        gone = set(had.values()) - {_identity(member) for member in group.members}
        latest = group.now + self._grace
        ends: dict[str, float] = {}
        for who in sorted(gone):
            until = memory.until.get(who)
            end = latest if until is None else min(until, latest)  # None: it was there until now
            if end > group.now:
                ends[who] = end
        return ends


def _identity(member: Member) -> str:
    """Return what a member is known by when it comes back; a dynamic one never is."""
    if member.group_instance_id is not None:
        return f"instance {member.group_instance_id}"
    return f"member {member.member_id}"


def _generation(member: Member) -> int:
    return -1 if member.generation_id is None else member.generation_id


def _newest(group: GroupSubscription) -> Memory:
    for member in sorted(group.members, key=_generation, reverse=True):
        memory = _read(member.user_data, group)
        if memory is not None:
            return memory
    return Memory()


def _owned(group: GroupSubscription) -> dict[TopicPartition, str]:
    """Return what cooperative members say they hold; the newest generation is believed."""
    return {
        partition: _identity(member)
        for member in sorted(group.members, key=_generation)
        for partition in member.owned
        if group.has(partition)
    }


def _heirs(
    group: GroupSubscription,
    memory: Memory,
    had: Mapping[TopicPartition, str],
    awaited: Mapping[str, float],
) -> dict[str, Member]:
    """Return whose place a newcomer takes; who is waited for longest comes first."""
    known = {*memory.until, *had.values()}
    newcomers = [member for member in group.members if _identity(member) not in known]
    by_end = sorted(awaited, key=lambda who: (awaited[who], who))
    return dict(zip(by_end, newcomers, strict=False))


def _divide(
    draft: Draft,
    members: Sequence[Member],
    partitions: Sequence[TopicPartition],
    owners: Mapping[TopicPartition, Member],
) -> None:
    """Give everybody the same number, first of what it has.

    `share` is what each member gets at least, and `extra` members get one more. Whoever keeps
    one more uses up an extra, so nobody keeps what it would have to give up in the next round.
    """
    share, extra = divmod(len(partitions), len(members))
    count = {member.member_id: 0 for member in members}
    free: list[TopicPartition] = []
    for partition in partitions:
        owner = owners.get(partition)
        had = count.get(owner.member_id) if owner else None
        if owner is None or had is None or had >= share + (extra > 0):
            free.append(partition)
            continue
        extra -= had == share
        count[owner.member_id] += 1
        draft.give(partition, to=owner)
    for partition in free:
        to = min(members, key=lambda m: (count[m.member_id], draft.load(m)))
        count[to.member_id] += 1
        draft.give(partition, to=to)


def _write(
    group: GroupSubscription,
    draft: Draft,
    had: Mapping[TopicPartition, str],
    waits: Mapping[str, float],
) -> bytes:
    """Return {"who": [[name, end or null]], "had": {topic: [place in who, by partition]}}.

    What one member hands over to another in this round counts as the other's already.
    """
    who: dict[str, float | None] = {_identity(member): None for member in group.members}
    who.update(waits)
    place = {name: at for at, name in enumerate(who)}
    rows: dict[str, list[int]] = {}
    for partition in group.partitions:
        owner = draft.owner(partition)
        name = had[partition] if owner is None else _identity(owner)
        row = rows.setdefault(partition.topic, [])
        row.extend([NOBODY] * (partition.partition - len(row)))
        row.append(place[name])
    return json.dumps({"who": list(who.items()), "had": rows}, separators=(",", ":")).encode()


def _read(data: bytes | None, group: GroupSubscription) -> Memory | None:
    """Return a memory of partitions that still exist, None when there is none to be read."""
    if not data or len(data) > BUDGET:
        return None
    try:
        told = json.loads(data)
        names = [str(name) for name, _ in told["who"]]
        until = {str(name): _end(end) for name, end in told["who"]}
        had = {
            partition: names[row[partition.partition]]
            for topic, row in told["had"].items()
            for partition in group.partitions_of(topic)
            if partition.partition < len(row) and row[partition.partition] >= 0
        }
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return None
    return Memory(had, until)


def _end(told: float | None) -> float | None:
    if told is None or isfinite(told):
        return told
    raise ValueError("no time ends then")
