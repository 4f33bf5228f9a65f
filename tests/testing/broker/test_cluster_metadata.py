"""What an in-process cluster says about itself: Metadata and DescribeCluster."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.frames import decode_request, decode_response
from kgroup.wire.messages import (
    DescribeClusterRequest,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kgroup.wire.schema import decode, encode
from tests import vectors
from tests.testing.broker.clusters import NO_ID, all_topics, by_id, named, partition
from tests.testing.broker.driver import asking

NOT_ASKED = -2147483648


def test_brokers_are_named_with_their_addresses_and_racks() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.nodes[2].rack = "west"
    answer = named(raw)
    rows = [(row.node_id, row.host, row.port, row.rack) for row in answer.brokers]
    assert rows == [(1, "broker-1", 9092, None), (2, "broker-2", 9092, "west")]
    assert answer.controller_id == 1
    assert answer.cluster_id is not None
    assert len(answer.cluster_id) == 22


def test_without_names_all_topics_are_listed_the_internal_one_too() -> None:
    raw = asking(settings=BrokerSettings(offsets_partitions=7))
    raw.core.cluster.create_topic("a")
    topics = all_topics(raw)
    assert set(topics) == {"a", "__consumer_offsets"}
    assert topics["__consumer_offsets"].is_internal
    assert len(topics["__consumer_offsets"].partitions) == 7
    assert not topics["a"].is_internal


def test_an_empty_list_of_topics_means_none_except_in_version_0() -> None:
    raw = asking()
    raw.core.cluster.create_topic("a")
    assert named(raw, version=1).topics == ()
    assert [row.name for row in named(raw, version=0).topics] == ["__consumer_offsets", "a"]


def test_a_topic_is_described_with_id_leaders_epochs_and_replicas() -> None:
    raw = asking(nodes=4)
    topic = raw.core.cluster.create_topic("a", 3)
    row = named(raw, "a").topics[0]
    assert row.topic_id == topic.topic_id
    places = [(each.leader_id, each.replica_nodes, each.isr_nodes) for each in row.partitions]
    assert places == [
        (1, (1, 2, 3), (1, 2, 3)),
        (2, (2, 3, 4), (2, 3, 4)),
        (3, (3, 4, 1), (3, 4, 1)),
    ]
    assert {(each.leader_epoch, each.error_code) for each in row.partitions} == {(0, 0)}


def test_a_topic_is_found_by_its_id() -> None:
    raw = asking()
    topic = raw.core.cluster.create_topic("a")
    assert by_id(raw, topic.topic_id).name == "a"


def test_an_unknown_id_is_answered_without_a_name() -> None:
    row = by_id(asking(), b"x" * 16)
    assert (row.error_code, row.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize(
    "row",
    [MetadataRequestTopic(topic_id=b"x" * 16, name="a"), MetadataRequestTopic(name=None)],
)
def test_ids_are_refused_where_the_field_exists_but_does_not_work(
    version: int, row: MetadataRequestTopic
) -> None:
    answer = asking().ask(1, MetadataRequest(topics=(row,)), version=version).now
    assert [each.error_code for each in answer.topics] == [ErrorCode.INVALID_REQUEST]
    assert encode(answer, version)


@pytest.mark.parametrize("name", ["", ".", "a b", "x" * 250, "ä"])
def test_a_name_no_topic_can_have_is_invalid_and_makes_nothing(name: str) -> None:
    raw = asking()
    row = named(raw, name, create=True).topics[0]
    assert row.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert list(raw.core.cluster.topics) == ["__consumer_offsets"]


def test_asking_for_an_unknown_topic_makes_it_when_the_client_allows_it() -> None:
    raw = asking(nodes=2, settings=BrokerSettings(default_partitions=3))
    first = named(raw, "new", create=True).topics[0]
    assert (first.error_code, first.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ())
    second = named(raw, "new").topics[0]
    assert (second.error_code, len(second.partitions)) == (ErrorCode.NONE, 3)


def test_asking_for_an_unknown_topic_makes_nothing_when_the_client_does_not_allow_it() -> None:
    raw = asking()
    codes = [named(raw, "new").topics[0].error_code for _ in range(2)]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2


def test_asking_for_an_unknown_topic_makes_nothing_when_the_brokers_do_not_allow_it() -> None:
    raw = asking(settings=BrokerSettings(auto_create_topics=False))
    codes = [named(raw, "new", create=True).topics[0].error_code for _ in range(2)]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2


def test_authorized_operations_are_shown_only_when_asked_for() -> None:
    raw = asking()
    raw.core.cluster.create_topic("a")
    silent = named(raw, "a", version=10)
    assert silent.cluster_authorized_operations == NOT_ASKED
    assert silent.topics[0].topic_authorized_operations == NOT_ASKED
    request = MetadataRequest(
        topics=(MetadataRequestTopic(name="a"),),
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    answer = raw.ask(1, request, version=10).now
    assert answer.cluster_authorized_operations == 8096
    assert answer.topics[0].topic_authorized_operations == 3576


def test_a_partition_without_a_leader_has_an_error_of_its_own() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a", 2, replicas=1)
    raw.core.cluster.stop(1)
    row = named(raw, "a").topics[0]
    assert row.error_code == ErrorCode.NONE
    leaders = [(each.error_code, each.leader_id, each.leader_epoch) for each in row.partitions]
    assert leaders == [(ErrorCode.LEADER_NOT_AVAILABLE, -1, 1), (ErrorCode.NONE, 2, 0)]
    assert [each.offline_replicas for each in row.partitions] == [(1,), ()]
    assert [each.isr_nodes for each in row.partitions] == [(1,), (2,)]


def test_version_0_leaves_replicas_out_that_are_down_and_says_so() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    raw.core.cluster.stop(2)
    row = named(raw, "a", version=0).topics[0].partitions[0]
    assert (row.error_code, row.replica_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, (1,))
    new = named(raw, "a", version=1).topics[0].partitions[0]
    assert (new.error_code, new.replica_nodes) == (ErrorCode.NONE, (1, 2))


def test_a_killed_broker_is_named_until_the_election() -> None:
    raw = asking(nodes=2, settings=BrokerSettings(election_delay=9.0))
    raw.core.cluster.create_topic("a")
    raw.core.cluster.kill(1)
    before = named(raw, "a")
    assert [row.node_id for row in before.brokers] == [1, 2]
    assert before.topics[0].partitions[0].leader_id == 1
    raw.run(9.0)
    after = named(raw, "a")
    assert [row.node_id for row in after.brokers] == [2]
    row = after.topics[0].partitions[0]
    assert (row.leader_id, row.leader_epoch, row.isr_nodes) == (2, 1, (2,))
    assert (row.replica_nodes, row.offline_replicas) == ((1, 2), (1,))
    assert after.controller_id == 2


def test_a_topic_that_is_made_anew_has_another_id_and_begins_at_epoch_0() -> None:
    raw = asking(nodes=2)
    old = raw.core.cluster.create_topic("a")
    raw.core.cluster.elect(partition(raw, "a").tp, 2)
    raw.core.cluster.delete_topic("a")
    raw.core.cluster.create_topic("a")
    row = named(raw, "a").topics[0]
    assert row.topic_id not in (old.topic_id, NO_ID)
    assert row.partitions[0].leader_epoch == 0
    assert by_id(raw, old.topic_id).error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_real_brokers_answered_the_same_to_the_same_requests(release: str) -> None:
    """Ids, addresses and the order of partitions are a broker's own; everything else is equal."""
    raw = asking()
    raw.core.cluster.create_topic("t", 2)
    asked, compared = b"", 0
    for line in vectors.stream(f"broker/versions-{release}"):
        if line.get("n") != "Metadata":
            continue
        frame = bytes.fromhex(line["x"])[4:]
        if line["d"] == ">":
            asked = frame
            continue
        header, request = decode_request(asked)
        assert isinstance(request, MetadataRequest)
        version = header.api_version
        ours = encode(raw.ask(1, request, version=version).now, version)
        _, theirs = decode_response(MetadataRequest, version, frame)
        assert isinstance(theirs, MetadataResponse)
        assert anonymous(decode(MetadataResponse, version, ours)) == anonymous(theirs)
        compared += 1
    assert compared >= 7


def anonymous(answer: MetadataResponse) -> object:
    """Show an answer without ids and addresses, partitions in the order of their numbers."""
    topics = [
        (
            row.error_code,
            row.name,
            row.topic_id == NO_ID,
            row.is_internal,
            sorted(row.partitions, key=lambda each: each.partition_index),
            row.topic_authorized_operations,
        )
        for row in answer.topics
    ]
    nodes = [(row.node_id, row.rack) for row in answer.brokers]
    has_id = answer.cluster_id is not None
    operations = answer.cluster_authorized_operations
    return nodes, has_id, answer.controller_id, topics, operations, answer.error_code


def test_describe_cluster_lists_brokers_and_on_demand_those_that_are_down() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.stop(2)
    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    answer = raw.ask(1, request, version=2).now
    assert [(row.broker_id, row.is_fenced) for row in answer.brokers] == [(1, False)]
    assert (answer.controller_id, answer.cluster_id) == (1, named(raw).cluster_id)
    everybody = DescribeClusterRequest(
        include_cluster_authorized_operations=True, include_fenced_brokers=True
    )
    answer = raw.ask(1, everybody, version=2).now
    assert [(row.broker_id, row.is_fenced) for row in answer.brokers] == [(1, False), (2, True)]
    assert answer.cluster_authorized_operations == 8096


@pytest.mark.parametrize(
    ("kind", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_describe_cluster_knows_no_controllers(kind: int, code: ErrorCode) -> None:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=kind
    )
    answer = asking().ask(1, request, version=1).now
    assert (answer.error_code, answer.brokers) == (code, ())
    assert answer.error_message
