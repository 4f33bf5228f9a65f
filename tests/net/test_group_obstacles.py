"""What stands in the way of a plan, judged from made-up groups."""

from collections.abc import Sequence

import pytest

from kgroup.admin.obstacles import Obstacle, ObstacleKind, Weight, find_obstacles
from kgroup.admin.offers import GroupOffers, read_offers
from kgroup.net.group_description import GroupMember, GroupType
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import MemberSubscription, decode_subscription
from kgroup.wire.user_data import encode_cooperative_user_data, encode_sticky_user_data
from tests.net.offered import COOPERATIVE, group_of, member, said
from tests.vectors import load

NOT_COMMON = (COOPERATIVE, "range", "roundrobin", "sticky")


def offers(*members: GroupMember, assignor: str = "roundrobin") -> GroupOffers:
    """Return a group that was asked about all built-in assignors; only one is common."""
    return read_offers(group_of(members or [member("a", said())], assignor), (), NOT_COMMON)


def one(found: Sequence[Obstacle], kind: ObstacleKind) -> Obstacle:
    (obstacle,) = (each for each in found if each.kind is kind)
    return obstacle


def kinds(found: Sequence[Obstacle]) -> list[ObstacleKind]:
    return [each.kind for each in found]


def test_a_list_with_the_assignor_in_use_is_let_in() -> None:
    assert find_obstacles(offers(), ("roundrobin",)) == ()
    assert find_obstacles(offers(), (COOPERATIVE, "roundrobin")) == ()


def test_a_lone_member_that_offers_only_another_assignor_blocks_and_is_named() -> None:
    found = one(find_obstacles(offers(), (COOPERATIVE,)), ObstacleKind.NOTHING_IN_COMMON)
    assert (found.weight, found.step) == (Weight.BLOCKS, 1)
    assert "member 'a' offers only [roundrobin]" in found.text
    assert "list 'roundrobin' too: [roundrobin, cooperative-sticky]" in found.text


def test_of_several_members_it_is_not_claimed_which_one_lacks_the_name() -> None:
    group = offers(member("a", said()), member("b", said()))
    found = one(find_obstacles(group, (COOPERATIVE,)), ObstacleKind.NOTHING_IN_COMMON)
    assert "the 2 members have in common only [roundrobin]" in found.text


def test_another_name_that_all_list_is_as_good_as_the_one_in_use() -> None:
    group = read_offers(group_of([member("a", said())], "roundrobin"), ["range"], ["sticky"])
    assert find_obstacles(group, ("range",)) == ()


def test_a_name_that_was_not_asked_about_is_doubtful() -> None:
    found = one(find_obstacles(offers(), ("zone", "sticky")), ObstacleKind.NOT_ASKED)
    assert (found.weight, found.step) == (Weight.DOUBTFUL, 1)
    assert "[zone]" in found.text


def test_the_two_restarts_of_kip_429_are_let_in() -> None:
    plan = (("roundrobin", COOPERATIVE), (COOPERATIVE,))
    assert find_obstacles(offers(), *plan) == ()


def test_a_later_step_without_a_name_of_the_one_before_blocks() -> None:
    plan = (("roundrobin",), (COOPERATIVE,), ("range",))
    found = find_obstacles(offers(), *plan)
    assert [(each.kind, each.step) for each in found] == [
        (ObstacleKind.NOTHING_IN_COMMON, 2),
        (ObstacleKind.NOTHING_IN_COMMON, 3),
    ]
    assert "[roundrobin, cooperative-sticky]" in found[0].text


def test_a_group_without_members_lets_everybody_in() -> None:
    assert find_obstacles(read_offers(group_of((), None, state="Empty")), ("zone",)) == ()


def test_an_eager_assignor_in_the_list_costs_a_cooperative_group_its_ease() -> None:
    group = offers(member("a", said(2)), assignor=COOPERATIVE)
    assert find_obstacles(group, (COOPERATIVE,)) == ()
    found = one(find_obstacles(group, (COOPERATIVE, "range")), ObstacleKind.HANDS_ALL_BACK)
    assert (found.weight, found.step) == (Weight.COSTS, 1)
    assert "[range]" in found.text


def test_a_member_that_kept_nothing_among_members_that_kept_theirs_may_be_eager() -> None:
    group = offers(member("a", said(2)), member("b", said(0)), assignor=COOPERATIVE)
    found = one(find_obstacles(group), ObstacleKind.PERHAPS_MIXED)
    assert (found.weight, found.members) == (Weight.DOUBTFUL, ("b",))


def test_members_that_all_kept_something_are_no_mixture() -> None:
    group = offers(member("a", said(2)), member("b", said(1)), assignor=COOPERATIVE)
    assert find_obstacles(group) == ()


def test_a_member_that_owns_nothing_is_not_suspected() -> None:
    group = offers(member("a", said(2)), member("b", said(0), owns=0), assignor=COOPERATIVE)
    assert find_obstacles(group) == ()


TP = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("assignor", "subscription", "timeless"),
    [
        (COOPERATIVE, said(1), False),
        (COOPERATIVE, said(1, generation_id=None), True),
        (COOPERATIVE, said(0, generation_id=None), False),
        (
            COOPERATIVE,
            said(1, generation_id=None, user_data=encode_cooperative_user_data(4)),
            False,
        ),
        (
            COOPERATIVE,
            said(1, generation_id=None, user_data=encode_cooperative_user_data(None)),
            True,
        ),
        (COOPERATIVE, said(1, generation_id=None, user_data=b"?"), True),
        ("sticky", said(user_data=encode_sticky_user_data([TP], 4)), False),
        ("sticky", said(user_data=encode_sticky_user_data([TP], None)), True),
        ("sticky", said(user_data=encode_sticky_user_data([], None)), False),
        ("sticky", said(user_data=b"?"), False),
        ("sticky", said(), False),
        ("range", said(), False),
    ],
)
def test_a_claim_without_a_generation_is_reported(
    assignor: str, subscription: MemberSubscription, timeless: bool
) -> None:
    group = offers(member("a", subscription), assignor=assignor)
    assert (ObstacleKind.NO_GENERATION in kinds(find_obstacles(group))) is timeless


def test_claims_without_a_generation_are_found_in_the_bytes_of_other_clients() -> None:
    """Golden data: what each assignor's rules read out of a subscription of any version."""
    seen = set()
    for row in load("consumer_protocol/member_data"):
        subscription = decode_subscription(bytes.fromhex(row["subscription_hex"]))
        claim = row["decoded"]
        generation_id = -1 if claim["generation"] is None else claim["generation"]
        timeless = bool(claim["partitions"]) and generation_id < 0
        found = find_obstacles(offers(member("a", subscription), assignor=row["assignor"]))
        assert (ObstacleKind.NO_GENERATION in kinds(found)) is timeless, row["comment"]
        seen.add((row["assignor"], timeless))
    assert len(seen) == 4


def test_a_subscription_that_cannot_be_read_blocks() -> None:
    found = one(find_obstacles(offers(member("a"), member("b", said()))), ObstacleKind.UNREADABLE)
    assert (found.weight, found.members) == (Weight.BLOCKS, ("a",))


def test_what_is_not_shown_during_a_rebalance_is_not_called_unreadable() -> None:
    group = read_offers(group_of([member("a")], None, state="PreparingRebalance"))
    found = find_obstacles(group)
    assert kinds(found) == [ObstacleKind.NOT_SETTLED]
    assert "PreparingRebalance" in found[0].text


def test_a_group_of_the_newer_protocol_blocks() -> None:
    newer = group_of([member("a", owns=0)], "uniform", group_type=GroupType.CONSUMER)
    (found,) = find_obstacles(read_offers(newer), (COOPERATIVE,))
    assert (found.kind, found.weight) == (ObstacleKind.OTHER_PROTOCOL, Weight.BLOCKS)


def test_a_group_that_is_not_one_of_consumers_blocks() -> None:
    workers = group_of([member("a")], "sessioned", protocol_type="connect")
    (found,) = find_obstacles(read_offers(workers), ("sessioned",))
    assert (found.kind, found.weight) == (ObstacleKind.OTHER_TYPE, Weight.BLOCKS)
    assert "'connect'" in found.text


def test_an_assignor_that_is_not_built_in_is_reported_unless_a_built_in_one_is_common_too() -> None:
    group = group_of([member("a", said())], "zone")
    found = one(find_obstacles(read_offers(group)), ObstacleKind.FOREIGN_ASSIGNOR)
    assert "'zone'" in found.text
    assert find_obstacles(read_offers(group, ["range"]), ("range",)) == ()


def test_static_members_are_noted() -> None:
    found = one(
        find_obstacles(offers(member("a", said(), instance="till-7"))), ObstacleKind.STATIC_MEMBERS
    )
    assert (found.weight, found.members) == (Weight.NOTE, ("a",))


def test_members_that_read_different_topics_are_noted() -> None:
    group = offers(member("a", said()), member("b", said(topics=("orders", "stock"))))
    found = one(find_obstacles(group), ObstacleKind.DIFFERENT_TOPICS)
    assert "orders; orders, stock" in found.text


def test_the_gravest_comes_first() -> None:
    group = offers(member("a", said(1, generation_id=None), instance="x"), assignor=COOPERATIVE)
    weights = [each.weight for each in find_obstacles(group, ("range",))]
    assert weights == [Weight.BLOCKS, Weight.COSTS, Weight.COSTS, Weight.NOTE]
