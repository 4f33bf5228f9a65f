"""Groups as the vectors describe them, and the vectors' rules for judging a result."""

from collections.abc import Mapping
from typing import Any

from kgroup.assignors import GroupAssignment, GroupSubscription, Member, PartitionRacks
from kgroup.assignors.claims import cooperative_claim, sticky_claim
from kgroup.types import TopicPartition
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
    """Who owns what, as the vectors count moves: the newest claimant, if it still subscribes.

    Written from the vectors' README, not from the product: only the reading of claims is shared.
    """
    described = group(line)
    claim = sticky_claim if line["assignor"] == "sticky" else cooperative_claim
    generations: dict[TopicPartition, dict[str, int]] = {}
    for each in described.members:
        said = claim(each)
        for tp in said.partitions:
            generation = -1 if said.generation_id is None else said.generation_id
            generations.setdefault(tp, {})[each.member_id] = generation
    topics = {m.member_id: m.topics for m in described.members}
    found = {}
    for tp, by_member in generations.items():
        newest = max(by_member.values())
        claimants = [who for who, generation in by_member.items() if generation == newest]
        exists = any(row["partition"] == tp.partition for row in line["topics"].get(tp.topic, ()))
        if exists and len(claimants) == 1 and tp.topic in topics[claimants[0]]:
            found[tp] = claimants[0]
    return found


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


def check_valid(line: Line, assignment: GroupAssignment) -> None:
    """Every partition once, to subscribers; nothing to a member while another one owns it."""
    described = group(line)
    topics = {m.member_id: m.topics for m in described.members}
    assert set(assignment.partitions) == set(topics), "every member is in the result"
    everything = [
        *(tp for given in assignment.partitions.values() for tp in given),
        *assignment.withheld,
    ]
    assert sorted(everything) == sorted(described.partitions)
    for member_id, given in target(assignment).items():
        assert all(tp.topic in topics[member_id] for tp in given), member_id
    if line["assignor"] == "cooperative-sticky":
        owned = owners(line)
        for member_id, now in assignment.partitions.items():
            assert all(owned.get(tp, member_id) == member_id for tp in now), member_id
