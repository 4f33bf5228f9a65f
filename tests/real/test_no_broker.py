"""Nobody answers: the error comes in time and says of every address what is wrong with it."""

import errno
import socket
import time
from collections.abc import Iterator

import pytest

from kgroup import Consumer
from kgroup.errors import NoBrokerError

pytestmark = pytest.mark.slow

TIMEOUT = 1.0
"""Shorter than the time after which a second address is asked when nobody is in a hurry (2 s)."""


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


async def test_every_address_that_was_tried_is_told_in_time(silent: str, closed: str) -> None:
    consumer = Consumer(
        "orders",
        group_id="billing",
        bootstrap_servers=[silent, closed],
        bootstrap_timeout=TIMEOUT,
    )
    began = time.monotonic()
    with pytest.raises(NoBrokerError) as caught:
        async with consumer:
            pass
    took = time.monotonic() - began
    assert took < TIMEOUT + 0.5, f"{took:.2f} s for a bootstrap_timeout of {TIMEOUT} s"
    assert caught.value.tried.keys() == {silent, closed}
    assert str(errno.ECONNREFUSED) in caught.value.tried[closed]
    assert all(address in str(caught.value) for address in (silent, closed))
