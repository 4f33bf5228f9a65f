"""Inputs to begin with: what brokers sent and Java classes wrote, and what strategies draw."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings

from kgroup.codes import ApiKey
from kgroup.testing.strategies import messages
from kgroup.wire.frames import request_class
from kgroup.wire.schema import Message
from tests import vectors
from tests.search.fuzz.making import keys

_REQUEST, _RESPONSE = ">", "<"
_HEADER_V0 = 0


class Sent(NamedTuple):
    """One message: of which API and version, whether a request, and its frame without the size."""

    key: int
    version: int
    is_request: bool
    frame: bytes


def _spoken(key: int, version: int) -> bool:
    return key in set(ApiKey) and version in request_class(ApiKey(key)).VERSIONS


@cache
def of_java() -> tuple[tuple[int, int, bool, bytes], ...]:
    """Return (API, version, whether a request, body) of what the Java classes wrote."""
    found = [
        (line["key"], line["version"], line["kind"] == "request", bytes.fromhex(line["hex"]))
        for name in vectors.names("wire")
        if not name.startswith("wire/_")
        for line in vectors.stream(name)
    ]
    return tuple(dict.fromkeys(each for each in found if _spoken(each[0], each[1])))


@cache
def of_brokers() -> tuple[Sent, ...]:
    """Return what went over the wire between recorded clients and real brokers, each once."""
    found = (
        Sent(line["k"], line["v"], line["d"] == _REQUEST, bytes.fromhex(line["x"])[4:])
        for name in vectors.names("broker")
        for line in vectors.load(name)[1:]
        if "x" in line and line["d"] in (_REQUEST, _RESPONSE) and _spoken(line["k"], line["v"])
    )
    return tuple(dict.fromkeys(found))


@cache
def record_data() -> tuple[bytes, ...]:
    """Return the record data of partitions, of every magic and codec."""
    return tuple(
        bytes.fromhex(line["hex"])
        for name in ("v2", "legacy", "control")
        for line in vectors.load(f"records/{name}")
    )


def lines(name: str, *fields: str) -> Iterator[bytes]:
    """Yield the bytes that lines of a file have in any of some fields."""
    for line in vectors.stream(name):
        for field in fields:
            if line.get(field):
                yield bytes.fromhex(line[field])


# -- drawn -----------------------------------------------------------------------------------------


_EACH: Final = 3


@cache
def drawn(kind: str) -> tuple[tuple[ApiKey, int, Message], ...]:
    """Return (API, version, message) for the newest version of each API.

    Args:
        kind: "request" or "response".
    """
    return tuple(_drawn(kind))


def _drawn(kind: str) -> Iterator[tuple[ApiKey, int, Message]]:
    for key in keys():
        request = request_class(key)
        cls = request if kind == "request" else request.RESPONSE
        for message in _examples(cls, cls.VERSIONS[-1]):
            yield key, cls.VERSIONS[-1], message


def _examples(cls: type[Message], version: int) -> list[Message]:
    found: list[Message] = []

    @seed(len(cls.__name__) + version)
    @settings(
        max_examples=_EACH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(messages(cls, version))
    def collect(message: Any) -> None:
        found.append(message)

    collect()
    return found
