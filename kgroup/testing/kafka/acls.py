"""Who may do what on a secured Kafka: rules added and taken away, by blocking calls.

Decides: how a rule is written down.
Never: waits by itself until every broker has heard of a change; that takes milliseconds, and
`acls_stand` tells whether one has.
KIPs: 11 (ACLs), 290 (patterns).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.testing.kafka.probe import Probe
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.wire.messages import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)

__all__ = ["Acl", "AclOperation", "AclResource", "acls_stand", "add_acls", "remove_acls"]

Filter = TypeVar("Filter", DeleteAclsFilter, DescribeAclsRequest)

_LITERAL = 3
_DENY, _ALLOW = 2, 3
_ANY_HOST = "*"


class AclOperation(IntEnum):
    """What is allowed or denied."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8


class AclResource(IntEnum):
    """What it is done to."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4


@dataclass(frozen=True, slots=True)
class Acl:
    """One rule.

    Args:
        user: the name behind "User:".
        resource: what kind of thing.
        name: its name; "*" for all, "kafka-cluster" for the cluster.
        operation: what is allowed.
        allowed: False denies it, whatever else allows it.
    """

    user: str
    resource: AclResource
    name: str
    operation: AclOperation = AclOperation.ALL
    allowed: bool = True


def add_acls(bootstrap: str, *acls: Acl) -> None:
    """Add rules.

    Args:
        bootstrap: `host:port` of the open listener.
        acls: the rules; those that are there already stay.

    Raises:
        BrokerError: one was refused.
    """
    rows = tuple(
        AclCreation(
            resource_type=acl.resource,
            resource_name=acl.name,
            resource_pattern_type=_LITERAL,
            principal=_principal(acl),
            host=_ANY_HOST,
            operation=acl.operation,
            permission_type=_permission(acl),
        )
        for acl in acls
    )
    with Probe(parse_bootstrap(bootstrap)[0]) as probe:
        answer = probe.ask(CreateAclsRequest(creations=rows))
    for acl, row in zip(acls, answer.results, strict=True):
        if row.error_code != ErrorCode.NONE:
            raise BrokerError("CreateAcls", row.error_code, f"{acl}: {row.error_message}")


def remove_acls(bootstrap: str, *acls: Acl) -> int:
    """Take rules away; return how many there were.

    Raises:
        BrokerError: one was refused.
    """
    rows = tuple(_exactly(DeleteAclsFilter, acl) for acl in acls)
    with Probe(parse_bootstrap(bootstrap)[0]) as probe:
        answer = probe.ask(DeleteAclsRequest(filters=rows))
    for acl, row in zip(acls, answer.filter_results, strict=True):
        if row.error_code != ErrorCode.NONE:
            raise BrokerError("DeleteAcls", row.error_code, f"{acl}: {row.error_message}")
    return sum(len(row.matching_acls) for row in answer.filter_results)


def acls_stand(bootstrap: str, *acls: Acl) -> bool:
    """Tell whether a broker carries out all of some rules.

    Args:
        bootstrap: `host:port` of its open listener.
        acls: the rules.

    Raises:
        BrokerError: it does not tell.
    """
    with Probe(parse_bootstrap(bootstrap)[0]) as probe:
        return all(_stands(probe, acl) for acl in acls)


def _stands(probe: Probe, acl: Acl) -> bool:
    answer = probe.ask(_exactly(DescribeAclsRequest, acl))
    if answer.error_code != ErrorCode.NONE:
        raise BrokerError("DescribeAcls", answer.error_code, f"{acl}: {answer.error_message}")
    return bool(answer.resources)


def _exactly(kind: Callable[..., Filter], acl: Acl) -> Filter:
    """Return what matches one rule, and no other."""
    return kind(
        resource_type_filter=acl.resource,
        resource_name_filter=acl.name,
        pattern_type_filter=_LITERAL,
        principal_filter=_principal(acl),
        host_filter=_ANY_HOST,
        operation=acl.operation,
        permission_type=_permission(acl),
    )


def _principal(acl: Acl) -> str:
    return f"User:{acl.user}"


def _permission(acl: Acl) -> int:
    return _ALLOW if acl.allowed else _DENY
