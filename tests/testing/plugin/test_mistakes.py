"""Mistakes that users make with a broker, each with an error that names the way out."""

from collections.abc import Callable
from typing import Any

import pytest

from kgroup import Consumer
from kgroup.codes import ErrorCode
from kgroup.errors import CommitFailedError
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend, virtual_ports
from kgroup.types import TopicPartition
from kgroup.wire.messages import HeartbeatResponse, OffsetCommitRequest


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


def member(broker: InProcessBroker, name: str, **options: Any) -> Consumer[Any, Any]:
    return Consumer(
        "orders",
        group_id="g",
        client_id=name,
        bootstrap_servers=broker.bootstrap_servers,
        ports=virtual_ports(broker.dial),
        **options,
    )


# -- waiting -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_wait_in_vain_says_how_things_stand() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    async with member(broker, "A"):
        await broker.until(broker.group("g").has_settled)
        broker.group("g").commit({("orders", 0): 7})
        with pytest.raises(TimeoutError) as caught:
            await broker.until(lambda: False, timeout=4)
    text, group, asked = str(caught.value).splitlines()
    assert text == "waited 4 s in vain"
    assert group == (
        "group 'g' is Stable in generation 1; members: 'A' has ['orders-0']; "
        "committed: {'orders-0': 7}"
    )
    assert asked.startswith("asked last: ")
    assert "HeartbeatRequest of 'A' to broker 1, " in asked


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_wait_in_vain_says_what_was_refused() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    broker.answers.error(OffsetCommitRequest, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    async with member(broker, "A", enable_auto_commit=False) as consumer:
        await broker.until(broker.group("g").has_settled)
        with pytest.raises(CommitFailedError):
            await consumer.commit({TopicPartition("orders", 0): 1})
        with pytest.raises(TimeoutError) as caught:
            await broker.until(lambda: False, timeout=1)
    assert str(caught.value).splitlines()[-1] == (
        "refused last: OffsetCommitRequest of 'A' by broker 1, 1 s ago: "
        "OFFSET_METADATA_TOO_LARGE (12)"
    )


@pytest.mark.anyio
async def test_a_wait_for_a_client_that_never_came_says_so() -> None:
    with pytest.raises(TimeoutError, match="no group exists\nasked last: nothing, so no client"):
        await InProcessBroker().until(lambda: False, timeout=1)


@pytest.mark.anyio
async def test_a_wait_wants_a_function_and_not_its_answer() -> None:
    wrong: Any = True
    with pytest.raises(TypeError, match=r"such as `lambda: .*`, not True"):
        await InProcessBroker().until(wrong)


@pytest.mark.anyio
async def test_a_wait_wants_a_plain_function() -> None:
    async def is_so() -> bool:
        return False

    with pytest.raises(TypeError, match="is async, so its answer is always true"):
        await InProcessBroker().until(is_so)


@pytest.mark.anyio
async def test_a_blocking_wait_in_an_async_test_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"await broker\.until"):
        InProcessBroker().wait_until(lambda: False)


def test_a_blocking_wait_for_a_cluster_that_is_not_served_is_refused() -> None:
    broker = InProcessBroker()
    broker.wait_until(lambda: True)
    with pytest.raises(RuntimeError, match=r"not served.*with broker\.serve\(\):"):
        broker.wait_until(lambda: False)


def test_a_blocking_wait_leaves_the_processor_to_others() -> None:
    """Looking at a handle counts as a change; a wait that heard its own looks would never rest."""
    broker = InProcessBroker()
    looks = 0

    def never() -> bool:
        nonlocal looks
        looks += 1
        return broker.group("g").state == "Stable"

    with broker.serve(), pytest.raises(TimeoutError):
        broker.wait_until(never, timeout=0.2)
    assert looks < 40


def test_a_blocking_wait_ends_in_time() -> None:
    broker = InProcessBroker()
    with broker.serve(), pytest.raises(TimeoutError, match=r"waited 0\.01 s in vain"):
        broker.wait_until(lambda: False, timeout=0.01)


# -- naming what is not there ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda broker: broker.partition("bills"), r"no partition bills-0; .*create_topic\(\)"),
        (lambda broker: broker.partition("orders", 9), "no partition orders-9; .*'orders': 1"),
        (lambda broker: broker.node(2), "no broker 2; there are 1 to 1"),
        (lambda broker: broker.node(None), "nobody leads or coordinates it now"),
        (lambda broker: broker.group("h").expire("A"), r"no group 'h' yet; .*has_settled"),
        (lambda broker: broker.group("h").member("A"), r"no group 'h' yet; .*has_settled"),
        (lambda broker: broker.group("h").move(), "nowhere to move: .*kgroup_cluster"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(
    wrong: Callable[[InProcessBroker], object], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        wrong(InProcessBroker(topics={"orders": 1}))


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_missing_or_ambiguous_member_is_an_error() -> None:
    broker = InProcessBroker(topics={"orders": 2})
    group = broker.group("g")
    async with member(broker, "A"), member(broker, "A", group_instance_id="till"):
        await broker.until(lambda: group.has_settled(members=2), timeout=20)
        assert len(group.member("till").partitions) == 1
        with pytest.raises(ValueError, match="no member 'B'; ids and clients:"):
            group.member("B")
        with pytest.raises(ValueError, match="2 members of group 'g' are called 'A'; give each"):
            group.member("A")


@pytest.mark.parametrize("wrong", [HeartbeatResponse, "Heartbeat", None])
def test_a_rule_is_for_a_class_of_requests(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"a class of kgroup\.testing\.requests, such as"):
        InProcessBroker().answers.lose(wrong)


def test_an_error_is_a_number() -> None:
    wrong: Any = "UNKNOWN_MEMBER_ID"
    with pytest.raises(TypeError, match=r"such as ErrorCode\.UNKNOWN_MEMBER_ID, not 'UNKNOWN"):
        InProcessBroker().answers.error(OffsetCommitRequest, wrong)


def test_offsets_are_of_partitions() -> None:
    wrong: Any = {"orders": 7}
    with pytest.raises(TypeError, match=r"such as {\('orders', 0\): 7}, not of 'orders'"):
        InProcessBroker(topics={"orders": 1}).group("g").commit(wrong)


# -- in the wrong place ------------------------------------------------------------------------


@pytest.mark.anyio
async def test_memory_is_closed_while_sockets_are_served() -> None:
    broker = InProcessBroker()
    with broker.serve(), pytest.raises(RuntimeError, match=r"bootstrap_servers`, without `ports="):
        await broker.dial(*broker.bootstrap[0])


def test_a_cluster_is_served_once_at_a_time() -> None:
    broker = InProcessBroker()
    with broker.serve(), pytest.raises(RuntimeError, match="served on sockets already"):
        broker.serve().__enter__()


@pytest.mark.anyio
async def test_a_broker_that_is_down_refuses_and_its_partitions_have_no_leader() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    broker.node(1).stop()
    with pytest.raises(ConnectionRefusedError, match="refuses connections"):
        await broker.dial(*broker.bootstrap[0])
    with pytest.raises(ValueError, match="nobody leads orders-0"):
        broker.partition("orders").append("tea")
