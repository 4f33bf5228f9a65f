"""The processes that play sweeps; none is started unless a slow test asks."""

import os
from collections.abc import Iterator

import pytest

from tests.bad_input.sweeps.workers import Workers


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    # Where tests run on several processes, the cores are theirs already.
    with Workers(1 if "PYTEST_XDIST_WORKER" in os.environ else None) as started:
        yield started
