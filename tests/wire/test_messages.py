"""Messages against what Kafka's Java classes wrote and read, and against real brokers."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

from kgroup.codes import ApiKey
from kgroup.errors import DecodeError
from kgroup.wire import messages
from kgroup.wire.frames import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_class,
)
from kgroup.wire.schema import decode, encode
from tests import vectors
from tests.wire.kafka_json import apis, cases, message_class

# Longer messages are cut at every byte of both ends, and at a stride between them.
WHOLE = 300
ENDS = 60
STRIDE = 17


@pytest.mark.parametrize("api", apis())
def test_bytes_of_kafka_decode_to_the_values_of_kafka(api: str) -> None:
    for case in cases(api):
        assert decode(case.cls, case.version, case.data) == case.message, case.name


@pytest.mark.parametrize("api", apis())
def test_values_of_kafka_encode_to_the_bytes_of_kafka(api: str) -> None:
    for case in cases(api):
        if not case.decode_only:
            assert encode(case.message, case.version) == case.data, case.name


@pytest.mark.parametrize("line", vectors.load("wire/_ranges"), ids=lambda line: line["api"])
def test_the_versions_are_those_of_kafka(line: dict[str, Any]) -> None:
    spoken = range(line["min"], line["max"] + 1)
    flexible = [v for v, header in zip(spoken, line["request_header"], strict=True) if header == 2]
    for kind in ("request", "response"):
        cls = message_class(line["api"], kind)
        assert cls.VERSIONS.start == spoken.start
        assert cls.VERSIONS.stop == spoken.stop
        assert [version for version in spoken if cls.FLEXIBLE in range(version + 1)] == flexible
    assert request_class(ApiKey(line["key"])) is message_class(line["api"], "request")


def cuts(size: int) -> Iterator[int]:
    if size <= WHOLE:
        yield from range(size)
        return
    yield from range(ENDS)
    yield from range(ENDS, size - ENDS, STRIDE)
    yield from range(size - ENDS, size)


@pytest.mark.parametrize("api", apis())
def test_a_message_cut_at_any_byte_is_an_error(api: str) -> None:
    """Every version and direction is cut at every byte of its shortest case that has content."""
    shortest: dict[tuple[type, int], bytes] = {}
    for case in cases(api):
        key = (case.cls, case.version)
        for cut in cuts(len(case.data)) if case.name.endswith("full") else ():
            with pytest.raises(DecodeError):
                decode(case.cls, case.version, case.data[:cut])
        if case.data and len(case.data) < len(shortest.get(key, case.data + b"+")):
            shortest[key] = case.data
    for (cls, version), data in shortest.items():
        for cut in range(len(data)):
            with pytest.raises(DecodeError):
                decode(cls, version, data[:cut])


@pytest.mark.parametrize("api", apis())
def test_a_byte_left_over_is_an_error(api: str) -> None:
    for case in cases(api):
        with pytest.raises(DecodeError, match="1 bytes are left over"):
            decode(case.cls, case.version, case.data + b"\0")


@pytest.mark.parametrize("name", list(vectors.names("broker")))
def test_frames_of_real_brokers_decode_and_encode_to_the_same_bytes(name: str) -> None:
    asked = {}
    for line in vectors.load(name)[1:]:
        if "x" not in line or line["v"] not in request_class(ApiKey(line["k"])).VERSIONS:
            continue
        frame, key = bytes.fromhex(line["x"]), (line["c"], line["i"])
        if line["d"] == ">":
            header, request = decode_request(frame[4:])
            asked[key] = header
            again = encode_request(
                request, header.api_version, header.correlation_id, header.client_id
            )
        else:
            header = asked[key]
            cls = request_class(header.api_key)
            correlation_id, response = decode_response(cls, header.api_version, frame[4:])
            assert correlation_id == line["i"]
            again = encode_response(response, header.api_key, header.api_version, correlation_id)
        assert again == frame, line


def test_the_package_offers_what_its_modules_offer() -> None:
    offered = set()
    for module in pkgutil.iter_modules(messages.__path__):
        offered |= set(importlib.import_module(f"{messages.__name__}.{module.name}").__all__)
    assert set(dir(messages)) == offered
    assert all(getattr(messages, name).__name__ == name for name in offered)


def test_a_name_the_package_does_not_offer_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchRequest"):
        messages.NoSuchRequest  # noqa: B018
