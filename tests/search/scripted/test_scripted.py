"""Scripted brokers do what the script says, to the byte."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend
from kgroup.types import TopicPartition
from kgroup.wire.frames import decode_response, encode_request, encode_response
from kgroup.wire.messages import (
    ApiVersion,
    ApiVersionsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataRequestTopic,
)
from tests.search.scripted.broker import (
    Answer,
    Cut,
    Delayed,
    HungUp,
    Lost,
    Misnumbered,
    Raw,
    ScriptedBroker,
)
from tests.search.scripted.cluster import ScriptedCluster

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
OK = HeartbeatResponse()
WHOLE = encode_response(OK, ApiKey.HEARTBEAT, 4, 7)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, Any]]:
    return virtual_backend(request.param)


@pytest.fixture
def broker() -> ScriptedBroker:
    broker = ScriptedBroker()
    broker.on(HeartbeatRequest, OK)
    return broker


async def ask(broker: ScriptedBroker, number: int = 7):
    stream = await broker("broker-1", 9092)
    await stream.send(encode_request(BEAT, 4, number, "till"))
    return stream


async def test_a_request_is_recorded_as_it_came_and_answered(broker: ScriptedBroker) -> None:
    stream = await ask(broker)
    assert await stream.receive() == WHOLE
    (seen,) = broker.seen
    assert (seen.request, seen.version, seen.client_id, seen.connection) == (BEAT, 4, "till", 1)
    assert broker.requests(HeartbeatRequest) == [BEAT]


async def test_a_rule_for_once_comes_before_the_lasting_one(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, lambda r: HeartbeatResponse(error_code=r.generation_id))
    stream = await ask(broker)
    assert decode_response(HeartbeatRequest, 4, (await stream.receive())[4:])[1].error_code == 1
    await stream.send(encode_request(BEAT, 4, 7, None))
    assert await stream.receive() == WHOLE


@pytest.mark.parametrize(
    ("answer", "expected", "ends"),
    [
        (Cut(OK, 5), WHOLE[:5], True),
        (Raw(b"garbage"), b"garbage", False),
        (Misnumbered(OK, 1), encode_response(OK, ApiKey.HEARTBEAT, 4, 8), False),
    ],
)
async def test_a_misdeed_is_done_to_the_byte(
    broker: ScriptedBroker, answer: Answer, expected: bytes, ends: bool
) -> None:
    broker.once(HeartbeatRequest, answer)
    stream = await ask(broker)
    assert await stream.receive() == expected
    if ends:
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()
    assert stream.is_open != ends


async def test_a_broker_may_hang_up_instead(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, HungUp())
    stream = await ask(broker)
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    with pytest.raises(anyio.BrokenResourceError):
        await stream.send(b"x")


async def test_a_delayed_answer_comes_when_it_is_due(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, Delayed(OK, 30))
    stream = await ask(broker)
    assert await stream.receive() == WHOLE
    assert anyio.current_time() == pytest.approx(30)


async def test_a_held_answer_holds_up_those_behind_it(broker: ScriptedBroker) -> None:
    held = broker.hold(HeartbeatRequest)
    with pytest.raises(RuntimeError, match="has not come"):
        held.release(OK)
    stream = await ask(broker)
    await stream.send(encode_request(BEAT, 4, 8, None))
    with anyio.move_on_after(60) as patience:
        await stream.receive()
    assert patience.cancelled_caught
    held.release(OK)
    both = WHOLE + encode_response(OK, ApiKey.HEARTBEAT, 4, 8)
    assert await stream.receive() == both


async def test_a_lost_answer_holds_up_nothing(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, Lost())
    stream = await ask(broker)
    await stream.send(encode_request(BEAT, 4, 8, None))
    assert await stream.receive() == encode_response(OK, ApiKey.HEARTBEAT, 4, 8)


async def test_bytes_come_in_pieces_and_requests_may_too(broker: ScriptedBroker) -> None:
    broker.piece = 3
    stream = await broker("broker-1", 9092)
    for byte in encode_request(BEAT, 4, 7, None):
        await stream.send(bytes([byte]))
    got = b""
    while len(got) < len(WHOLE):
        piece = await stream.receive()
        assert len(piece) <= 3
        got += piece
    assert got == WHOLE


async def test_a_version_outside_its_range_ends_the_connection(broker: ScriptedBroker) -> None:
    broker.versions = {ApiKey.HEARTBEAT: (0, 3)}
    stream = await ask(broker)
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(
    broker: ScriptedBroker,
) -> None:
    broker.versions = {ApiKey.API_VERSIONS: (0, 3)}
    stream = await broker("broker-1", 9092)
    await stream.send(encode_request(ApiVersionsRequest(), 4, 7, None))
    _, answer = decode_response(ApiVersionsRequest, 4, (await stream.receive())[4:])
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.max_version) for row in answer.api_keys] == [(18, 3)]


async def test_a_request_without_a_rule_fails_the_test_that_sent_it() -> None:
    with pytest.raises(AssertionError, match="no rule for HeartbeatRequest"):
        await ask(ScriptedBroker())


async def test_a_broker_goes_down_and_comes_up(broker: ScriptedBroker) -> None:
    stream = await ask(broker)
    broker.go_down()
    with pytest.raises(anyio.BrokenResourceError):
        await stream.receive()
    with pytest.raises(ConnectionRefusedError):
        await broker("broker-1", 9092)
    broker.come_up()
    assert await (await ask(broker)).receive() == WHOLE
    assert len(broker.connections()) == 1


async def test_closing_the_client_end_closes_the_connection(broker: ScriptedBroker) -> None:
    stream = await ask(broker)
    await stream.aclose()
    assert not broker.connections()
    with pytest.raises(anyio.ClosedResourceError):
        await stream.send(b"x")


def test_the_versions_offered_are_what_the_script_says() -> None:
    broker = ScriptedBroker(versions={ApiKey.HEARTBEAT: (1, 2)})
    row = ApiVersion(api_key=ApiKey.HEARTBEAT, min_version=1, max_version=2)
    assert broker.api_versions().api_keys == (row,)


# -- several brokers -----------------------------------------------------------------------------


async def test_a_cluster_routes_by_address() -> None:
    cluster = ScriptedCluster(2)
    cluster.broker(2).on(HeartbeatRequest, OK)
    stream = await cluster("broker-2", 9092)
    await stream.send(encode_request(BEAT, 4, 7, None))
    assert cluster.broker(2).requests(HeartbeatRequest) == [BEAT]
    with pytest.raises(OSError, match="not known"):
        await cluster("elsewhere", 9092)


def test_a_cluster_describes_its_topics_as_they_are_now() -> None:
    cluster = ScriptedCluster(2, topics={"orders": 2})
    request = MetadataRequest(topics=(MetadataRequestTopic(name="orders"),))
    cluster.move_leader(TopicPartition("orders", 0), 2)
    (topic,) = cluster.metadata(request).topics
    assert [(row.leader_id, row.leader_epoch) for row in topic.partitions] == [(2, 1), (2, 0)]
    before = topic.topic_id
    cluster.add_topic("orders", 1)
    assert cluster.metadata(request).topics[0].topic_id != before


def test_a_cluster_names_its_coordinator_in_either_layout() -> None:
    cluster = ScriptedCluster(2)
    cluster.coordinator = 2
    new = cluster.find_coordinator(FindCoordinatorRequest(coordinator_keys=("g",)))
    old = cluster.find_coordinator(FindCoordinatorRequest(key="g"))
    assert (new.coordinators[0].node_id, old.node_id) == (2, 2)
