"""Groups as the vectors describe them, and the vectors' rules for judging a result."""

from collections.abc import Mapping
from typing import Any

from kgroup.assignors import GroupAssignment, GroupSubscription, Member, PartitionRacks
from kgroup.assignors.claims import cooperative_claim, sticky_claim
from kgroup.types import TopicPartition
from tests.assignors import exact
from tests.assignors.groups import target

Line = dict[str, Any]


def tps(pairs):
    return tuple(TopicPartition(topic, partition) for topic, partition in pairs)


def member(fields: Mapping[str, Any]) -> Member:
    """One member, with only the fields that its version carries."""
    version = fields.get("subscription_version", 3)
    user_data = fields.get("user_data_hex")
    return Member(
        member_id=fields["member_id"],
        group_instance_id=fields.get("group_instance_id"),
        topics=frozenset(fields.get("topics", ())),
        owned=tps(fields.get("owned", ())) if version >= 1 else (),
        generation_id=fields.get("generation") if version >= 2 else None,
        rack=fields.get("rack") or None if version >= 3 else None,
        user_data=None if user_data is None else bytes.fromhex(user_data),
        version=version,
    )


def group(line: Line) -> GroupSubscription:
    topics = {
        topic: {row["partition"]: PartitionRacks(None, frozenset(row["racks"])) for row in rows}
        for topic, rows in line["topics"].items()
    }
    return GroupSubscription(tuple(member(fields) for fields in line["members"]), topics)


def as_sets(partitions: Mapping[str, Any]) -> dict[str, set[TopicPartition]]:
    return {member_id: set(tps(given)) for member_id, given in partitions.items()}


def owners(line: Line) -> dict[TopicPartition, str]:
    """Member that owns each partition, as the vectors count moves."""
    claim = sticky_claim if line["assignor"] == "sticky" else cooperative_claim
    return exact.owners(group(line), claim)


def score(assignment: GroupAssignment) -> int:
    return sum(len(given) ** 2 for given in target(assignment).values())


def moved(line: Line, assignment: GroupAssignment) -> int:
    ends = target(assignment)
    return sum(1 for tp, owner in owners(line).items() if tp not in ends[owner])


def rack_matches(line: Line, assignment: GroupAssignment) -> int:
    described = group(line)
    racks = {m.member_id: m.rack for m in described.members}
    return sum(
        racks[member_id] in described.racks_of(tp)
        for member_id, given in target(assignment).items()
        for tp in given
    )
