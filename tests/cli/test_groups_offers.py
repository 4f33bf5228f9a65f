"""What `kgroup groups offers` takes, asks for, and tells programs."""

import json

import pytest
import typer

from kgroup.admin.obstacles import ObstacleKind, find_obstacles
from kgroup.admin.offers import read_offers
from kgroup.cli.groups_offers import To, judge, offers_json, plan_of
from kgroup.codes import ErrorCode
from kgroup.wire.messages import DescribeGroupsRequest, JoinGroupRequest, JoinGroupResponse
from tests.cli.stage import on
from tests.cli.test_assignors_live import described, shelf_of
from tests.net.offered import COOPERATIVE, group_of, member, said


def test_a_plan_is_one_list_for_each_restart() -> None:
    assert plan_of(["range, cooperative-sticky", "cooperative-sticky"]) == (
        ("range", COOPERATIVE),
        (COOPERATIVE,),
    )


@pytest.mark.parametrize("step", ["", ",", " "])
def test_a_restart_without_a_name_is_a_wrong_use(step: str) -> None:
    with pytest.raises(typer.BadParameter, match="--next"):
        plan_of(["range", step])


async def test_the_names_of_the_first_restart_are_asked_about() -> None:
    shelf = shelf_of(described("a"))
    refused = JoinGroupResponse(
        error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        protocol_name="",
        leader="",
        member_id="",
        members=(),
    )
    shelf.broker(1).on(JoinGroupRequest, refused)
    async with on(shelf) as cluster:
        found, obstacles = await judge(cluster, "g", (("zone",), ("range",)), timeout=10)
    assert "zone" in found.not_common
    assert [each.step for each in obstacles] == [1, 2]
    assert shelf.broker(1).requests(DescribeGroupsRequest)


def test_json_has_everything_and_null_for_what_is_not_known() -> None:
    found = read_offers(group_of([member("a", said(2)), member("b")], COOPERATIVE), (), ["range"])
    document = json.loads(json.dumps(offers_json(found, find_obstacles(found, ("range",)))))
    assert (document["common"], document["not_common"]) == ([COOPERATIVE], ["range"])
    assert document["refusal"] is None
    first, second = document["members"]
    assert (first["rebalances"], first["subscription"], first["kept"]) == ("cooperative", 3, 2)
    assert (second["rebalances"], second["subscription"], second["kept"]) == (None, None, None)
    kinds = {each["kind"]: each["weight"] for each in document["obstacles"]}
    assert kinds["NOTHING_IN_COMMON"] == kinds["UNREADABLE"] == "blocks"


async def test_a_change_of_the_protocol_is_judged_instead_of_lists() -> None:
    shelf = shelf_of(described("a"))
    refused = JoinGroupResponse(
        error_code=ErrorCode.UNKNOWN_MEMBER_ID,
        protocol_name="",
        leader="",
        member_id="",
        members=(),
    )
    shelf.broker(1).on(JoinGroupRequest, refused)
    async with on(shelf) as cluster:
        found, obstacles = await judge(cluster, "g", to=To.CONSUMER, timeout=10)
    assert found.has_lists
    assert ObstacleKind.FOREIGN_ASSIGNOR not in {each.kind for each in obstacles}
