"""What is known of the lists of members, read from descriptions and asked of scripted brokers."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from kgroup.admin.obstacles import ObstacleKind, find_obstacles
from kgroup.admin.offers import describe_offers, is_eager_only, read_offers
from kgroup.admin.offers_text import offers_in_words
from kgroup.assignors import BUILT_IN
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.net.cluster import Cluster
from kgroup.net.group_description import GroupType
from kgroup.types import RebalanceProtocol
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    ConsumerGroupDescribeDescribedGroup,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from tests.net.offered import COOPERATIVE, TPS, group_of, member, said
from tests.net.stage import running
from tests.search.scripted.cluster import ScriptedCluster

EAGER, COOPERATES = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE

# -- what follows from a description -------------------------------------------------------


def test_of_several_members_only_what_all_list_is_known() -> None:
    found = read_offers(group_of([member("a", said()), member("b", said())]), ["sticky"], ["zone"])
    assert found.common == {"range", "sticky"}
    assert found.not_common == {"zone"}
    assert [(each.offers, each.lacks) for each in found.members] == [
        (found.common, frozenset())
    ] * 2


def test_of_a_lone_member_it_is_known_what_it_lacks() -> None:
    (only,) = read_offers(group_of([member("a", said())]), ["sticky"], ["zone"]).members
    assert only.offers == {"range", "sticky"}
    assert only.lacks == {"zone"}


def test_the_assignor_in_use_is_common_whatever_was_answered() -> None:
    found = read_offers(group_of([member("a", said())]), (), ["range"])
    assert found.common == {"range"}
    assert found.not_common == frozenset()


@pytest.mark.parametrize(
    ("assignor", "common", "kept", "protocol"),
    [
        ("range", (), 0, EAGER),
        ("sticky", (), 0, EAGER),
        (COOPERATIVE, (), 2, COOPERATES),
        (COOPERATIVE, (), 0, None),  # it may be new
        (COOPERATIVE, ("range",), 0, EAGER),  # the first restart is over, the second has not begun
        ("zone", (), 0, None),
        ("zone", (), 2, COOPERATES),
    ],
)
def test_a_member_with_an_eager_assignor_is_eager_and_one_that_kept_partitions_cooperative(
    assignor: str, common: tuple[str, ...], kept: int, protocol: RebalanceProtocol | None
) -> None:
    found = read_offers(group_of([member("a", said(kept))], assignor), common)
    assert found.members[0].protocol is protocol
    assert found.protocol is protocol


def test_a_group_has_one_protocol_only_when_its_members_have() -> None:
    mixed = group_of([member("a", said(2)), member("b", said(0))], COOPERATIVE)
    assert read_offers(mixed).protocol is None


def test_what_is_not_shown_is_not_known() -> None:
    (only,) = read_offers(group_of([member("a")], None, state="PreparingRebalance")).members
    assert (only.version, only.kept, only.protocol) == (None, 0, None)


def test_only_built_in_assignors_are_known_to_be_eager() -> None:
    assert {name for name in BUILT_IN if is_eager_only(name)} == {"range", "roundrobin", "sticky"}
    assert not is_eager_only("zone")


# -- asking --------------------------------------------------------------------------------


class Coordinator:
    """A broker with one group; its members list what is common, and more that nobody sees.

    Args:
        *looks: assignor in use and members, one after the other for each description; the last
            stays.
        common: names that all members list.
        code: answer to a JoinGroup whose list has one of them.
    """

    def __init__(
        self,
        *looks: tuple[str, str, tuple[str, ...]],
        common: tuple[str, ...] = ("range",),
        code: int = ErrorCode.UNKNOWN_MEMBER_ID,
    ) -> None:
        self.scripted = ScriptedCluster(1, topics={"orders": 8})
        self.asked: list[JoinGroupRequest] = []
        self._looks: Iterator[tuple[str, str, tuple[str, ...]]] = iter(looks)
        self._last = looks[0]
        self._common = common
        self._code = code
        broker = self.scripted.broker(1)
        broker.on(DescribeGroupsRequest, self._describe)
        broker.on(ConsumerGroupDescribeRequest, _describe_newer)
        broker.on(JoinGroupRequest, self._join)
        broker.on(ListGroupsRequest, ListGroupsResponse(error_code=0, groups=()))

    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[Cluster]:
        async with running(self.scripted) as cluster:
            await cluster.bootstrap(5)
            yield cluster

    def _describe(self, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
        self._last = next(self._looks, self._last)
        state, assignor, names = self._last
        stable = state == "Stable"
        row = DescribeGroupsDescribedGroup(
            error_code=0 if state != "Dead" else ErrorCode.GROUP_ID_NOT_FOUND,
            group_id=request.groups[0],
            group_state=state,
            protocol_type="" if state == "Dead" else "consumer",
            protocol_data=assignor,
            members=tuple(_described(name, shown=stable) for name in names),
        )
        return DescribeGroupsResponse(groups=(row,))

    def _join(self, request: JoinGroupRequest) -> JoinGroupResponse:
        self.asked.append(request)
        (offered,) = request.protocols
        refused = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        code = self._code if offered.name in self._common else refused
        return JoinGroupResponse(
            error_code=code, protocol_name="", leader="", member_id=request.member_id, members=()
        )


def _described(name: str, *, shown: bool) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=name,
        client_id="c",
        client_host="/h",
        member_metadata=encode_subscription(said(2), 1) if shown else b"",
        member_assignment=encode_assignment(MemberAssignment(TPS[:2])) if shown else b"",
    )


def _describe_newer(request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    """Know groups whose names begin with `new`."""
    known = request.group_ids[0].startswith("new")
    row = ConsumerGroupDescribeDescribedGroup(
        error_code=0 if known else ErrorCode.GROUP_ID_NOT_FOUND,
        group_id=request.group_ids[0],
        group_state="Stable" if known else "",
        group_epoch=1,
        assignment_epoch=1,
        assignor_name="uniform" if known else "",
        members=(),
    )
    return ConsumerGroupDescribeResponse(groups=(row,))


STABLE = ("Stable", "range", ("a", "b"))


async def test_what_all_members_list_is_asked_one_name_at_a_time() -> None:
    coordinator = Coordinator(STABLE, common=("range", "zone"))
    async with coordinator.cluster() as cluster:
        found = await describe_offers(cluster, "billing", ask=("zone",), timeout=10)
    assert found.common == {"range", "zone"}
    assert found.not_common == {"roundrobin", "sticky", COOPERATIVE}
    assert [each.version for each in found.members] == [1, 1]
    assert [each.protocols[0].name for each in coordinator.asked] == [*BUILT_IN, "zone"]


async def test_the_question_has_a_member_id_nobody_has_and_bytes_everybody_can_read() -> None:
    """With an empty id it would be given one, and the group would wait for it."""
    coordinator = Coordinator(STABLE)
    async with coordinator.cluster() as cluster:
        await describe_offers(cluster, "billing", timeout=10)
    for each in coordinator.asked:
        assert each.member_id
        assert each.group_instance_id is None
        assert each.protocol_type == "consumer"
        assert decode_subscription(each.protocols[0].metadata).topics == ()


async def test_a_group_that_changes_while_it_is_asked_is_asked_again() -> None:
    coordinator = Coordinator(STABLE, ("Stable", "range", ("a", "c")))
    async with coordinator.cluster() as cluster:
        found = await describe_offers(cluster, "billing", timeout=10)
    assert [each.member.member_id for each in found.members] == ["a", "c"]
    assert len(coordinator.asked) == 2 * len(BUILT_IN)


async def test_a_group_in_a_rebalance_is_waited_for() -> None:
    coordinator = Coordinator(("PreparingRebalance", "", ("a",)), STABLE)
    async with coordinator.cluster() as cluster:
        found = await describe_offers(cluster, "billing", timeout=10)
    assert found.group.state == "Stable"
    assert found.is_shown


async def test_a_group_that_does_not_settle_in_time_is_described_as_it_is() -> None:
    coordinator = Coordinator(("CompletingRebalance", "", ("a",)))
    async with coordinator.cluster() as cluster:
        found = await describe_offers(cluster, "billing", timeout=3)
    assert not found.is_shown
    assert found.common == {"range"}


@pytest.mark.parametrize(
    ("name", "state"), [("billing", "Empty"), ("new", "Dead")], ids=["empty", "KIP-848"]
)
async def test_a_group_without_lists_is_not_asked(name: str, state: str) -> None:
    coordinator = Coordinator((state, "", ()))
    async with coordinator.cluster() as cluster:
        found = await describe_offers(cluster, name, timeout=10)
    assert coordinator.asked == []
    assert found.members == ()


async def test_an_unknown_group_is_an_error() -> None:
    coordinator = Coordinator(("Dead", "", ()))
    async with coordinator.cluster() as cluster:
        with pytest.raises(BrokerError, match="there is no group 'billing'"):
            await describe_offers(cluster, "billing", timeout=10)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, UnauthorizedError),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, BrokerError),
        (ErrorCode.INVALID_SESSION_TIMEOUT, BrokerError),
    ],
)
async def test_offers_without_the_right_to_join_hold_the_description_and_the_refusal(
    code: int, kind: type[Exception]
) -> None:
    """The first name is refused, so the others are not asked about."""
    coordinator = Coordinator(STABLE, common=(*BUILT_IN, "zone"), code=code)
    async with coordinator.cluster() as cluster:
        found = await describe_offers(cluster, "billing", ask=("zone",), timeout=10)
    assert found.common == {"range"}
    assert not found.not_common
    assert [each.version for each in found.members] == [1, 1]
    assert isinstance(found.refusal, kind)
    assert found.refusal.code == code
    assert len(coordinator.asked) == 1
    (obstacle,) = find_obstacles(found, ("zone", "sticky"))[:1]
    assert obstacle.kind is ObstacleKind.NOT_ASKED


async def test_what_was_answered_before_a_refusal_counts() -> None:
    coordinator = Coordinator(STABLE, code=ErrorCode.GROUP_MAX_SIZE_REACHED)
    async with coordinator.cluster() as cluster:
        found = await describe_offers(cluster, "billing", ask=("zone",), timeout=10)
    asked = [each.protocols[0].name for each in coordinator.asked]
    assert found.not_common == set(asked) - {"range"}
    assert found.common == {"range"}
    assert found.refusal is not None


# -- the text ------------------------------------------------------------------------------


def test_the_text_shows_what_is_known_and_marks_what_is_not() -> None:
    members = [member("a-1", said(2, version=1)), member("b-1", said(0), instance="till-7")]
    found = read_offers(group_of(members, COOPERATIVE), (), ["range"])
    head, every, some, *table = offers_in_words(found).splitlines()
    assert head == (
        "group billing: Stable, 2 members, classic protocol, assignor in use: cooperative-sticky"
    )
    assert (every, some) == (
        "every member lists: cooperative-sticky",
        "not every member lists: range",
    )
    assert [line.split("  ") for line in map(_squeezed, table)] == [
        ["member", "client", "lists", "rebalances", "subscription", "kept", "owns"],
        ["a-1", "client-a-1", "cooperative-sticky, ?", "cooperative", "v1", "2", "2"],
        ["b-1 (static till-7)", "client-b-1", "cooperative-sticky, ?", "?", "v3", "0", "2"],
    ]


def _squeezed(line: str) -> str:
    """Leave two blanks between the columns of a line."""
    return re.sub(" {2,}", "  ", line.strip())


def test_of_a_group_without_lists_no_name_is_called_common() -> None:
    newer = group_of([member("a", owns=0)], "uniform", group_type=GroupType.CONSUMER)
    found = read_offers(newer)
    assert found.common == frozenset()
    assert "lists:" not in offers_in_words(found)


def test_what_stands_in_the_way_follows_the_table() -> None:
    found = read_offers(group_of([member("a", said())]), (), [COOPERATIVE])
    text = offers_in_words(found, find_obstacles(found, (COOPERATIVE,)))
    assert "it does not list: cooperative-sticky" in text
    assert text.splitlines()[-1].startswith("blocks (step 1): step 1 lists [cooperative-sticky]")


def test_a_group_without_members_has_no_table() -> None:
    lines = offers_in_words(read_offers(group_of((), None, state="Empty"))).splitlines()
    assert lines == ["group billing: Empty, 0 members, classic protocol, assignor in use: none"]


def test_what_could_not_be_asked_is_said_with_the_reason() -> None:
    refused = UnauthorizedError("JOIN_GROUP", ErrorCode.GROUP_AUTHORIZATION_FAILED, ("billing",))
    found = read_offers(group_of([member("a", said())]), refusal=refused)
    _, every, why, *_ = offers_in_words(found).splitlines()
    assert every == "every member lists: range"
    assert why == f"what else they list could not be asked: {refused}"
