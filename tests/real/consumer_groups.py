"""Groups of KIP-848 on a real Kafka: their own session and heartbeats, and members that leave.

Decides: that a group's configs are set before anybody joins it (KIP-848: they are the group's).
Never: takes part in a group.
"""

from typing import Any

from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.types import MemberState
from kgroup.wire.messages import (
    AlterableConfig,
    AlterConfigsResource,
    ConsumerGroupDescribeDescribedGroup,
    ConsumerGroupDescribeRequest,
    FindCoordinatorRequest,
    IncrementalAlterConfigsRequest,
    LeaveGroupRequest,
    MemberIdentity,
)
from tests.real.ground import eventually
from tests.real.members import Group

_GROUP = 32

CONSUMER: dict[str, Any] = {
    "group_protocol": "consumer",
    "session_timeout": 45.0,
    "heartbeat_interval": 3.0,
    "assignors": ("range", "cooperative-sticky"),
}
"""The fast profile is the classic protocol's; what the broker decides is left at its defaults."""


def tune(kafka: RealKafka, group: str, *, session: float = 6.0, heartbeat: float = 0.3) -> None:
    """Set a group's own session time-out and heartbeat interval, seconds."""
    values = {
        "consumer.session.timeout.ms": session,
        "consumer.heartbeat.interval.ms": heartbeat,
    }
    rows = tuple(
        AlterableConfig(name=name, config_operation=0, value=str(round(value * 1000)))
        for name, value in values.items()
    )
    resource = AlterConfigsResource(resource_type=_GROUP, resource_name=group, configs=rows)
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    with Probe(parse_bootstrap(kafka.bootstrap)[0]) as probe:
        (answer,) = probe.ask(request).responses
    assert answer.error_code == 0, answer.error_message


def described(kafka: RealKafka, group: str) -> ConsumerGroupDescribeDescribedGroup:
    """Return what the coordinator says of a group."""
    request = ConsumerGroupDescribeRequest(group_ids=(group,), include_authorized_operations=False)
    with Probe(_coordinator(kafka, group)) as probe:
        return probe.ask(request).groups[0]


def evict(kafka: RealKafka, group: str, member_id: str) -> None:
    """Remove a member as an administrator does."""
    members = (MemberIdentity(member_id=member_id, group_instance_id=None),)
    with Probe(_coordinator(kafka, group)) as probe:
        answer = probe.ask(LeaveGroupRequest(group_id=group, members=members))
    assert answer.error_code == 0


def _coordinator(kafka: RealKafka, group: str) -> tuple[str, int]:
    with Probe(parse_bootstrap(kafka.bootstrap)[0]) as probe:
        (found,) = probe.ask(FindCoordinatorRequest(coordinator_keys=(group,))).coordinators
    return found.host, found.port


async def shared(group: Group, *sizes: int) -> None:
    """Wait until all members are stable, and share everything in parts of these sizes."""

    def is_so() -> bool:
        owned = [member.owned for member in group.members]
        return (
            sorted(map(len, owned)) == sorted(sizes)
            and frozenset().union(*owned) == group.ground.all_partitions
            and all(member.is_in(MemberState.STABLE) for member in group.members)
        )

    try:
        await eventually(is_so, f"members own {sizes} of {group.ground.partitions} partitions")
    except TimeoutError as error:
        states = [f"{m.label}: {m.consumer.membership} {m.failure}" for m in group.members]
        error.add_note("\n".join(states))
        raise
