"""Answers that are nothing but an error, for every API and version that a release speaks."""

from typing import Any

import pytest

from kgroup.codes import ApiKey
from kgroup.testing.broker.releases import RELEASES
from kgroup.testing.broker.server.refusals import refusal
from kgroup.wire import messages as wire
from kgroup.wire.frames import request_class
from kgroup.wire.schema import Message, Request, decode, encode
from kgroup.wire.source import REQUIRED, layout_of
from kgroup.wire.vocabulary import ArrayForm, BlobForm, RowForm, ScalarForm, TextForm

CODE = 27


def made(cls: type[Any], version: int) -> Any:
    """Make a message of a class with one row in each array."""
    values: dict[str, Any] = {}
    layout = layout_of(cls, version)
    for step in layout.present:
        match step.form:
            case ArrayForm(RowForm(row)):
                values[step.name] = (made(row, version),)
            case ArrayForm(TextForm()):
                values[step.name] = ("name",)
            case ArrayForm():
                values[step.name] = (1,)
            case TextForm():
                values[step.name] = "name"
            case BlobForm():
                values[step.name] = b""
            case ScalarForm(format="16s"):
                values[step.name] = bytes(range(16))
            case ScalarForm() if step.default is REQUIRED:
                values[step.name] = 1
    return cls(**values)


def codes(message: Message) -> list[int]:
    """Return every error code anywhere in a message."""
    found = []
    for name in message.FIELDS:
        value = getattr(message, name)
        if name in ("error_code", "partition_error_code"):
            found.append(value)
        for row in value if isinstance(value, tuple) else ():
            found += codes(row) if isinstance(row, Message) else []
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_every_api_of_a_release_can_be_refused(release: str) -> None:
    for api, (lowest, highest) in RELEASES[release].ranges.items():
        asked = request_class(api)
        for version in range(lowest, highest + 1):
            answer = refusal(made(asked, version), version, CODE)
            read = decode(asked.RESPONSE, version, encode(answer, version))
            assert CODE in codes(read), f"{api.name} v{version}: {read}"


def test_a_refusal_has_a_row_for_each_row_of_the_request() -> None:
    fetch = made(wire.FetchRequest, 12)
    answer: Any = refusal(fetch, 12, CODE)
    assert [each.topic for each in answer.responses] == ["name"]
    assert [each.partition_index for each in answer.responses[0].partitions] == [1]
    assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, CODE)
    groups: Any = refusal(wire.DeleteGroupsRequest(groups_names=("g", "h")), 2, CODE)
    assert [(each.group_id, each.error_code) for each in groups.results] == [
        ("g", CODE),
        ("h", CODE),
    ]


def test_an_error_of_a_fetch_session_has_no_rows() -> None:
    answer: Any = refusal(made(wire.FetchRequest, 12), 12, 70)
    assert (answer.error_code, answer.responses) == (70, ())


def test_a_refused_member_keeps_its_id_and_gets_no_generation() -> None:
    asked: Request[Any] = made(wire.JoinGroupRequest, 9)
    answer: Any = refusal(asked, 9, CODE)
    assert (answer.member_id, answer.generation_id, answer.protocol_name) == ("name", -1, None)
    assert asked.api_key is ApiKey.JOIN_GROUP
