"""Every async test of this folder runs in virtual time, on asyncio and on trio."""

from collections.abc import Mapping
from typing import Any

import pytest

from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend
from kgroup.wire.messages import HeartbeatRequest, HeartbeatResponse
from tests.net.scram_server import PASSWORD, SaslServer
from tests.search.scripted.broker import ScriptedBroker


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, Any]]:
    return virtual_backend(request.param)


@pytest.fixture
def broker() -> ScriptedBroker:
    """A broker that answers heartbeats."""
    broker = ScriptedBroker()
    broker.on(HeartbeatRequest, HeartbeatResponse())
    return broker


@pytest.fixture
def server(broker: ScriptedBroker) -> SaslServer:
    """The SASL side of that broker."""
    server = SaslServer(PASSWORD)
    server.serve(broker)
    return server
