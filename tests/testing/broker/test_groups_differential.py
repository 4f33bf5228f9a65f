"""What random scripts found: each is a difference between real brokers and the core, now closed."""

from kgroup.wire.messages import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    SyncGroupRequest,
)
from tests.testing.broker.driver import Call, Raw, asking

OFFER = JoinGroupRequestProtocol(name="range", metadata=b"\0\1\0\0\0\0\xff\xff\xff\xff\0\0\0\0")


def join(raw: Raw, client: str, member_id: str = "", *, version: int = 9, **fields) -> Call:
    """Ask to join group g: S = 10 s, R = 5 s unless told otherwise."""
    usual = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 5_000,
        "protocol_type": "consumer",
        "protocols": (OFFER,),
    }
    request = JoinGroupRequest(group_id="g", member_id=member_id, **{**usual, **fields})
    return raw.ask(1, request, version=version, client=client)


def test_time_goes_on_for_a_static_member_whose_rebalance_timeout_is_zero() -> None:
    raw = asking()
    member = join(raw, "A", group_instance_id="i", rebalance_timeout_ms=0)
    raw.run(0.0)
    member_id = member.now.member_id
    raw.ask(1, SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, assignments=()))
    join(raw, "B", group_instance_id="j", rebalance_timeout_ms=0)
    raw.run(0.5)
    assert raw.now == 0.5
