"""The leader: reading members, checking an assignment, writing it."""

import pytest

from kgroup.assignors import (
    GroupAssignment,
    GroupSubscription,
    Member,
    PartitionRacks,
    RebalanceProtocol,
    describe_group,
    encode_group_assignment,
    read_members,
    subscribed_topics,
    verify,
)
from kgroup.errors import AssignmentError, AssignorError
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    encode_subscription,
)
from tests.assignors.groups import group, member, tp, tps

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
TOPICS = {
    "t": {0: PartitionRacks("r", frozenset("r")), 1: PartitionRacks()},
    "other": {0: PartitionRacks()},
}


def blob(*topics, **fields):
    return encode_subscription(MemberSubscription(topics=topics, **fields))


def test_a_group_is_described_from_the_members_bytes():
    joined = [
        ("m2", None, blob("t", owned=tps("t-0"), generation_id=4, rack="r", user_data=b"x")),
        ("m1", "i1", blob("t", "missing")),
    ]
    described = describe_group(joined, TOPICS, COOPERATIVE)
    assert described.members == (
        Member(member_id="m1", group_instance_id="i1", topics=frozenset(["t", "missing"])),
        Member(
            member_id="m2",
            topics=frozenset("t"),
            owned=tps("t-0"),
            generation_id=4,
            rack="r",
            user_data=b"x",
        ),
    )
    assert described.partitions == tps("t-0 t-1")
    assert described.rack_of(tp("t-0")) == "r"
    assert described.racks_of(tp("t-1")) == frozenset()


def test_the_leader_needs_all_topics_of_the_group_also_those_without_metadata():
    joined = [("m1", None, blob("t")), ("m2", None, blob("u", "missing"))]
    assert subscribed_topics(read_members(joined, EAGER)) == {"t", "u", "missing"}
    assert describe_group(joined, TOPICS, EAGER).subscribed_topics == {"t", "u", "missing"}


def test_an_eager_member_with_unreadable_bytes_gets_nothing_and_is_reported():
    described = describe_group([("bad", None, b"\x00"), ("m", None, blob("t"))], TOPICS, EAGER)
    (bad,) = described.unreadable
    assert bad.member_id == "bad"
    assert "consumer protocol subscription" in (bad.unreadable or "")
    assert [each.member_id for each in described.subscribers("t")] == ["m"]


def test_a_cooperative_member_with_unreadable_bytes_fails_the_round_by_name():
    with pytest.raises(AssignmentError, match=r"member 'bad' \(instance 'i'\) sent 1 bytes"):
        describe_group([("bad", "i", b"\x00"), ("m", None, blob("t"))], TOPICS, COOPERATIVE)


def test_a_member_that_is_listed_twice_fails_the_round():
    with pytest.raises(AssignmentError, match="member id twice: \\['m'\\]"):
        describe_group([("m", None, blob("t")), ("m", None, blob("t"))], TOPICS, EAGER)


def test_every_member_gets_an_entry_also_with_nothing_in_it():
    described = group([member("a"), member("b")], t=1)
    written = encode_group_assignment(described, GroupAssignment({"a": tps("t-0")}))
    assert decode_assignment(written["a"]).partitions == tps("t-0")
    assert written["b"].hex() == "0003" + "00000000" + "ffffffff"


def two_members(**owned):
    return group(
        [
            member("a", "t u", owned.get("a", ""), generation_id=owned.get("a_generation", 5)),
            member("b", "t", owned.get("b", ""), generation_id=owned.get("b_generation", 5)),
        ],
        t=2,
        u=1,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": "t-0 t-1 u-0"}, "'mine' named 'c', who is not a member"),
        ({"a": "t-0 t-1 u-0"}, "'mine' has no entry, not even an empty one, for 'b'"),
        ({"a": "t-0 t-1 u-0 t-2", "b": ""}, "gave what does not exist t-2"),
        ({"a": "t-0 u-0", "b": "t-0 t-1"}, "gave more than once t-0"),
        ({"a": "t-0 t-0 u-0", "b": "t-1"}, "gave more than once t-0"),
        ({"a": "t-0 t-1", "b": "u-0"}, "gave 'b' what it does not subscribe to u-0"),
        ({"a": "t-0", "b": "t-1"}, "gave to nobody, and did not list as withheld, u-0"),
        (
            {"a": "t-0 t-0 x-1", "b": "u-0"},
            "exist x-1; gave 'b' .* to u-0; gave more than once t-0; gave to nobody, .* t-1",
        ),
    ],
)
@pytest.mark.parametrize("protocol", [EAGER, COOPERATIVE])
def test_an_assignment_that_is_not_whole_is_not_sent(given, message, protocol):
    assignment = GroupAssignment({who: tps(names) for who, names in given.items()})
    with pytest.raises(AssignorError, match=message) as refused:
        verify(two_members(), assignment, assignor="mine", protocol=protocol)
    assert refused.value.assignor == "mine"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"withheld": {tp("u-0"): "z"}}, "named 'z', who is not a member"),
        ({"withheld": {tp("u-7"): None}}, "gave what does not exist u-7"),
        ({"withheld": {tp("t-0"): None}}, "gave more than once t-0"),
        ({"user_data": {"z": b""}}, "named 'z', who is not a member"),
        ({"user_data": {"a": "text"}}, "user data for 'a' that is not bytes: 'text'"),
        ({"rejoin_after": 0}, "wants to rejoin after 0, not a positive number"),
        ({"rejoin_after": float("nan")}, "wants to rejoin after nan"),
        ({"rejoin_after": float("inf")}, "wants to rejoin after inf"),
        ({"rejoin_after": "soon"}, "wants to rejoin after 'soon'"),
    ],
)
def test_what_travels_with_an_assignment_is_checked_too(fields, message):
    assignment = GroupAssignment({"a": tps("t-0 u-0"), "b": tps("t-1")}, **fields)
    with pytest.raises(AssignorError, match=message):
        verify(two_members(), assignment, assignor="mine", protocol=EAGER)


def test_what_an_assignor_returns_must_be_an_assignment():
    with pytest.raises(AssignorError, match="'mine' returned None, not a GroupAssignment"):
        verify(two_members(), None, assignor="mine", protocol=EAGER)  # type: ignore[arg-type]


def test_only_the_first_offences_of_a_kind_are_listed():
    assignment = GroupAssignment({"a": tps("x-0 x-1 x-2 x-3 x-4 x-5 x-6"), "b": ()})
    with pytest.raises(AssignorError, match="exist x-0, x-1, x-2, x-3, x-4 and 2 more; gave"):
        verify(two_members(), assignment, assignor="mine", protocol=EAGER)


def test_a_partition_withheld_for_no_member_counts_as_dealt_with():
    assignment = GroupAssignment({"a": tps("t-0 u-0"), "b": ()}, {tp("t-1"): None})
    verify(two_members(a="t-0 t-1"), assignment, assignor="mine", protocol=COOPERATIVE)


WHOLE = GroupAssignment({"a": tps("t-0 u-0"), "b": tps("t-1")})


def test_a_cooperative_assignment_that_hands_over_too_early_is_not_sent():
    with pytest.raises(
        AssignorError, match="gave t-1 to 'b' while 'a' holds it; it has to withhold"
    ):
        verify(two_members(a="t-0 t-1"), WHOLE, assignor="mine", protocol=COOPERATIVE)


def test_a_claim_of_an_older_generation_holds_nothing_back_from_the_newer_one():
    described = two_members(a="t-1", a_generation=4, b="t-1")
    verify(described, WHOLE, assignor="mine", protocol=COOPERATIVE)


def test_an_older_claim_does_not_entitle_to_what_the_newer_one_holds():
    described = two_members(a="t-1", b="t-1", b_generation=4)
    with pytest.raises(AssignmentError, match="while 'a' holds it"):
        verify(described, WHOLE, assignor="mine", protocol=COOPERATIVE)


def test_of_two_claims_in_one_generation_neither_entitles_to_a_partition():
    described = two_members(a="t-1", b="t-1")
    with pytest.raises(AssignorError, match="t-1 to 'b' while 'a' holds it"):
        verify(described, WHOLE, assignor="mine", protocol=COOPERATIVE)


def test_a_claim_without_a_generation_may_be_the_newest():
    described = two_members(a="t-1", b="t-1", b_generation=None)
    verify(described, WHOLE, assignor="mine", protocol=COOPERATIVE)


def test_the_member_that_is_named_is_the_one_whose_claim_stands():
    members = [
        member("a", owned="t-0", generation_id=4),
        member("b", owned="t-0", generation_id=5),
        member("c"),
    ]
    given = GroupAssignment({"a": (), "b": (), "c": tps("t-0")})
    with pytest.raises(AssignorError, match="t-0 to 'c' while 'b' holds it"):
        verify(group(members, t=1), given, assignor="mine", protocol=COOPERATIVE)


def test_an_eager_assignment_may_hand_over_at_once():
    verify(two_members(a="t-0 t-1"), WHOLE, assignor="mine", protocol=EAGER)


def test_a_withheld_partition_counts_as_dealt_with():
    assignment = GroupAssignment({"a": tps("t-0 u-0"), "b": ()}, {tp("t-1"): "b"})
    verify(two_members(a="t-0 t-1"), assignment, assignor="mine", protocol=COOPERATIVE)


def test_members_are_sorted_static_ones_first():
    described = GroupSubscription(
        (member("a"), member("z", group_instance_id="2"), member("y", group_instance_id="10")),
        TOPICS,
    )
    assert [each.member_id for each in described.subscribers("t")] == ["y", "z", "a"]
