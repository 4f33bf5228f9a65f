# ruff: noqa: F403 - the modules' own lists say what they export
"""Every message of the protocol that kgroup speaks; a module for each family of APIs.

Decides: where a message class lives. A module is imported when a name of it is first asked for:
importing all of them at once would take a good part of the time that `import kgroup` may take.
Never: holds a message itself.

- `acls`: CreateAcls, DescribeAcls and DeleteAcls
- `cluster`: What a cluster is made of: ApiVersions, Metadata, FindCoordinator and DescribeCluster
- `configs`: DescribeConfigs and IncrementalAlterConfigs
- `consumer_groups`: ConsumerGroupHeartbeat and ConsumerGroupDescribe: the group protocol of
  KIP-848
- `fetch`: Fetch: records of partitions from their leader or a close replica (KIP-227, 320, 392,
  516)
- `group_admin`: ListGroups, DescribeGroups and DeleteGroups: classic groups, seen from outside
- `groups`: JoinGroup, SyncGroup, Heartbeat and LeaveGroup: membership in a classic group
- `log_offsets`: ListOffsets and OffsetForLeaderEpoch: places in a log
- `offsets`: OffsetCommit, OffsetFetch and OffsetDelete: the committed offsets of a group
- `produce`: Produce: append record batches to partitions (KIP-98, 467, 516, 951)
- `sasl`: SaslHandshake and SaslAuthenticate (KIP-43, KIP-152)
- `topics`: Topics and their partitions: create, grow, delete, and delete records
- `transactions`: Producer ids and transactions (KIP-98)
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
    "acls": (
        "AclCreation AclCreationResult AclDescription CreateAclsRequest CreateAclsResponse "
        "DeleteAclsFilter DeleteAclsFilterResult DeleteAclsMatchingAcl DeleteAclsRequest "
        "DeleteAclsResponse DescribeAclsRequest DescribeAclsResource DescribeAclsResponse"
    ),
    "cluster": (
        "ApiVersion ApiVersionsRequest ApiVersionsResponse Coordinator DescribeClusterBroker "
        "DescribeClusterRequest DescribeClusterResponse FinalizedFeatureKey "
        "FindCoordinatorRequest FindCoordinatorResponse MetadataRequest MetadataRequestTopic "
        "MetadataResponse MetadataResponseBroker MetadataResponsePartition "
        "MetadataResponseTopic SupportedFeatureKey"
    ),
    "configs": (
        "AlterConfigsResource AlterConfigsResourceResponse AlterableConfig "
        "DescribeConfigsRequest DescribeConfigsResource DescribeConfigsResourceResult "
        "DescribeConfigsResponse DescribeConfigsResult DescribeConfigsSynonym "
        "IncrementalAlterConfigsRequest IncrementalAlterConfigsResponse"
    ),
    "consumer_groups": (
        "ConsumerGroupDescribeAssignment ConsumerGroupDescribeDescribedGroup "
        "ConsumerGroupDescribeMember ConsumerGroupDescribeRequest ConsumerGroupDescribeResponse "
        "ConsumerGroupDescribeTopicPartitions ConsumerGroupHeartbeatAssignment "
        "ConsumerGroupHeartbeatRequest ConsumerGroupHeartbeatResponse "
        "ConsumerGroupHeartbeatTopicPartitions"
    ),
    "fetch": (
        "AbortedTransaction FetchEpochEndOffset FetchLeaderIdAndEpoch FetchNodeEndpoint "
        "FetchPartition FetchRequest FetchResponse FetchTopic FetchableTopicResponse "
        "ForgottenTopic PartitionData ReplicaState SnapshotId"
    ),
    "group_admin": (
        "DeletableGroupResult DeleteGroupsRequest DeleteGroupsResponse "
        "DescribeGroupsDescribedGroup DescribeGroupsRequest DescribeGroupsResponse "
        "DescribedGroupMember ListGroupsRequest ListGroupsResponse ListedGroup"
    ),
    "groups": (
        "HeartbeatRequest HeartbeatResponse JoinGroupRequest JoinGroupRequestProtocol "
        "JoinGroupResponse JoinGroupResponseMember LeaveGroupRequest LeaveGroupResponse "
        "MemberIdentity MemberResponse SyncGroupRequest SyncGroupRequestAssignment "
        "SyncGroupResponse"
    ),
    "log_offsets": (
        "ListOffsetsPartition ListOffsetsPartitionResponse ListOffsetsRequest "
        "ListOffsetsResponse ListOffsetsTopic ListOffsetsTopicResponse "
        "OffsetForLeaderEpochEndOffset OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse "
        "OffsetForLeaderPartition OffsetForLeaderTopic OffsetForLeaderTopicResult"
    ),
    "offsets": (
        "OffsetCommitRequest OffsetCommitRequestPartition OffsetCommitRequestTopic "
        "OffsetCommitResponse OffsetCommitResponsePartition OffsetCommitResponseTopic "
        "OffsetDeleteRequest OffsetDeleteRequestPartition OffsetDeleteRequestTopic "
        "OffsetDeleteResponse OffsetDeleteResponsePartition OffsetDeleteResponseTopic "
        "OffsetFetchRequest OffsetFetchRequestGroup OffsetFetchRequestTopic "
        "OffsetFetchRequestTopics OffsetFetchResponse OffsetFetchResponseGroup "
        "OffsetFetchResponsePartition OffsetFetchResponsePartitions OffsetFetchResponseTopic "
        "OffsetFetchResponseTopics"
    ),
    "produce": (
        "BatchIndexAndErrorMessage PartitionProduceData PartitionProduceResponse "
        "ProduceLeaderIdAndEpoch ProduceNodeEndpoint ProduceRequest ProduceResponse "
        "TopicProduceData TopicProduceResponse"
    ),
    "sasl": (
        "SaslAuthenticateRequest SaslAuthenticateResponse SaslHandshakeRequest "
        "SaslHandshakeResponse"
    ),
    "topics": (
        "CreatableReplicaAssignment CreatableTopic CreatableTopicConfig CreatableTopicConfigs "
        "CreatableTopicResult CreatePartitionsAssignment CreatePartitionsRequest "
        "CreatePartitionsResponse CreatePartitionsTopic CreatePartitionsTopicResult "
        "CreateTopicsRequest CreateTopicsResponse DeletableTopicResult DeleteRecordsPartition "
        "DeleteRecordsPartitionResult DeleteRecordsRequest DeleteRecordsResponse "
        "DeleteRecordsTopic DeleteRecordsTopicResult DeleteTopicState DeleteTopicsRequest "
        "DeleteTopicsResponse"
    ),
    "transactions": (
        "AddOffsetsToTxnRequest AddOffsetsToTxnResponse AddPartitionsToTxnPartitionResult "
        "AddPartitionsToTxnRequest AddPartitionsToTxnResponse AddPartitionsToTxnResult "
        "AddPartitionsToTxnTopic AddPartitionsToTxnTopicResult AddPartitionsToTxnTransaction "
        "EndTxnRequest EndTxnResponse InitProducerIdRequest InitProducerIdResponse "
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
