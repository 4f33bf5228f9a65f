"""What stands in the way of members of KIP-848 in a classic group, judged from made-up groups."""

from dataclasses import replace

from kgroup.admin.moving import obstacles_to_moving
from kgroup.admin.obstacles import ObstacleKind, Weight, find_obstacles
from kgroup.admin.offers import GroupOffers, read_offers
from kgroup.net.group_description import GroupMember, GroupType
from tests.net.offered import COOPERATIVE, group_of, member, said


def found_in(*members: GroupMember, assignor: str = "range") -> dict[ObstacleKind, Weight]:
    """Return what stands in the way of a Stable classic group."""
    offers = read_offers(group_of(members, assignor))
    return {each.kind: each.weight for each in obstacles_to_moving(offers)}


def mixed() -> GroupOffers:
    """Return a group that has one member of each protocol."""
    old, new = replace(member("a"), is_classic=True), replace(member("b"), is_classic=False)
    return read_offers(group_of((old, new), "uniform", group_type=GroupType.CONSUMER))


def test_a_group_of_range_is_let_in() -> None:
    assert found_in(member("a", said())) == {}


def test_data_that_an_assignor_sends_to_its_members_blocks_and_they_are_named() -> None:
    custom = replace(member("a", said()), user_data=b"zone")
    offers = read_offers(group_of((custom, member("b", said())), "zone"))
    (obstacle,) = obstacles_to_moving(offers)
    assert (obstacle.kind, obstacle.weight) == (ObstacleKind.USER_DATA, Weight.BLOCKS)
    assert obstacle.members == ("a",)
    assert "'zone'" in obstacle.text


def test_an_assignor_that_the_coordinator_lacks_is_noted() -> None:
    kinds = found_in(member("a", said()), assignor=COOPERATIVE)
    assert kinds == {ObstacleKind.OTHER_ASSIGNOR: Weight.NOTE}


def test_a_subscription_that_nobody_can_read_blocks_first() -> None:
    kinds = found_in(member("a"), member("b", said()), assignor=COOPERATIVE)
    assert list(kinds) == [ObstacleKind.UNREADABLE, ObstacleKind.OTHER_ASSIGNOR]
    assert kinds[ObstacleKind.UNREADABLE] is Weight.BLOCKS


def test_what_is_about_lists_of_assignors_does_not_matter() -> None:
    claims = member("a", said(2, generation_id=None))
    offers = read_offers(group_of((claims,), COOPERATIVE))
    assert ObstacleKind.NO_GENERATION in {each.kind for each in find_obstacles(offers)}
    assert found_in(claims, assignor=COOPERATIVE) == {ObstacleKind.OTHER_ASSIGNOR: Weight.NOTE}


def test_a_group_that_has_moved_blocks_nothing_and_its_classic_members_are_named() -> None:
    (obstacle,) = obstacles_to_moving(mixed())
    assert (obstacle.kind, obstacle.weight) == (ObstacleKind.BOTH_PROTOCOLS, Weight.NOTE)
    assert obstacle.members == ("a",)


def test_classic_members_among_others_are_named_without_a_plan_too() -> None:
    assert ObstacleKind.BOTH_PROTOCOLS in {each.kind for each in find_obstacles(mixed())}
