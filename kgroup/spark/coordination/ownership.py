"""Who had which partition in a group of Kafka's coordinator, and what each rebalance changed.

Decides: what two generations have in common. A static member is the same under another member id.
A classic group owns from the record of a generation to that of the next; what its members had let
go before is in no log. In a group of KIP-848 a partition that is handed back is owned still.
Never: looks at another group.
KIPs: 345 (static members), 848.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from kgroup.spark.coordination.declared import REBALANCE
from kgroup.spark.coordination.holds import Holds, Moment, Owner, Place
from kgroup.spark.coordination.schema import Row, Table
from kgroup.spark.coordination.silver import CLASSIC, KIP_848

Found: TypeAlias = Iterator[tuple[Table, Row]]

AWAY: Final = -2
"""Epoch of a static member of KIP-848 that is away."""


class Round(NamedTuple):
    """A generation, or the targets of an epoch.

    Args:
        generation: its number.
        members: who is in it.
        owners: partition -> member.
        leader: None without one, and in KIP-848.
    """

    generation: int
    members: frozenset[str]
    owners: Mapping[Place, str]
    leader: str | None = None


def changes(before: Round | None, now: Round) -> Row:
    """Return what a round changed; the columns of `rebalance` from `members` on.

    Args:
        before: the round before, None when nothing is known of it.
        now: the round.
    """
    was = Round(now.generation - 1, frozenset(), {}) if before is None else before
    both = was.owners.keys() & now.owners.keys()
    kept = sum(was.owners[each] == now.owners[each] for each in both)
    counts = Counter(dict.fromkeys(now.members, 0))
    counts.update(now.owners.values())
    led = before is not None and before.leader is not None and now.leader is not None
    return {
        "generation": now.generation,
        "members": len(now.members),
        "joined": len(now.members - was.members),
        "left": len(was.members - now.members),
        "moved": len(both) - kept,
        "kept": kept,
        "given": len(now.owners) - len(both),
        "taken": len(was.owners) - len(both),
        "spread": max(counts.values()) - min(counts.values()) if counts else 0,
        "leader_changed": was.leader != now.leader if led else None,
        "skipped_generations": (
            None if before is None else max(now.generation - before.generation - 1, 0)
        ),
    }


def ownership(
    group: str, silver: Mapping[str, Sequence[Row]], names: Mapping[str, str] | None = None
) -> Found:
    """Yield what `ownership`, `unowned` and `rebalance` say of a group.

    Args:
        group: its name.
        silver: rows of `generation`, `member`, `assignment` and `commit_log`, those of the group.
        names: id of a topic -> its name, beside those that the group's commits tell.
    """
    records = [*silver["generation"], *silver["member"]]
    if not records:
        return
    story = _Story(group, silver, names or {})
    # A generation stands before its members, which came with the same record.
    for row in sorted(records, key=lambda each: (each["log_offset"], "member_id" in each)):
        found = story.apply(row)
        if found is not None:
            yield REBALANCE, found
    yield from story.holds.rows()


class _Story:
    """A group, record by record."""

    def __init__(
        self, group: str, silver: Mapping[str, Sequence[Row]], names: Mapping[str, str]
    ) -> None:
        self._group = group
        first = (*silver["generation"], *silver["member"])[0]
        self._log_partition: int = first["log_partition"]
        self.holds = Holds(self._log_partition)
        told = {
            row["topic_id"]: row["topic"] for row in silver["commit_log"] if row.get("topic_id")
        }
        self._names = {**names, **told}
        self._members: dict[int, list[Row]] = {}
        for row in silver["member"]:
            if row["kind"] == CLASSIC:
                self._members.setdefault(row["log_offset"], []).append(row)
        self._assigned: dict[tuple[int, str], list[Row]] = {}
        for row in silver["assignment"]:
            key = row["log_offset"], row["member_id"]
            self._assigned.setdefault(key, []).append(row)
        self._before: Round | None = None
        self._present: dict[str, Row] = {}
        self._targets: dict[str, list[Place]] = {}
        self._aimed: Round | None = None

    def apply(self, row: Row) -> Row | None:
        """Apply a record; return what it changed, if it is a rebalance."""
        at = Moment(row["append_ts"], row["log_offset"])
        match row["kind"]:
            case "classic" if "member_id" not in row:
                return self._classic(row, at)
            case "848":
                self._epoch(row)
            case "848 target":
                return self._aim(row, at)
            case "member":
                self._is_member(row)
            case "target":
                self._is_to_have(row)
            case "current":
                self._has(row, at)
            case _:
                pass
        return None

    def _places(self, row: Row, *kinds: str) -> list[Place]:
        rows = self._assigned.get((row["log_offset"], row["member_id"]), ())
        return [
            Place(self._group, self._topic(each), each["partition"])
            for each in rows
            if each["kind"] in kinds
        ]

    def _topic(self, row: Row) -> str:
        topic_id = row.get("topic_id")
        topic: str | None = row.get("topic")
        return topic or self._names.get(topic_id or "", f"<{topic_id}>")

    # -- classic ---------------------------------------------------------------------------

    def _classic(self, row: Row, at: Moment) -> Row | None:
        if row["tombstone"]:
            self._before = None
            for place in self.holds.places():
                self.holds.end(place, at, "removed")
            return None
        members = self._members.get(row["log_offset"], ())
        owners = {place: each for each in members for place in self._places(each, CLASSIC)}
        now = Round(
            row["generation"],
            frozenset(map(_who, members)),
            {place: _who(each) for place, each in owners.items()},
            _leader(row, members),
        )
        self._own(now, members, owners, at)
        before, self._before = self._before, now
        if before is not None and before.generation >= now.generation:
            # Another member id of a static member, or a group that was made anew.
            if before.generation == now.generation:
                return None
            before = None
        if before is None and not now.members:
            return None
        return self._rebalance(CLASSIC, changes(before, now), at, row["state_ts"])

    def _own(
        self, now: Round, members: Sequence[Row], owners: Mapping[Place, Row], at: Moment
    ) -> None:
        instances = {each["instance_id"] for each in members if each["instance_id"]}
        ids = {each["member_id"] for each in members}
        for place in self.holds.places():
            owner = self.holds.owner(place)
            assert owner is not None
            if place in owners and owners[place]["member_id"] == owner.owner:
                continue
            if not members:
                reason = "empty"
            elif owner.owner in ids:
                reason = "moved" if place in owners else "revoked"
            else:
                reason = "replaced" if owner.instance in instances else "left"
            self.holds.end(place, at, reason)
        for place, each in owners.items():
            owner = Owner(
                CLASSIC, each["member_id"], each["instance_id"], each["client_id"], now.generation
            )
            self.holds.give(place, owner, at)

    # -- KIP-848 ---------------------------------------------------------------------------

    def _epoch(self, row: Row) -> None:
        if row["tombstone"]:
            self._aimed, self._targets = None, {}
            self._present.clear()

    def _is_member(self, row: Row) -> None:
        if row["tombstone"]:
            self._present.pop(row["member_id"], None)
        else:
            self._present[row["member_id"]] = row

    def _is_to_have(self, row: Row) -> None:
        if row["tombstone"]:
            self._targets.pop(row["member_id"], None)
        else:
            self._targets[row["member_id"]] = self._places(row, "target")

    def _aim(self, row: Row, at: Moment) -> Row | None:
        if row["tombstone"]:
            return None
        who = {member: _who(each) for member, each in self._present.items()}
        owners = {
            place: who.get(member, member)
            for member, places in self._targets.items()
            for place in places
        }
        now = Round(row["generation"], frozenset(who.values()), owners)
        before, self._aimed = self._aimed, now
        return self._rebalance(KIP_848, changes(before, now), at, None)

    def _has(self, row: Row, at: Moment) -> None:
        member = row["member_id"]
        epoch = row.get("generation")
        gone = row["tombstone"] or epoch == AWAY
        has = set() if gone else set(self._places(row, "current", "revoking"))
        for place in self.holds.places():
            owner = self.holds.owner(place)
            assert owner is not None
            if owner.owner == member and place not in has:
                self.holds.end(place, at, _why(row, gone=gone))
        known = self._present.get(member, {})
        who = Owner(KIP_848, member, known.get("instance_id"), known.get("client_id"), epoch)
        for place in sorted(has):
            self.holds.give(place, who, at)

    # -- rows ------------------------------------------------------------------------------

    def _rebalance(self, mode: str, found: Row, at: Moment, state_ts: int | None) -> Row:
        return {
            "mode": mode,
            "group": self._group,
            "ts": at.ts,
            "gap_ms": None if state_ts is None else max(at.ts - state_ts, 0),
            **found,
            "log_partition": self._log_partition,
            "log_offset": at.offset,
        }


def _who(member: Row) -> str:
    """Return by what a member is known from one generation to the next."""
    name: Any = member["instance_id"] or member["member_id"]
    return str(name)


def _leader(row: Row, members: Iterable[Row]) -> str | None:
    return next((_who(each) for each in members if each["member_id"] == row["leader"]), None)


def _why(row: Row, *, gone: bool) -> str:
    if row["tombstone"]:
        return "left"
    return "away" if gone else "revoked"
