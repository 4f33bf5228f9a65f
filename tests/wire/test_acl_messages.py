"""Messages about ACLs against kio, a codec by somebody else: there are no vectors of Java."""

import dataclasses
import importlib
import io
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from kgroup.wire import messages
from kgroup.wire.schema import Message, decode, encode

ROW: dict[str, Any] = {"resource_name": "orders", "principal": "User:älice", "host": "*"}
NUMBERS: dict[str, Any] = {"operation": 3, "permission_type": 2}
MATCHED: dict[str, Any] = {"resource_type": 2, "pattern_type": 4, **ROW, **NUMBERS}
FILTER: dict[str, Any] = {"resource_type_filter": 2, "pattern_type_filter": 4, **NUMBERS}
REFUSED: dict[str, Any] = {"error_code": 31, "error_message": "no"}

SAID = [
    messages.CreateAclsRequest(
        creations=(
            messages.AclCreation(resource_type=2, resource_pattern_type=4, **ROW, **NUMBERS),
            messages.AclCreation(resource_type=3, **ROW, **NUMBERS),
        )
    ),
    messages.CreateAclsResponse(
        throttle_time_ms=7,
        results=(messages.AclCreationResult(), messages.AclCreationResult(**REFUSED)),
    ),
    messages.DeleteAclsRequest(
        filters=(
            messages.DeleteAclsFilter(
                resource_name_filter="orders", principal_filter="User:a", host_filter="*", **FILTER
            ),
            messages.DeleteAclsFilter(
                resource_name_filter=None, principal_filter=None, host_filter=None, **FILTER
            ),
        )
    ),
    messages.DeleteAclsResponse(
        throttle_time_ms=7,
        filter_results=(
            messages.DeleteAclsFilterResult(
                matching_acls=(messages.DeleteAclsMatchingAcl(**REFUSED, **MATCHED),)
            ),
            messages.DeleteAclsFilterResult(**REFUSED, matching_acls=()),
        ),
    ),
    messages.DescribeAclsRequest(
        resource_name_filter="orders", principal_filter=None, host_filter="*", **FILTER
    ),
    messages.DescribeAclsResponse(
        throttle_time_ms=7,
        **REFUSED,
        resources=(
            messages.DescribeAclsResource(
                resource_type=2,
                resource_name="orders",
                pattern_type=4,
                acls=(messages.AclDescription(principal="User:älice", host="*", **NUMBERS),),
            ),
        ),
    ),
]

APIS = {"Create": "create_acls", "Delete": "delete_acls", "Descri": "describe_acls"}


def their_class(message: Message, version: int) -> Any:
    name = type(message).__name__
    api = APIS[name[:6]]
    kind = "request" if name.endswith("Request") else "response"
    return getattr(importlib.import_module(f"kio.schema.{api}.v{version}.{kind}"), name)


def plain(value: Any) -> Any:
    """Turn a message of either codec into what can be compared."""
    match value:
        case Message():
            return {name: plain(getattr(value, name)) for name in value.FIELDS}
        case tuple():
            return [plain(each) for each in value]
        case _ if dataclasses.is_dataclass(value):
            names = (field.name for field in dataclasses.fields(value))
            return {name: plain(getattr(value, name)) for name in names}
        case _:
            return value


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("message", SAID, ids=lambda message: type(message).__name__)
def test_both_codecs_read_the_same_and_write_the_same_bytes(message: Message, version: int) -> None:
    data = encode(message, version)
    theirs = their_class(message, version)
    read, _ = entity_reader(theirs)(data, 0)
    said = plain(read)
    said.pop("throttle_time", None)
    ours = plain(message)
    ours.pop("throttle_time_ms", None)
    assert said == ours
    buffer = io.BytesIO()
    entity_writer(theirs)(buffer, read)
    assert buffer.getvalue() == data
    assert decode(type(message), version, data) == message
