"""Messages that the strategies draw, as inputs to begin with: the same ones in every process."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings

from kgroup.codes import ApiKey
from kgroup.testing.strategies import messages
from kgroup.wire.frames import request_class
from kgroup.wire.schema import Message
from tests.search.fuzz.messages import keys

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
