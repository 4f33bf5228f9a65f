"""`isolated_heartbeats`: where a thread cannot send them, it is refused, with the way out."""

from random import Random
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.net.ports import Ports


async def no_network(host: str, port: int) -> ByteStream:
    raise OSError("there is no network here")


PORTS = Ports(no_network, anyio.current_time, anyio.current_time, Random(0))
MARSHAL: dict[str, Any] = {"backend": "marshal", "group_id": "g"}
BEARER: dict[str, Any] = {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauth_token": lambda: "token",
}


def test_it_is_off_by_default() -> None:
    assert ConsumerConfig().isolated_heartbeats is False


@pytest.mark.parametrize(
    ("options", "named"),
    [(MARSHAL, "backend='marshal'"), (BEARER, "'OAUTHBEARER'"), ({"ports": PORTS}, "ports")],
    ids=["marshal", "oauthbearer", "ports"],
)
def test_it_is_refused_by_name_where_it_cannot_work(options: dict[str, Any], named: str) -> None:
    ConsumerConfig.of(options)
    with pytest.raises(ConfigError, match="isolated_heartbeats") as refused:
        ConsumerConfig.of({**options, "isolated_heartbeats": True})
    assert named in str(refused.value)
    assert "anyio.to_thread.run_sync" in str(refused.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_it_goes_with_tls_and_passwords(mechanism: str) -> None:
    way = {"security_protocol": "SASL_SSL", "sasl_mechanism": mechanism}
    who = {"sasl_username": "alice", "sasl_password": "correct horse"}
    assert ConsumerConfig.of({**way, **who, "isolated_heartbeats": True}).isolated_heartbeats
