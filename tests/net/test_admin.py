"""Topics, groups and offsets, asked of scripted brokers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.admin.groups import (
    Eviction,
    ask_committed,
    committed_offsets,
    delete_group,
    evict_members,
)
from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, DecodeError, UnauthorizedError, UnsupportedVersionError
from kgroup.net.admin import NewTopic, create_partitions, create_topics, delete_topics
from kgroup.net.cluster import Cluster
from kgroup.net.coordinator import coordinator_of, find_coordinator, find_coordinator_request
from kgroup.net.group_description import describe_group
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import (
    ConsumerGroupDescribeDescribedGroup,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    Coordinator,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableGroupResult,
    DeletableTopicResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.net.stage import running
from tests.search.scripted.broker import HungUp
from tests.search.scripted.cluster import ScriptedCluster

TP = TopicPartition("orders", 0)


@pytest.fixture
def scripted() -> ScriptedCluster:
    return ScriptedCluster(2, topics={"orders": 2})


@asynccontextmanager
async def found(scripted: ScriptedCluster) -> AsyncIterator[Cluster]:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        yield cluster


# -- coordinator ---------------------------------------------------------------------------------


async def test_a_found_coordinator_can_be_sent_to(scripted: ScriptedCluster) -> None:
    scripted.listed, scripted.coordinator = {1}, 2
    scripted.broker(2).on(DescribeGroupsRequest, described("Empty"))
    async with found(scripted) as cluster:
        assert (await find_coordinator(cluster, "g", timeout=5)).node_id == 2
        assert (await describe_group(cluster, "g", timeout=5)).coordinator == 2


def test_a_coordinator_reads_in_both_layouts() -> None:
    row = Coordinator(key="g", node_id=3, host="c", port=9)
    new = FindCoordinatorResponse(coordinators=(row,))
    old = FindCoordinatorResponse(node_id=3, host="c", port=9)
    assert coordinator_of(new, "g") == coordinator_of(old, "g")
    assert find_coordinator_request("g").coordinator_keys == ("g",)


def test_a_coordinator_that_is_not_there_is_an_error() -> None:
    absent = FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with pytest.raises(BrokerError, match="COORDINATOR_NOT_AVAILABLE") as caught:
        coordinator_of(absent, "g")
    assert caught.value.retriable
    denied = Coordinator(
        key="g", node_id=-1, host="", port=-1, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
    )
    with pytest.raises(UnauthorizedError, match="g"):
        coordinator_of(FindCoordinatorResponse(coordinators=(denied,)), "g")


@pytest.mark.parametrize(
    "answer",
    [
        FindCoordinatorResponse(node_id=3, host="c", port=70_000),
        FindCoordinatorResponse(node_id=-1, host="c", port=9),
        FindCoordinatorResponse(
            coordinators=(Coordinator(key="other", node_id=3, host="c", port=9),)
        ),
    ],
)
def test_an_impossible_coordinator_is_not_believed(answer: FindCoordinatorResponse) -> None:
    with pytest.raises(DecodeError):
        coordinator_of(answer, "g")


# -- topics --------------------------------------------------------------------------------------


def creating(scripted: ScriptedCluster, *codes: int):
    """Answer CreateTopics with codes in turn; the last one for good. 0 makes the topic."""
    left = list(codes)

    def answer(request: CreateTopicsRequest) -> CreateTopicsResponse:
        code = left.pop(0) if len(left) > 1 else left[0]
        rows = []
        for topic in request.topics:
            if not code:
                scripted.add_topic(topic.name, max(topic.num_partitions, 1))
            rows.append(CreatableTopicResult(name=topic.name, error_code=code))
        return CreateTopicsResponse(topics=tuple(rows))

    return answer


async def test_a_created_topic_is_waited_for(scripted: ScriptedCluster) -> None:
    scripted.broker(1).on(CreateTopicsRequest, creating(scripted, 0))
    async with found(scripted) as cluster:
        topics = [NewTopic("new", partitions=3, configs={"retention.ms": "1"})]
        assert await create_topics(cluster, topics, timeout=10) == {"new"}
    (request,) = scripted.broker(1).requests(CreateTopicsRequest)
    assert request.topics[0].replication_factor == -1
    assert request.topics[0].configs[0].value == "1"


async def test_a_topic_that_is_there_already_is_not_counted_as_made(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).on(CreateTopicsRequest, creating(scripted, ErrorCode.TOPIC_ALREADY_EXISTS))
    async with found(scripted) as cluster:
        assert await create_topics(cluster, [NewTopic("orders")], timeout=10) == frozenset()


async def test_creating_follows_a_controller_that_moved(scripted: ScriptedCluster) -> None:
    scripted.broker(1).on(CreateTopicsRequest, creating(scripted, ErrorCode.NOT_CONTROLLER))
    scripted.broker(2).on(CreateTopicsRequest, creating(scripted, 0))
    async with found(scripted) as cluster:
        scripted.controller = 2
        await create_topics(cluster, [NewTopic("new")], timeout=10)
    assert "new" in scripted.topics


async def test_a_refused_topic_says_why_and_is_not_asked_for_again(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).on(
        CreateTopicsRequest, creating(scripted, ErrorCode.INVALID_REPLICATION_FACTOR)
    )
    async with found(scripted) as cluster:
        with pytest.raises(BrokerError, match=r"INVALID_REPLICATION_FACTOR.*: new"):
            await create_topics(cluster, [NewTopic("new")], timeout=10)
    assert len(scripted.broker(1).requests(CreateTopicsRequest)) == 1


async def test_a_refusal_names_the_topic_beside_the_brokers_words(
    scripted: ScriptedCluster,
) -> None:
    row = CreatableTopicResult(
        name="new",
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="Authorization failed.",
    )
    scripted.broker(1).on(CreateTopicsRequest, CreateTopicsResponse(topics=(row,)))
    async with found(scripted) as cluster:
        with pytest.raises(UnauthorizedError, match=r"new: Authorization failed\.$"):
            await create_topics(cluster, [NewTopic("new")], timeout=10)


async def test_creating_without_end_stops_at_the_deadline(scripted: ScriptedCluster) -> None:
    scripted.broker(1).on(CreateTopicsRequest, creating(scripted, ErrorCode.NOT_CONTROLLER))
    async with found(scripted) as cluster:
        with pytest.raises(TimeoutError, match=r"create new: .* 10 s; last: .*NOT_CONTROLLER"):
            await create_topics(cluster, [NewTopic("new")], timeout=10)
    assert anyio.current_time() == pytest.approx(10)


async def test_a_topic_is_widened(scripted: ScriptedCluster) -> None:
    def widen(request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        scripted.add_partitions("orders", request.topics[0].count - 2)
        return CreatePartitionsResponse(results=(CreatePartitionsTopicResult(name="orders"),))

    scripted.broker(1).on(CreatePartitionsRequest, widen)
    async with found(scripted) as cluster:
        await create_partitions(cluster, "orders", 5, timeout=10)
    assert len(scripted.topics["orders"].partitions) == 5


async def test_a_deleted_topic_is_gone_when_the_call_returns(scripted: ScriptedCluster) -> None:
    def delete(request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        del scripted.topics["orders"]
        return DeleteTopicsResponse(responses=(DeletableTopicResult(name="orders"),))

    scripted.broker(1).once(DeleteTopicsRequest, HungUp(), delete)
    async with found(scripted) as cluster:
        await delete_topics(cluster, ["orders"], timeout=10)
    assert not scripted.topics


# -- groups --------------------------------------------------------------------------------------


def described(state: str, code: int = 0) -> DescribeGroupsResponse:
    member = DescribedGroupMember(
        member_id="m", client_id="c", client_host="/h", member_metadata=b"s", member_assignment=b"a"
    )
    row = DescribeGroupsDescribedGroup(
        error_code=code,
        group_id="g",
        group_state=state,
        protocol_type="consumer",
        protocol_data="range",
        members=(member,) if state == "Stable" else (),
    )
    return DescribeGroupsResponse(groups=(row,))


async def test_a_group_is_described_by_its_coordinator(scripted: ScriptedCluster) -> None:
    scripted.coordinator = 2
    moved = described("", ErrorCode.NOT_COORDINATOR)
    scripted.broker(2).once(DescribeGroupsRequest, moved, described("Stable"))
    async with found(scripted) as cluster:
        group = await describe_group(cluster, "g", timeout=10)
    assert (group.state, group.assignor, group.coordinator) == ("Stable", "range", 2)
    assert group.members is not None
    assert [member.member_id for member in group.members] == ["m"]
    asked = [b.requests(FindCoordinatorRequest) for b in scripted.brokers]
    assert sum(map(len, asked)) == 2


async def test_a_group_nobody_knows_is_dead(scripted: ScriptedCluster) -> None:
    scripted.broker(1).on(DescribeGroupsRequest, described("", ErrorCode.GROUP_ID_NOT_FOUND))
    unknown = ConsumerGroupDescribeDescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        group_id="g",
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=(),
    )
    answer = ConsumerGroupDescribeResponse(groups=(unknown,))
    scripted.broker(1).on(ConsumerGroupDescribeRequest, answer)
    async with found(scripted) as cluster:
        assert (await describe_group(cluster, "g", timeout=10)).state == "Dead"


async def test_a_group_with_members_is_not_deleted(scripted: ScriptedCluster) -> None:
    row = DeletableGroupResult(group_id="g", error_code=ErrorCode.NON_EMPTY_GROUP)
    scripted.broker(1).on(DeleteGroupsRequest, DeleteGroupsResponse(results=(row,)))
    async with found(scripted) as cluster:
        with pytest.raises(BrokerError, match="NON_EMPTY_GROUP"):
            await delete_group(cluster, "g", timeout=10)


async def test_a_static_member_is_evicted_by_its_instance_id(scripted: ScriptedCluster) -> None:
    row = MemberResponse(member_id="", group_instance_id="till-7")
    scripted.broker(1).on(LeaveGroupRequest, LeaveGroupResponse(members=(row,)))
    leaver = Eviction(group_instance_id="till-7")
    async with found(scripted) as cluster:
        fates = await evict_members(cluster, "g", [leaver], reason="gone", timeout=10)
    assert fates == (leaver,)
    (request,) = scripted.broker(1).requests(LeaveGroupRequest)
    member = request.members[0]
    assert (member.member_id, member.group_instance_id, member.reason) == ("", "till-7", "gone")


async def test_each_of_several_evicted_members_has_its_own_fate(scripted: ScriptedCluster) -> None:
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    rows = (
        MemberResponse(member_id="m-1", group_instance_id=None),
        MemberResponse(member_id="", group_instance_id="x", error_code=unknown),
    )
    scripted.broker(1).on(LeaveGroupRequest, LeaveGroupResponse(members=rows))
    leavers = [Eviction(group_instance_id="x"), Eviction(member_id="m-1")]
    async with found(scripted) as cluster:
        stranger, gone = await evict_members(cluster, "g", leavers, reason="", timeout=10)
    assert gone.error is None
    assert stranger.error is not None
    assert (stranger.error.code, stranger.group_instance_id) == (unknown, "x")


async def test_an_eviction_nobody_answered_for_is_not_taken_for_done(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).on(LeaveGroupRequest, LeaveGroupResponse(members=()))
    async with found(scripted) as cluster:
        with pytest.raises(TimeoutError, match="0 rows for instance 'x'"):
            await evict_members(
                cluster, "g", [Eviction(group_instance_id="x")], reason="", timeout=10
            )


async def test_a_refused_partition_hides_no_other(scripted: ScriptedCluster) -> None:
    good, bad = (
        OffsetFetchResponsePartitions(
            partition_index=number, committed_offset=7, metadata=None, error_code=code
        )
        for number, code in ((0, 0), (1, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    )
    topic = OffsetFetchResponseTopics(name="orders", partitions=(good, bad))
    group = OffsetFetchResponseGroup(group_id="g", topics=(topic,))
    scripted.broker(1).on(OffsetFetchRequest, OffsetFetchResponse(groups=(group,)))
    async with found(scripted) as cluster:
        asked = await ask_committed(cluster, "g", timeout=10)
    assert asked.offsets == {TP: OffsetAndMetadata(7)}
    assert isinstance(asked.errors[TopicPartition("orders", 1)], UnauthorizedError)


def fetched(code: int = 0) -> OffsetFetchResponse:
    rows = tuple(
        OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=offset, metadata=None, error_code=code
        )
        for index, offset in ((0, 7), (1, -1))
    )
    topic = OffsetFetchResponseTopics(name="orders", partitions=rows)
    group = OffsetFetchResponseGroup(group_id="g", topics=(topic,))
    return OffsetFetchResponse(groups=(group,))


async def test_committed_offsets_are_none_where_nothing_is_committed(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).on(OffsetFetchRequest, fetched())
    partitions = [TopicPartition("orders", n) for n in range(2)]
    async with found(scripted) as cluster:
        positions = await committed_offsets(cluster, "g", partitions, timeout=10)
    assert positions == dict(zip(partitions, [OffsetAndMetadata(7), None], strict=True))


async def test_a_partition_that_an_answer_leaves_out_is_not_reported_as_uncommitted(
    scripted: ScriptedCluster,
) -> None:
    """N13."""
    scripted.broker(1).on(OffsetFetchRequest, fetched())
    async with found(scripted) as cluster:
        with pytest.raises(TimeoutError, match="not exactly one row for orders-2"):
            await committed_offsets(cluster, "g", [TopicPartition("orders", 2)], timeout=10)


async def test_offsets_that_a_transaction_may_change_are_waited_for(
    scripted: ScriptedCluster,
) -> None:
    unstable = fetched(ErrorCode.UNSTABLE_OFFSET_COMMIT)
    scripted.broker(1).once(OffsetFetchRequest, unstable, fetched())
    async with found(scripted) as cluster:
        assert (await committed_offsets(cluster, "g", [TP], timeout=10))[TP]


async def test_an_api_the_coordinator_lacks_is_reported_at_once(scripted: ScriptedCluster) -> None:
    broker = scripted.broker(1)
    broker.versions = {k: v for k, v in broker.versions.items() if k != ApiKey.DELETE_GROUPS}
    async with found(scripted) as cluster:
        with pytest.raises(UnsupportedVersionError, match="DELETE_GROUPS: the broker"):
            await delete_group(cluster, "g", timeout=10)
