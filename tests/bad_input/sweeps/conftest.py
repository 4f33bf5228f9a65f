"""The processes that play sweeps; none is started unless a slow test asks."""

from collections.abc import Iterator

import pytest

from tests.bad_input.sweeps.workers import Workers


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    with Workers() as started:
        yield started
