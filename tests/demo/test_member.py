import json

from kgroup.demo.member import MemberOrders, member_config, status_of
from kgroup.types import Cause, Claim, Generation, Membership, MemberState, TopicPartition

ORDERS = MemberOrders(
    label="m1", instance="i", bootstrap="b:1", group="g", topic="t", journal="m1.jsonl"
)


def test_orders_survive_the_way_through_a_command_line():
    assert MemberOrders(**json.loads(ORDERS.argument())) == ORDERS


def test_the_consumer_is_a_cooperative_member_of_the_group_on_its_command_line():
    config = member_config(ORDERS)
    assert (config.group_id, config.group_instance_id, config.client_id) == ("g", "i", "m1")
    assert config.assignors == ("cooperative-sticky",)


def test_the_status_tells_what_is_owned_and_only_the_positions_of_that():
    claims = tuple(Claim(TopicPartition("t", partition), 1) for partition in (3, 1))
    membership = Membership(
        "g",
        MemberState.STABLE,
        generation=Generation("g", 7, "id"),
        claims=claims,
        leader=True,
        cause=Cause.GROUP_REBALANCED,
    )
    status = status_of(membership, 12, {1: 5, 2: 9})
    assert (status.state, status.generation, status.leader) == ("stable", 7, True)
    assert (status.partitions, dict(status.positions), status.records) == ((1, 3), {1: 5}, 12)
    assert status.cause == Cause.GROUP_REBALANCED.value


def test_a_member_outside_the_group_has_no_generation():
    status = status_of(Membership("g", MemberState.FINDING), 0, {})
    assert (status.generation, status.partitions, status.cause) == (None, (), None)
