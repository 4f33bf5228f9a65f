"""Every async test of this folder runs in virtual time, on asyncio and on trio."""

from collections.abc import Mapping
from typing import Any

import pytest

from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, Any]]:
    return virtual_backend(request.param)
