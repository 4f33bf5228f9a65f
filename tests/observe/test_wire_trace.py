from typing import Any

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    ConnectionClosed,
    ConnectionOpened,
    MemorySink,
    RequestSent,
)
from kgroup.net.endpoint import Endpoint, Lane
from kgroup.net.trace import ConnectionId, Exchange, Trace
from kgroup.observe.wire_trace import WireTrace
from kgroup.wire.messages import (
    FetchRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    MetadataResponse,
    OffsetCommitRequest,
)
from kgroup.wire.schema import Request

BEAT = HeartbeatRequest(group_id="g", generation_id=5, member_id="m", group_instance_id="i")
JOIN = JoinGroupRequest(
    group_id="g", session_timeout_ms=6000, member_id="", protocol_type="consumer", protocols=()
)
CONNECTION = ConnectionId(3, Endpoint(1, "broker", 9092), Lane.HEARTBEAT)


def exchange(request: Request[Any]) -> Exchange:
    return Exchange(CONNECTION, correlation_id=7, version=4, request=request)


def sent(request: Request[Any]) -> RequestSent:
    sink = MemorySink()
    trace: Trace = WireTrace(sink)
    trace.on_request(exchange(request))
    (event,) = sink.events
    assert isinstance(event, RequestSent)
    return event


def test_a_connection_is_told_from_its_opening_to_its_end():
    sink = MemorySink()
    trace = WireTrace(sink)
    trace.on_open(CONNECTION)
    trace.on_close(CONNECTION, "reset by peer")
    assert sink.events == [
        ConnectionOpened(connection=3, address="broker:9092", node_id=1, lane="heartbeat"),
        ConnectionClosed(connection=3, reason="reset by peer"),
    ]


def test_a_heartbeat_names_the_identity_it_is_sent_under():
    assert sent(BEAT) == RequestSent(
        connection=3,
        correlation_id=7,
        api=ApiKey.HEARTBEAT,
        version=4,
        generation_id=5,
        member_id="m",
        group_instance_id="i",
    )


@pytest.mark.parametrize(
    ("request_", "generation_id", "member_id"),
    [
        (OffsetCommitRequest(group_id="g", topics=()), -1, ""),
        (
            OffsetCommitRequest(
                group_id="g", generation_id_or_member_epoch=4, member_id="m", topics=()
            ),
            4,
            "m",
        ),
        (JOIN, None, ""),
        (FetchRequest(max_wait_ms=1, min_bytes=1, topics=()), None, None),
    ],
)
def test_what_is_kept_is_what_was_sent(request_, generation_id, member_id):
    event = sent(request_)
    assert (event.generation_id, event.member_id) == (generation_id, member_id)


def test_an_answer_keeps_its_error_and_identity():
    sink = MemorySink()
    trace = WireTrace(sink)
    trace.on_answer(exchange(BEAT), HeartbeatResponse(error_code=27))
    trace.on_answer(
        exchange(JOIN),
        JoinGroupResponse(
            generation_id=2, member_id="m", leader="l", protocol_name="range", members=()
        ),
    )
    beat, join = sink.events
    assert isinstance(beat, AnswerReceived)
    assert isinstance(join, AnswerReceived)
    assert (beat.error, beat.generation_id) == (27, None)
    assert (join.error, join.generation_id, join.member_id, join.leader) == (0, 2, "m", "l")


def test_an_entry_that_was_not_believed_leaves_no_line():
    sink = MemorySink()
    WireTrace(sink).on_rejected("node 7")
    assert sink.events == []
    WireTrace(sink).on_answer(exchange(BEAT), MetadataResponse(brokers=(), topics=()))
    assert len(sink.events) == 1
