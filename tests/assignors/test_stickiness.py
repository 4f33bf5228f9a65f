"""What members keep, and how many rounds a hand-over takes."""

import pytest

from kgroup.assignors import (
    BUILT_IN,
    CooperativeStickyAssignor,
    GroupSubscription,
    RebalanceProtocol,
    StickyAssignor,
    verify,
)
from tests.assignors.groups import after, group, member, target, tps

STICKY = BUILT_IN["sticky"]
COOPERATIVE = BUILT_IN["cooperative-sticky"]

each_sticky = pytest.mark.parametrize(
    "assignor", [STICKY, COOPERATIVE], ids=lambda assignor: assignor.name
)
each_shape = pytest.mark.parametrize(
    "topics_of", [lambda _: "t u", lambda i: "t" if i == 0 else "t u"], ids=["equal", "unequal"]
)


def joined(described, *members):
    return GroupSubscription((*described.members, *members), described.topics)


def without(described, member_id):
    left = tuple(m for m in described.members if m.member_id != member_id)
    return GroupSubscription(left, described.topics)


def settled(topics_of, count=6):
    """A group of `count` members in which everybody holds its share."""
    described = group([member(f"m{i}", topics_of(i)) for i in range(count)], t=12, u=12)
    return after(described, COOPERATIVE.assign(described), generation_id=1)


@each_sticky
@each_shape
def test_when_a_member_leaves_the_others_keep_everything(assignor, topics_of):
    before = settled(topics_of)
    assignment = assignor.assign(without(before, "m3"))
    for each in before.members:
        assert each.member_id == "m3" or set(each.owned) <= set(assignment.of(each.member_id))


@each_sticky
@each_shape
def test_when_a_member_joins_only_its_share_moves(assignor, topics_of):
    before = settled(topics_of)
    ends = target(assignor.assign(joined(before, member("n", "t u"))))
    assert len(ends["n"]) == 24 // 7
    for each in before.members:
        assert ends[each.member_id] <= set(each.owned)


@each_sticky
def test_a_new_member_takes_from_all_topics_alike(assignor):
    alone = group([member("a", "t u")], t=12, u=12)
    before = after(alone, STICKY.assign(alone), generation_id=1)
    ends = target(assignor.assign(joined(before, member("b", "t u"))))
    assert sorted(partition.topic for partition in ends["b"]) == ["t"] * 6 + ["u"] * 6


def test_a_chain_of_exchanges_balances_members_that_share_no_topic():
    described = group(
        [
            member("a", "t", owned="t-0 t-1 t-2", generation_id=1),
            member("b", "t u", owned="u-0 u-1", generation_id=1),
            member("c", "u"),
        ],
        t=3,
        u=2,
    )
    sizes = sorted(len(given) for given in target(COOPERATIVE.assign(described)).values())
    assert sizes == [1, 2, 2]


def test_the_first_user_data_of_an_eager_member_is_none():
    assert StickyAssignor().encode_user_data((), None) is None


def test_user_data_of_an_eager_member_does_not_depend_on_order():
    one = StickyAssignor().encode_user_data(tps("u-1 t-2 t-0"), 7)
    assert one == StickyAssignor().encode_user_data(tps("t-0 u-1 t-2"), 7)
    assert one is not None
    assert one.hex() == "000000020001740000000200000000000000020001750000000100000001" + "00000007"


def test_user_data_of_a_cooperative_member_is_its_generation():
    assert CooperativeStickyAssignor().encode_user_data((), None) == b"\xff\xff\xff\xff"
    assert CooperativeStickyAssignor().encode_user_data(tps("t-0"), 7) == b"\x00\x00\x00\x07"


@pytest.mark.parametrize("garbage", [b"\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x01\x00\x09t"])
def test_user_data_that_cannot_be_read_claims_nothing(garbage):
    broken = type(member("a"))(member_id="a", topics=frozenset("t"), user_data=garbage)
    whole = member("b", owned="t-0", generation_id=1)
    assert STICKY.assign(group([broken, whole], t=2)).of("b") == tps("t-0")


@pytest.mark.parametrize("shape", ["equal", "unequal"])
def test_no_member_could_take_from_a_larger_one_when_half_the_group_is_new(shape):
    names = [f"t{number:02}" for number in range(50)]
    counts = dict.fromkeys(names, 60)

    def topics_of(index):
        return " ".join(names[: 1 + index % 50] if shape == "unequal" else names)

    half = group([member(f"m{i:03}", topics_of(i)) for i in range(200)], **counts)
    before = joined(
        after(half, STICKY.assign(half), generation_id=1),
        *(member(f"n{i:03}", topics_of(i)) for i in range(200)),
    )
    assignment = COOPERATIVE.assign(before)
    verify(before, assignment, assignor="x", protocol=RebalanceProtocol.COOPERATIVE)
    ends = target(assignment)
    smallest = {
        topic: min(len(ends[m.member_id]) for m in before.subscribers(topic)) for topic in names
    }
    for given in ends.values():
        assert all(len(given) <= smallest[partition.topic] + 1 for partition in given)
