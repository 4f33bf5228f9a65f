"""ConsumerGroupDescribe, and how groups of KIP-848 are listed.

Decides: what administrators see: epochs, what each member has or is asked to give up, and what it
is to have. A group of
the other protocol is not found (69), as DescribeGroups finds none of these (KIP-1043).
Never: changes anything.
"""

from collections.abc import Iterable
from typing import Any

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.consumer_groups.assigning import Place
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.consumer_groups.member import ConsumerMember
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.mint import bucket_order
from kgroup.wire.messages import (
    ConsumerGroupDescribeAssignment,
    ConsumerGroupDescribeDescribedGroup,
    ConsumerGroupDescribeMember,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeTopicPartitions,
)
from kgroup.wire.schema import Request

_CLASSIC, _SPEAKS_IT = 0, 1
"""Types of members (KIP-1099)."""


class ConsumerGroupDescribing:
    """What shows the KIP-848 groups of one cluster.

    Args:
        coordinators: the groups.
        cluster: names of topics.
    """

    def __init__(self, coordinators: Coordinators, cluster: Cluster) -> None:
        self._coordinators = coordinators
        self._cluster = cluster

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {ConsumerGroupDescribeRequest: self.describe}

    def describe(
        self, asked: Asked, request: ConsumerGroupDescribeRequest
    ) -> ConsumerGroupDescribeResponse:
        """Answer ConsumerGroupDescribe, each group by itself."""
        groups = tuple(self._described(asked, group_id) for group_id in request.group_ids)
        return ConsumerGroupDescribeResponse(groups=groups)

    def _described(self, asked: Asked, group_id: str) -> ConsumerGroupDescribeDescribedGroup:
        code = self._coordinators.refusal(asked.node_id, group_id)
        group = self._coordinators.shard_of(group_id).consumer_groups.get(group_id)
        if code or group is None:
            return ConsumerGroupDescribeDescribedGroup(
                error_code=code or ErrorCode.GROUP_ID_NOT_FOUND,
                error_message=None if code else f"Group {group_id} is not a consumer group.",
                group_id=group_id,
                group_state="",
                group_epoch=0,
                assignment_epoch=0,
                assignor_name="",
                members=(),
            )
        return ConsumerGroupDescribeDescribedGroup(
            group_id=group_id,
            group_state=group.phase.value,
            group_epoch=group.epoch,
            assignment_epoch=group.target_epoch,
            assignor_name=group.assignor,
            members=tuple(
                self._member(group, group.members[each]) for each in bucket_order(group.members)
            ),
        )

    def _member(self, group: ConsumerGroup, member: ConsumerMember) -> ConsumerGroupDescribeMember:
        return ConsumerGroupDescribeMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            member_epoch=member.epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=tuple(sorted(member.topics)),
            subscribed_topic_regex=member.regex or "",
            assignment=self._rows(member.holds),
            target_assignment=self._rows(group.target.get(member.member_id, ())),
            member_type=_SPEAKS_IT if member.classic is None else _CLASSIC,
        )

    def _rows(self, places: Iterable[Place]) -> ConsumerGroupDescribeAssignment:
        numbers: dict[bytes, list[int]] = {}
        for topic_id, number in sorted(places):
            numbers.setdefault(topic_id, []).append(number)
        named = [
            (self._cluster.topic_by_id(topic_id), found) for topic_id, found in numbers.items()
        ]
        return ConsumerGroupDescribeAssignment(
            topic_partitions=tuple(
                ConsumerGroupDescribeTopicPartitions(
                    topic_id=topic.topic_id, topic_name=topic.name, partitions=tuple(found)
                )
                for topic, found in named
                if topic is not None
            )
        )
