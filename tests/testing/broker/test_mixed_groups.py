"""Groups whose members speak both protocols, message by message: what a recording does not show."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from kgroup.codes import ErrorCode
from kgroup.wire.messages import (
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from kgroup.wire.schema import Request, decode, encode
from tests.testing.broker.classic_member import Classic
from tests.testing.broker.table import INTERVAL, REBALANCE, Table

Versions = Mapping[type[Request[Any]], int]
NEWEST: Versions = MappingProxyType({})

ALL = [0, 1, 2, 3]
STABLE, REJOIN = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS


def classic(table: Table, versions: Versions = NEWEST, **habits: Any) -> Classic:
    """Return a classic member that has not joined yet."""

    def ask(request: Request[Any]) -> Any:
        version = versions.get(type(request))
        if version is not None:  # what it has no field for is not there
            request = decode(type(request), version, encode(request, version))
        call = table.raw.ask(1, request, version=version, client="classic")
        table.raw.run(0.01)
        return call.answer

    return Classic(ask, "g", "t", len(ALL), rebalance=REBALANCE, **habits)


def upgraded(instance_id: str | None = None) -> tuple[Table, Classic]:
    """Have one classic member that owned all, and a first one of KIP-848 that has come in."""
    table = Table(initial_rebalance_delay=0.0)
    old = classic(table, instance_id=instance_id)
    assert old.join() is STABLE
    assert old.has == ALL
    table.join("new")
    return table, old


def test_a_classic_member_keeps_its_place_and_hears_with_a_heartbeat_what_it_is_to_give_up() -> (
    None
):
    table, old = upgraded()
    assert (table.epochs["new"], table.numbers("new")) == (2, [])
    assert old.beat() is REJOIN
    assert old.join() is STABLE
    assert (old.generation, old.has) == (2, [0, 1])
    table.settle("new")
    assert table.numbers("new") == [2, 3]
    assert old.beat() is STABLE


def test_a_cooperative_member_gives_up_first_and_joins_again_to_have_the_new_generation() -> None:
    table, old = upgraded()
    assert old.join(owned=ALL) is STABLE
    assert (old.generation, old.has) == (1, [0, 1])
    table.settle("new")
    assert table.numbers("new") == []
    assert old.beat() is REJOIN
    assert old.join(owned=[0, 1]) is STABLE
    assert old.generation == 2
    table.settle("new")
    assert table.numbers("new") == [2, 3]


def test_a_client_of_old_versions_has_its_part_as_others_do() -> None:
    table = Table()
    table.join("new")
    table.own("new")
    table.raw.run(INTERVAL)
    old = classic(table, {JoinGroupRequest: 2, SyncGroupRequest: 2})
    assert old.join() is STABLE
    table.settle("new")
    assert old.join() is STABLE
    assert old.has == [2, 3]


def test_a_classic_member_that_waits_is_told_when_its_part_is_free() -> None:
    table = Table(initial_rebalance_delay=0.0)
    table.join("new")
    table.own("new")
    table.raw.run(INTERVAL)
    late = classic(table)
    assert late.join() is STABLE
    assert (late.has, late.beat()) == ([], STABLE)
    table.settle("new")
    assert late.beat() is REJOIN
    assert late.join() is STABLE
    assert (late.has, table.numbers("new")) == ([2, 3], [0, 1])


def test_a_classic_member_that_does_not_join_again_in_time_loses_its_place() -> None:
    table, old = upgraded()
    for _ in range(4):
        assert old.beat() is REJOIN
        table.raw.run(REBALANCE / 4)
    assert old.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    table.settle("new")
    assert table.numbers("new") == ALL


def test_a_classic_member_that_never_asks_for_its_part_loses_its_place() -> None:
    table, old = upgraded()
    assert old.ask_to_join().error_code == 0
    table.raw.run(REBALANCE + 0.1)
    assert old.sync() is ErrorCode.UNKNOWN_MEMBER_ID


def test_when_the_last_member_of_the_next_protocol_leaves_the_others_begin_a_round() -> None:
    table, old = upgraded()
    old.join()
    table.settle("new")
    table.beat("new", member_epoch=-1)
    assert old.beat() is REJOIN
    assert old.join() is STABLE
    assert (old.generation, old.has) == (3, ALL)


@pytest.mark.parametrize("leaves", [True, False], ids=["removed", "silent"])
def test_a_member_that_is_lost_turns_the_group_back_as_one_that_leaves(leaves: bool) -> None:
    table, old = upgraded()
    old.join()
    if leaves:
        members = (MemberIdentity(member_id="new"),)
        table.raw.ask(1, LeaveGroupRequest(group_id="g", members=members))
    for _ in range(0 if leaves else 5):
        old.beat()
        table.raw.run(10.0)
    assert old.beat() is REJOIN
    assert old.join() is STABLE
    assert old.has == ALL


def test_a_static_member_changes_its_protocol_and_keeps_what_it_had() -> None:
    table, old = upgraded("one")
    old.join()
    table.settle("new")
    table.join("other", instance_id="one")
    assert table.numbers("other") == old.has == [0, 1]
    assert old.beat() is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_that_was_the_last_of_the_next_protocol_turns_the_group_back() -> None:
    table = Table(initial_rebalance_delay=0.0)
    table.join("new", instance_id="one")
    table.own("new")
    table.beat("new", member_epoch=-2, instance_id="one")
    back = classic(table, instance_id="one")
    assert back.join() is STABLE
    assert (back.has, back.beat()) == (ALL, STABLE)
    state = table.raw.core.coordinators.shard_of("g").groups["g"].phase.value
    assert state == "Stable"


def test_a_member_without_an_assignor_in_common_with_the_classic_ones_is_refused() -> None:
    table, _ = upgraded()
    stranger = classic(table, assignor="other")
    assert stranger.join() is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_empty_group_turns_either_way() -> None:
    table = Table(initial_rebalance_delay=0.0)
    table.join("new")
    table.beat("new", member_epoch=-1)
    old = classic(table)
    assert old.join() is STABLE
    assert old.generation == 1
    assert old.has == ALL
