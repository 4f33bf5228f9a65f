# ruff: noqa: F403 - the modules' own lists say what they export
"""Every message of the protocol that kgroup speaks, one module per API.

Decides: where a message class lives. A module is imported when a name of it is first asked for:
importing all of them at once would take a good part of the time that `import kgroup` may take.
Never: holds a message itself.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kgroup.wire.messages.acls import *
    from kgroup.wire.messages.cluster import *
    from kgroup.wire.messages.configs import *
    from kgroup.wire.messages.consumer_groups import *
    from kgroup.wire.messages.fetch import *
    from kgroup.wire.messages.group_admin import *
    from kgroup.wire.messages.groups import *
    from kgroup.wire.messages.log_offsets import *
    from kgroup.wire.messages.offsets import *
    from kgroup.wire.messages.produce import *
    from kgroup.wire.messages.sasl import *
    from kgroup.wire.messages.topics import *
    from kgroup.wire.messages.transactions import *

_CONTENTS: Final = {
    "add_offsets_to_txn": "AddOffsetsToTxnRequest AddOffsetsToTxnResponse",
    "add_partitions_to_txn": (
        "AddPartitionsToTxnPartitionResult AddPartitionsToTxnRequest AddPartitionsToTxnResponse "
        "AddPartitionsToTxnResult AddPartitionsToTxnTopic AddPartitionsToTxnTopicResult "
        "AddPartitionsToTxnTransaction"
    ),
    "api_versions": (
        "ApiVersion ApiVersionsRequest ApiVersionsResponse FinalizedFeatureKey SupportedFeatureKey"
    ),
    "consumer_group_describe": (
        "ConsumerGroupDescribeAssignment ConsumerGroupDescribeDescribedGroup "
        "ConsumerGroupDescribeMember ConsumerGroupDescribeRequest ConsumerGroupDescribeResponse "
        "ConsumerGroupDescribeTopicPartitions"
    ),
    "consumer_group_heartbeat": (
        "ConsumerGroupHeartbeatAssignment ConsumerGroupHeartbeatRequest "
        "ConsumerGroupHeartbeatResponse ConsumerGroupHeartbeatTopicPartitions"
    ),
    "create_acls": "AclCreation AclCreationResult CreateAclsRequest CreateAclsResponse",
    "create_partitions": (
        "CreatePartitionsAssignment CreatePartitionsRequest CreatePartitionsResponse "
        "CreatePartitionsTopic CreatePartitionsTopicResult"
    ),
    "create_topics": (
        "CreatableReplicaAssignment CreatableTopic CreatableTopicConfig CreatableTopicConfigs "
        "CreatableTopicResult CreateTopicsRequest CreateTopicsResponse"
    ),
    "delete_acls": (
        "DeleteAclsFilter DeleteAclsFilterResult DeleteAclsMatchingAcl DeleteAclsRequest "
        "DeleteAclsResponse"
    ),
    "delete_groups": "DeletableGroupResult DeleteGroupsRequest DeleteGroupsResponse",
    "delete_records": (
        "DeleteRecordsPartition DeleteRecordsPartitionResult DeleteRecordsRequest "
        "DeleteRecordsResponse DeleteRecordsTopic DeleteRecordsTopicResult"
    ),
    "delete_topics": (
        "DeletableTopicResult DeleteTopicState DeleteTopicsRequest DeleteTopicsResponse"
    ),
    "describe_acls": (
        "AclDescription DescribeAclsRequest DescribeAclsResource DescribeAclsResponse"
    ),
    "describe_cluster": "DescribeClusterBroker DescribeClusterRequest DescribeClusterResponse",
    "describe_configs": (
        "DescribeConfigsRequest DescribeConfigsResource DescribeConfigsResourceResult "
        "DescribeConfigsResponse DescribeConfigsResult DescribeConfigsSynonym"
    ),
    "describe_groups": (
        "DescribeGroupsDescribedGroup DescribeGroupsRequest DescribeGroupsResponse "
        "DescribedGroupMember"
    ),
    "end_txn": "EndTxnRequest EndTxnResponse",
    "fetch": (
        "AbortedTransaction FetchEpochEndOffset FetchLeaderIdAndEpoch FetchNodeEndpoint "
        "FetchPartition FetchRequest FetchResponse FetchTopic FetchableTopicResponse "
        "ForgottenTopic PartitionData ReplicaState SnapshotId"
    ),
    "find_coordinator": "Coordinator FindCoordinatorRequest FindCoordinatorResponse",
    "heartbeat": "HeartbeatRequest HeartbeatResponse",
    "incremental_alter_configs": (
        "AlterConfigsResource AlterConfigsResourceResponse AlterableConfig "
        "IncrementalAlterConfigsRequest IncrementalAlterConfigsResponse"
    ),
    "init_producer_id": "InitProducerIdRequest InitProducerIdResponse",
    "join_group": (
        "JoinGroupRequest JoinGroupRequestProtocol JoinGroupResponse JoinGroupResponseMember"
    ),
    "leave_group": "LeaveGroupRequest LeaveGroupResponse MemberIdentity MemberResponse",
    "list_groups": "ListGroupsRequest ListGroupsResponse ListedGroup",
    "list_offsets": (
        "ListOffsetsPartition ListOffsetsPartitionResponse ListOffsetsRequest ListOffsetsResponse "
        "ListOffsetsTopic ListOffsetsTopicResponse"
    ),
    "metadata": (
        "MetadataRequest MetadataRequestTopic MetadataResponse MetadataResponseBroker "
        "MetadataResponsePartition MetadataResponseTopic"
    ),
    "offset_commit": (
        "OffsetCommitRequest OffsetCommitRequestPartition OffsetCommitRequestTopic "
        "OffsetCommitResponse OffsetCommitResponsePartition OffsetCommitResponseTopic"
    ),
    "offset_delete": (
        "OffsetDeleteRequest OffsetDeleteRequestPartition OffsetDeleteRequestTopic "
        "OffsetDeleteResponse OffsetDeleteResponsePartition OffsetDeleteResponseTopic"
    ),
    "offset_fetch": (
        "OffsetFetchRequest OffsetFetchRequestGroup OffsetFetchRequestTopic "
        "OffsetFetchRequestTopics OffsetFetchResponse OffsetFetchResponseGroup "
        "OffsetFetchResponsePartition OffsetFetchResponsePartitions OffsetFetchResponseTopic "
        "OffsetFetchResponseTopics"
    ),
    "offset_for_leader_epoch": (
        "OffsetForLeaderEpochEndOffset OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse "
        "OffsetForLeaderPartition OffsetForLeaderTopic OffsetForLeaderTopicResult"
    ),
    "produce": (
        "BatchIndexAndErrorMessage PartitionProduceData PartitionProduceResponse "
        "ProduceLeaderIdAndEpoch ProduceNodeEndpoint ProduceRequest ProduceResponse "
        "TopicProduceData TopicProduceResponse"
    ),
    "sasl_authenticate": "SaslAuthenticateRequest SaslAuthenticateResponse",
    "sasl_handshake": "SaslHandshakeRequest SaslHandshakeResponse",
    "sync_group": "SyncGroupRequest SyncGroupRequestAssignment SyncGroupResponse",
    "txn_offset_commit": (
        "TxnOffsetCommitRequest TxnOffsetCommitRequestPartition TxnOffsetCommitRequestTopic "
        "TxnOffsetCommitResponse TxnOffsetCommitResponsePartition TxnOffsetCommitResponseTopic"
    ),
}
_HOMES: Final = {name: home for home, names in _CONTENTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute can be of any type
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(_HOMES)
