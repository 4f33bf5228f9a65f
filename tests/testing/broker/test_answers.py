"""What can go wrong with requests and answers on the way, seen by a client that counts bytes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream

from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    InitProducerIdRequest,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kgroup.wire.schema import Request, replace

pytestmark = pytest.mark.anyio

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
PRODUCER = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
COMMIT = OffsetCommitRequest(
    group_id="g",
    topics=(
        OffsetCommitRequestTopic(
            name="orders",
            partitions=(
                OffsetCommitRequestPartition(
                    partition_index=0, committed_offset=5, committed_metadata=""
                ),
            ),
        ),
    ),
)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


@pytest.fixture
def broker() -> InProcessBroker:
    return InProcessBroker(nodes=2, topics={"orders": 1})


class Client:
    """A client of one connection, which numbers its requests from 1."""

    def __init__(self, stream: ByteStream, name: str) -> None:
        self._stream = stream
        self._name = name
        self._splitter = FrameSplitter()
        self._frames: list[memoryview] = []
        self._asked: dict[int, tuple[type[Request[Any]], int]] = {}

    async def ask(self, *requests: Request[Any]) -> None:
        for request in requests:
            number, version = len(self._asked) + 1, min(3, request.VERSIONS[-1])
            self._asked[number] = type(request), version
            await self._stream.send(encode_request(request, version, number, self._name))

    async def next(self) -> tuple[int, Any]:
        """Return the number and the message of the next answer."""
        while not self._frames:
            self._frames += self._splitter.feed(await self._stream.receive())
        frame = self._frames.pop(0)
        number = int.from_bytes(frame[:4], "big")
        return decode_response(*self._asked[number], frame)

    async def numbers(self, seconds: float = 60) -> list[int]:
        """Return the numbers of the answers that come within some time."""
        got = []
        with anyio.move_on_after(seconds):
            while True:
                got.append((await self.next())[0])
        return got

    async def rest(self) -> bytes:
        """Return what arrives until the broker closes the connection."""
        return b"".join([data async for data in self._stream])


@asynccontextmanager
async def client(broker: InProcessBroker, name: str = "A", node: int = 1) -> AsyncIterator[Client]:
    stream = await broker.dial(*broker.node(node).address)
    async with stream:
        yield Client(stream, name)


def offsets(broker: InProcessBroker) -> list[int]:
    return [each.offset for each in broker.group("g").offsets.values()]


def home(broker: InProcessBroker) -> int:
    coordinator = broker.group("g").coordinator
    assert coordinator is not None
    return coordinator


# -- before the broker sees the request --------------------------------------------------------


async def test_an_ignored_request_has_no_effect_and_no_answer(broker: InProcessBroker) -> None:
    broker.answers.ignore(OffsetCommitRequest)
    async with client(broker, node=home(broker)) as asking:
        await asking.ask(COMMIT, BEAT)
        assert await asking.numbers() == [2]
    assert offsets(broker) == []


async def test_an_error_is_answered_in_every_row_and_nothing_is_done(
    broker: InProcessBroker,
) -> None:
    broker.answers.error(OffsetCommitRequest, ErrorCode.REBALANCE_IN_PROGRESS)
    async with client(broker, node=home(broker)) as asking:
        await asking.ask(COMMIT)
        _, answer = await asking.next()
    assert [(t.name, [p.error_code for p in t.partitions]) for t in answer.topics] == [
        ("orders", [27])
    ]
    assert offsets(broker) == []


async def test_metadata_with_an_error_still_names_the_brokers(broker: InProcessBroker) -> None:
    broker.answers.error(MetadataRequest, ErrorCode.LEADER_NOT_AVAILABLE)
    async with client(broker) as asking:
        await asking.ask(MetadataRequest(topics=(MetadataRequestTopic(name="orders"),)))
        _, answer = await asking.next()
    assert [each.node_id for each in answer.brokers] == [1, 2]
    assert [(each.name, each.error_code) for each in answer.topics] == [("orders", 5)]


# -- after its effect --------------------------------------------------------------------------


async def test_a_lost_answer_lets_the_next_one_through_and_its_effect_stands(
    broker: InProcessBroker,
) -> None:
    lost = broker.answers.lose(OffsetCommitRequest)
    async with client(broker, node=home(broker)) as asking:
        await asking.ask(COMMIT, BEAT)
        assert await asking.numbers() == [2]
    assert (offsets(broker), lost.count) == ([5], 1)


async def test_a_held_answer_holds_up_those_behind_it(broker: InProcessBroker) -> None:
    held = broker.answers.hold(OffsetCommitRequest)
    async with client(broker, node=home(broker)) as asking:
        await asking.ask(COMMIT, BEAT)
        assert await asking.numbers(30) == []
        assert isinstance(held.asked, OffsetCommitRequest)
        held.release()
        assert await asking.numbers(30) == [1, 2]
    assert offsets(broker) == [5]


async def test_a_held_answer_can_be_lost(broker: InProcessBroker) -> None:
    held = broker.answers.hold(HeartbeatRequest)
    async with client(broker) as asking:
        await asking.ask(BEAT, PRODUCER)
        held.lose()
        assert await asking.numbers() == [2]


async def test_a_delayed_answer_is_late_to_the_moment_with_those_behind_it(
    broker: InProcessBroker,
) -> None:
    broker.answers.delay(HeartbeatRequest, 2.5)
    async with client(broker) as asking:
        await asking.ask(BEAT, PRODUCER)
        for number in (1, 2):
            assert (await asking.next())[0] == number
            assert anyio.current_time() == pytest.approx(2.5, abs=1e-6)


async def test_a_doubled_answer_comes_twice_under_one_number(broker: InProcessBroker) -> None:
    broker.answers.duplicate(HeartbeatRequest)
    async with client(broker) as asking:
        await asking.ask(BEAT, PRODUCER)
        assert await asking.numbers() == [1, 1, 2]


async def test_a_message_can_be_rewritten(broker: InProcessBroker) -> None:
    def later(request: HeartbeatRequest, answer: HeartbeatResponse) -> HeartbeatResponse:
        assert request == BEAT
        return replace(answer, throttle_time_ms=77)

    broker.answers.rewrite(HeartbeatRequest, later)
    async with client(broker) as asking:
        await asking.ask(BEAT)
        assert (await asking.next())[1].throttle_time_ms == 77


async def test_bytes_can_be_rewritten(broker: InProcessBroker) -> None:
    broker.answers.rewrite_bytes(HeartbeatRequest, lambda frame: frame[:-1] + b"\x1b")
    async with client(broker) as asking:
        await asking.ask(BEAT)
        assert (await asking.next())[1].error_code == 27


async def test_a_cut_answer_ends_the_connection_in_its_middle(broker: InProcessBroker) -> None:
    broker.answers.cut(HeartbeatRequest, after=6)
    async with client(broker) as asking:
        await asking.ask(BEAT, PRODUCER)
        assert await asking.rest() == b"\0\0\0\x0a\0\0"


async def test_a_broker_that_hangs_up_has_done_what_was_asked(broker: InProcessBroker) -> None:
    broker.answers.hang_up(OffsetCommitRequest)
    async with client(broker, node=home(broker)) as asking:
        await asking.ask(COMMIT, BEAT)
        assert await asking.rest() == b""
    assert offsets(broker) == [5]


# -- which rule --------------------------------------------------------------------------------


async def test_a_rule_acts_once_without_times(broker: InProcessBroker) -> None:
    broker.answers.lose(HeartbeatRequest)
    twice = broker.answers.lose(InitProducerIdRequest, times=2)
    always = broker.answers.lose(FindCoordinatorRequest, times=None)
    find = FindCoordinatorRequest(key="g")
    async with client(broker) as asking:
        await asking.ask(BEAT, BEAT, PRODUCER, PRODUCER, PRODUCER, find, find, find)
        assert await asking.numbers() == [2, 5]
        always.cancel()
        await asking.ask(find)
        assert await asking.numbers() == [9]
    assert (twice.count, always.count) == (2, 3)


async def test_a_rule_can_be_for_one_client_one_broker_or_one_kind_of_request(
    broker: InProcessBroker,
) -> None:
    broker.answers.lose(HeartbeatRequest, client_id="B", times=None)
    broker.answers.lose(InitProducerIdRequest, node=2, times=None)
    broker.answers.lose(
        FindCoordinatorRequest, where=lambda asked: asked.key == "other", times=None
    )
    find, other = FindCoordinatorRequest(key="g"), FindCoordinatorRequest(key="other")
    requests = (BEAT, PRODUCER, find, other)
    async with client(broker) as first, client(broker, "B", node=2) as second:
        await first.ask(*requests)
        await second.ask(*requests)
        assert await first.numbers() == [1, 2, 3]
        assert await second.numbers() == [3]


async def test_the_first_rule_that_fits_acts_alone(broker: InProcessBroker) -> None:
    first, second = (broker.answers.lose(HeartbeatRequest, times=1) for _ in range(2))
    async with client(broker) as asking:
        await asking.ask(BEAT)
        assert (await asking.numbers(), first.count, second.count) == ([], 1, 0)
        await asking.ask(BEAT)
        assert (await asking.numbers(), first.count, second.count) == ([], 1, 1)


async def test_any_request_may_be_meant(broker: InProcessBroker) -> None:
    broker.answers.lose(Request, times=3)
    async with client(broker) as asking:
        await asking.ask(BEAT, PRODUCER, BEAT, PRODUCER)
        assert await asking.numbers() == [4]


async def test_clearing_the_rules_lets_everything_go(broker: InProcessBroker) -> None:
    broker.answers.hold(HeartbeatRequest)
    broker.answers.lose(InitProducerIdRequest, times=None)
    async with client(broker) as asking:
        await asking.ask(BEAT)
        broker.answers.clear()
        await asking.ask(PRODUCER)
        assert await asking.numbers() == [1, 2]


# -- brokers -----------------------------------------------------------------------------------


async def test_every_answer_of_a_slow_broker_is_late(broker: InProcessBroker) -> None:
    broker.node(2).slow(1.5)
    async with client(broker, node=1) as quick, client(broker, node=2) as slow:
        await quick.ask(BEAT)
        await slow.ask(BEAT)
        await quick.next()
        assert anyio.current_time() == pytest.approx(0, abs=1e-6)
        await slow.next()
        assert anyio.current_time() == pytest.approx(1.5, abs=1e-6)


async def test_a_killed_broker_resets_its_connections_and_refuses_new_ones(
    broker: InProcessBroker,
) -> None:
    async with client(broker) as asking:
        await asking.ask(BEAT)
        broker.node(1).kill()
        with pytest.raises(anyio.BrokenResourceError):
            await asking.next()
        with pytest.raises(ConnectionRefusedError, match="broker-1:9092"):
            await broker.dial("broker-1", 9092)
    broker.node(1).start()
    async with client(broker) as asking:
        await asking.ask(BEAT)
        assert await asking.numbers() == [1]


async def test_a_stopped_broker_sends_what_it_has_and_closes(broker: InProcessBroker) -> None:
    async with client(broker) as asking:
        await asking.ask(BEAT)
        broker.node(1).stop()
        assert len(await asking.rest()) == 14


async def test_a_stopped_broker_takes_held_answers_with_it(broker: InProcessBroker) -> None:
    held = broker.answers.hold(HeartbeatRequest)
    async with client(broker) as asking:
        await asking.ask(BEAT)
        broker.node(1).stop()
        assert await asking.rest() == b""
        held.release()


async def test_connections_of_one_client_can_be_reset(broker: InProcessBroker) -> None:
    async with client(broker, "A") as first, client(broker, "B") as second:
        await first.ask(BEAT)
        await second.ask(BEAT)
        await first.next()
        broker.node(1).disconnect("A")
        with pytest.raises(anyio.BrokenResourceError):
            await first.next()
        assert await second.numbers() == [1]


async def test_an_address_that_no_broker_has_refuses(broker: InProcessBroker) -> None:
    with pytest.raises(OSError, match=r"broker-9:9092"):
        await broker.dial("broker-9", 9092)


async def test_what_arrived_is_noted(broker: InProcessBroker) -> None:
    async with client(broker, "B", node=2) as asking:
        await anyio.sleep(3)
        await asking.ask(BEAT, PRODUCER)
    assert broker.requests_of(HeartbeatRequest) == [BEAT]
    seen = broker.requests[0]
    assert (seen.node_id, seen.client_id, seen.version) == (2, "B", 3)
    assert seen.at == pytest.approx(3, abs=1e-6)


async def test_a_held_request_arrives_late_with_those_behind_it(broker: InProcessBroker) -> None:
    held = broker.answers.hold_request(OffsetCommitRequest)
    async with client(broker, node=home(broker)) as asking:
        await asking.ask(COMMIT, BEAT)
        assert await asking.numbers(30) == []
        assert isinstance(held.asked, OffsetCommitRequest)
        assert offsets(broker) == []
        held.release()
        assert await asking.numbers(30) == [1, 2]
    assert offsets(broker) == [5]


async def test_a_held_request_is_gone_when_its_connection_is(broker: InProcessBroker) -> None:
    held = broker.answers.hold_request(OffsetCommitRequest)
    async with client(broker, node=home(broker)) as asking:
        await asking.ask(COMMIT)
    held.release()
    assert offsets(broker) == []


async def test_a_held_answer_can_become_a_refusal(broker: InProcessBroker) -> None:
    held = broker.answers.hold(HeartbeatRequest)
    async with client(broker) as asking:
        await asking.ask(BEAT)
        held.release(ErrorCode.ILLEGAL_GENERATION)
        _, answer = await asking.next()
    assert isinstance(answer, HeartbeatResponse)
    assert answer.error_code == ErrorCode.ILLEGAL_GENERATION
