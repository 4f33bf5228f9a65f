"""What groups there are, asked of scripted brokers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.net.cluster import Cluster
from kgroup.net.group_description import (
    GroupType,
    describe_group,
    describe_known_group,
    list_groups,
)
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    ConsumerGroupDescribeAssignment,
    ConsumerGroupDescribeDescribedGroup,
    ConsumerGroupDescribeMember,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeTopicPartitions,
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from tests.net.stage import running
from tests.search.scripted.cluster import ScriptedCluster

TP = TopicPartition("orders", 0)


@pytest.fixture
def scripted() -> ScriptedCluster:
    """Two brokers: the first coordinates `old`, of classic members, the second `new` (KIP-848)."""
    scripted = ScriptedCluster(2, topics={"orders": 2})
    first, second = scripted.brokers
    first.on(ListGroupsRequest, listed(ListedGroup(group_id="old", protocol_type="consumer")))
    row = ListedGroup(group_id="new", protocol_type="consumer", group_type="Consumer")
    second.on(ListGroupsRequest, listed(row))
    for broker in scripted.brokers:
        broker.on(DescribeGroupsRequest, describe_classic)
        broker.on(ConsumerGroupDescribeRequest, describe_newer)
    return scripted


def listed(*rows: ListedGroup, code: int = 0) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=code, groups=rows)


def describe_classic(request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    member = DescribedGroupMember(
        member_id="m",
        group_instance_id="till-7",
        client_id="c",
        client_host="/h",
        member_metadata=encode_subscription(MemberSubscription(topics=("orders",))),
        member_assignment=encode_assignment(MemberAssignment((TP,))),
    )
    rows = (
        DescribeGroupsDescribedGroup(
            error_code=0 if name == "old" else ErrorCode.GROUP_ID_NOT_FOUND,
            group_id=name,
            group_state="Stable" if name == "old" else "Dead",
            protocol_type="consumer" if name == "old" else "",
            protocol_data="range" if name == "old" else "",
            members=(member,) if name == "old" else (),
        )
        for name in request.groups
    )
    return DescribeGroupsResponse(groups=tuple(rows))


def describe_newer(request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    row = ConsumerGroupDescribeTopicPartitions(
        topic_id=bytes(16), topic_name="orders", partitions=(0,)
    )
    assigned = ConsumerGroupDescribeAssignment(topic_partitions=(row,))
    member = ConsumerGroupDescribeMember(
        member_id="n",
        member_epoch=1,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=("orders",),
        assignment=assigned,
        target_assignment=assigned,
    )
    rows = (
        ConsumerGroupDescribeDescribedGroup(
            error_code=0 if name == "new" else ErrorCode.GROUP_ID_NOT_FOUND,
            group_id=name,
            group_state="Stable" if name == "new" else "",
            group_epoch=1,
            assignment_epoch=1,
            assignor_name="uniform" if name == "new" else "",
            members=(member,) if name == "new" else (),
        )
        for name in request.group_ids
    )
    return ConsumerGroupDescribeResponse(groups=tuple(rows))


@asynccontextmanager
async def found(scripted: ScriptedCluster) -> AsyncIterator[Cluster]:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        yield cluster


async def test_the_groups_of_all_brokers_are_listed_with_their_members(
    scripted: ScriptedCluster,
) -> None:
    async with found(scripted) as cluster:
        listing = await list_groups(cluster, timeout=10)
    assert listing.errors == {}
    new, old = listing.groups
    assert (new.group_id, new.group_type, new.coordinator) == ("new", GroupType.CONSUMER, 2)
    assert (old.group_id, old.group_type, old.coordinator) == ("old", GroupType.CLASSIC, 1)
    for group in listing.groups:
        assert group.members is not None
        (member,) = group.members
        assert (member.topics, member.partitions) == (("orders",), (TP,))
    assert (old.members or ())[0].group_instance_id == "till-7"


async def test_a_broker_that_refuses_hides_no_group_of_another(scripted: ScriptedCluster) -> None:
    refused = listed(code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    scripted.broker(2).on(ListGroupsRequest, refused)
    async with found(scripted) as cluster:
        listing = await list_groups(cluster, timeout=10)
    assert [group.group_id for group in listing.groups] == ["old"]
    assert isinstance(listing.errors[2], UnauthorizedError)


async def test_groups_that_cannot_be_described_are_listed_all_the_same(
    scripted: ScriptedCluster,
) -> None:
    row = describe_classic(DescribeGroupsRequest(groups=("old",))).groups[0]
    failed = DescribeGroupsDescribedGroup(
        error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED,
        group_id=row.group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        members=(),
    )
    scripted.broker(1).on(DescribeGroupsRequest, DescribeGroupsResponse(groups=(failed,)))
    async with found(scripted) as cluster:
        listing = await list_groups(cluster, timeout=10)
    assert [(group.group_id, group.members is None) for group in listing.groups] == [
        ("new", False),
        ("old", True),
    ]
    assert isinstance(listing.errors[1], UnauthorizedError)


async def test_a_group_of_the_newer_protocol_is_described(scripted: ScriptedCluster) -> None:
    async with found(scripted) as cluster:
        group = await describe_group(cluster, "new", timeout=10)
    assert (group.group_type, group.state, group.assignor) == (
        GroupType.CONSUMER,
        "Stable",
        "uniform",
    )


async def test_a_broker_without_the_newer_protocol_knows_no_such_group(
    scripted: ScriptedCluster,
) -> None:
    broker = scripted.broker(1)
    newer = ApiKey.CONSUMER_GROUP_DESCRIBE
    broker.versions = {api: both for api, both in broker.versions.items() if api != newer}
    async with found(scripted) as cluster:
        assert not (await describe_group(cluster, "new", timeout=10)).is_known


async def test_a_broker_with_the_newer_protocol_switched_off_knows_no_such_group(
    scripted: ScriptedCluster,
) -> None:
    """Kafka 3.9 answers so."""
    row = ConsumerGroupDescribeDescribedGroup(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        group_id="nobody's",
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=(),
    )
    answer = ConsumerGroupDescribeResponse(groups=(row,))
    scripted.broker(1).on(ConsumerGroupDescribeRequest, answer)
    async with found(scripted) as cluster:
        assert not (await describe_group(cluster, "nobody's", timeout=10)).is_known


async def test_the_error_of_an_unknown_group_has_the_nearest_name(
    scripted: ScriptedCluster,
) -> None:
    async with found(scripted) as cluster:
        with pytest.raises(BrokerError, match="no group 'olt'; did you mean 'old'") as caught:
            await describe_known_group(cluster, "olt", timeout=10)
    assert caught.value.code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_bytes_of_a_member_nobody_can_read_cost_only_what_is_in_them(
    scripted: ScriptedCluster,
) -> None:
    member = DescribedGroupMember(
        member_id="m", client_id="c", client_host="", member_metadata=b"?", member_assignment=b"?"
    )
    row = DescribeGroupsDescribedGroup(
        group_id="old",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=(member,),
    )
    scripted.broker(1).on(DescribeGroupsRequest, DescribeGroupsResponse(groups=(row,)))
    async with found(scripted) as cluster:
        group = await describe_group(cluster, "old", timeout=10)
    (shown,) = group.members or ()
    assert (shown.member_id, shown.topics, shown.partitions) == ("m", None, None)
