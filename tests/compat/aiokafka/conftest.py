"""aiokafka is of asyncio, so its facade is: these tests run there, in virtual time."""

from collections.abc import Mapping
from typing import Any

import pytest

from kgroup.testing.virtual_time import virtual_backend


@pytest.fixture
def anyio_backend() -> tuple[str, Mapping[str, Any]]:
    return virtual_backend("asyncio")
