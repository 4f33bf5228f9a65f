"""`kgroup.MarshalAdmin`: the verbs of `kgroup marshal` for programs."""

import itertools
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import anyio
import pytest

from kgroup import ArgumentError, ConfigError, GroupError, MarshalAdmin, NoBrokerError
from kgroup.errors import CoordinationTopicError, IllegalStateError
from kgroup.marshal.messages import Message, decode
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.virtual_time import virtual_ports, virtual_wall
from kgroup.types import TopicPartition
from kgroup.wire.messages import ProduceRequest
from kgroup.wire.records import iter_batches
from tests.consumer.ground import fill
from tests.consumer.marshal.crew import crew, until
from tests.consumer.marshal.stage import LOG, Writer, admin_of, coordinated

pytestmark = pytest.mark.anyio

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)

Call = Callable[[], Coroutine[Any, Any, object]]


def laid() -> InProcessBroker:
    broker = coordinated(t=2)
    for tp in (T0, T1):
        fill(broker, tp, 100)
    return broker


async def test_a_coordination_topic_is_made_once() -> None:
    settings = BrokerSettings(auto_create_topics=False)
    broker = InProcessBroker(nodes=1, topics={"t": 1}, settings=settings)
    admin = admin_of(broker)
    with pytest.raises(CoordinationTopicError):
        await admin.owners()
    warnings = await admin.init(partitions=3)
    assert any("replica" in text for text in warnings), "there is one broker only"
    assert await admin.init(partitions=7) == warnings
    assert [broker.partition(LOG, number).records() for number in range(3)] == [[], [], []]
    assert await admin.owners() == {}


@pytest.mark.slow
async def test_a_pause_takes_all_from_their_owners_until_it_is_ended() -> None:
    async with crew(10) as group:
        alone, admin = group.enter(), admin_of(group.broker)
        await until(lambda: alone.has == [0])
        ((tp, owner),) = (await admin.owners()).items()
        assert tp == T0
        assert owner.count("/") == 1
        assert await admin.owners(["other"]) == {}
        await admin.pause(600)
        await until(lambda: alone.has == [], within=5.0)
        assert await admin.owners() == {}
        assert await admin.resume()
        await until(lambda: alone.has == [0], within=20.0)
        assert not await admin.resume()


async def test_release_names_members_that_keep_their_partitions() -> None:
    broker = laid()
    Writer(broker.partition(LOG), now=virtual_wall).claim()
    assert await admin_of(broker).release(patience=2.0) == {T0: "A/i1"}


async def test_positions_are_set_and_read() -> None:
    broker, said = laid(), list[str]()
    admin = admin_of(broker, say=said.append)
    assert await admin.positions([T0, T1]) == {T0: None, T1: None}
    assert await admin.set_positions({T0: 42, T1: 0}) == {}
    assert await admin.positions([T0, T1]) == {T0: 42, T1: 0}
    assert said == ["group g is paused"]


async def test_errors_come_out_by_their_own_names() -> None:
    broker = laid()
    admin = admin_of(broker)
    for wrong in ({}, {T0: 101}, {TopicPartition("t", 9): 1}):
        with pytest.raises(ArgumentError):
            await admin.set_positions(wrong)
    Writer(broker.partition(LOG), "go", headerless=True, now=virtual_wall).claim()
    with pytest.raises(GroupError, match="original library"):
        await admin.pause(60)
    with pytest.raises(NoBrokerError):
        await MarshalAdmin(
            bootstrap_servers="nowhere:1", group_id="g", ports=virtual_ports(broker.dial)
        ).owners()
    assert len(broker.partition(LOG).records()) == 1


async def test_a_cancelled_pause_is_cancelled() -> None:
    broker = laid()
    with anyio.move_on_after(20.0) as scope:
        await admin_of(broker).pause(4000)
    assert scope.cancelled_caught
    assert anyio.current_time() < 30.0


def written_by(admin: MarshalAdmin) -> dict[str, Call]:
    """Return its calls that write for the group."""
    return {
        "pause": lambda: admin.pause(4000),
        "resume": admin.resume,
        "release": lambda: admin.release(patience=1.0),
        "set_positions": lambda: admin.set_positions({T0: 40}, patience=10.0),
    }


VERBS = ("pause", "resume", "release", "set_positions")


@pytest.mark.parametrize(
    ("first", "second"),
    [pair for pair in itertools.product(VERBS, VERBS) if pair != ("pause", "resume")],
)
async def test_of_two_calls_that_write_at_one_time_the_second_is_refused_by_both_names(
    first: str, second: str
) -> None:
    broker = laid()
    broker.node(1).slow(0.01)
    admin = admin_of(broker)
    verbs, began = written_by(admin), anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(verbs[first])
        await anyio.sleep(0.001)
        with pytest.raises(IllegalStateError, match=rf"^{second}\(\) while {first}\(\)"):
            await verbs[second]()
        assert anyio.current_time() - began < 1.0
        tasks.cancel_scope.cancel()
    await admin.resume()  # the call that was cancelled is not at work any more


async def test_a_pause_that_is_kept_up_is_ended_by_the_same_administrator() -> None:
    admin = admin_of(laid())
    errors: list[Exception] = []

    async def keep() -> None:
        try:
            await admin.pause(4000)
        except GroupError as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep)
        await anyio.sleep(10)
        with pytest.raises(IllegalStateError):
            await admin.release()
        assert await admin.resume()
    assert "was ended" in str(errors[0])
    assert not await admin.resume()


def ends_a_pause(asked: ProduceRequest) -> bool:
    rows = [row for topic in asked.topic_data for row in topic.partition_data]
    batches = [batch for row in rows for batch in iter_batches(row.records or b"")]
    values = [value for batch in batches for value in batch.columns().values()]
    written = [decode(bytes(value or b"")) for value in values]
    return any(isinstance(one, Message) and one.tail == one.time for one in written)


async def test_the_end_of_a_pause_ends_no_later_pause_by_the_same_name() -> None:
    """1. A pause is kept up; 2. it is to be ended, which takes a while; 3. its own call is left;
    4. the next one pauses the group, and succeeds; 5. the end would come behind that."""
    broker, paused = laid(), list[bool]()
    admin = admin_of(broker)
    end = broker.answers.hold_request(ProduceRequest, where=ends_a_pause)
    async with anyio.create_task_group() as ending:
        async with anyio.create_task_group() as keeping:
            keeping.start_soon(admin.pause, 4000)
            await anyio.sleep(10)
            ending.start_soon(admin.resume)
            await anyio.sleep(1)
            keeping.cancel_scope.cancel()
        with suppress(IllegalStateError):
            await admin.pause(600)
            paused.append(True)
        end.release()
    assert end.count == 1
    assert await admin.resume() is bool(paused), "a pause whose call succeeded lasts"


@pytest.mark.parametrize("later", VERBS)
async def test_resume_counts_as_running_after_its_pause_was_cancelled(later: str) -> None:
    broker, ended = laid(), list[bool]()
    broker.node(1).slow(0.1)
    admin = admin_of(broker)
    verbs = written_by(admin)

    async def end() -> None:
        ended.append(await admin.resume())

    async with anyio.create_task_group() as ending:
        async with anyio.create_task_group() as keeping:
            keeping.start_soon(verbs["pause"])
            await anyio.sleep(10)
            ending.start_soon(end)
            await anyio.sleep(0.1)
            keeping.cancel_scope.cancel()
        with pytest.raises(IllegalStateError, match=rf"^{later}\(\) while resume\(\)"):
            await verbs[later]()
    assert ended == [True]
    assert await admin.set_positions({T0: 40}) == {}


async def test_a_pause_that_is_kept_up_may_be_ended_by_several() -> None:
    broker, ended = laid(), list[bool]()
    broker.node(1).slow(0.1)
    admin = admin_of(broker)

    async def keep() -> None:
        with pytest.raises(GroupError, match="was ended"):
            await admin.pause(4000)

    async def end() -> None:
        ended.append(await admin.resume())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep)
        await anyio.sleep(10)
        tasks.start_soon(end)
        tasks.start_soon(end)
    assert ended == [True, True]
    assert await admin.set_positions({T0: 40}) == {}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"group_id": None}, ConfigError),
        ({"group_id": "a/b"}, ArgumentError),
        ({"name": ""}, ArgumentError),
        ({"timeout": 0.0}, ArgumentError),
        ({"timeout": float("nan")}, ArgumentError),
        ({"colour": "red"}, ConfigError),
    ],
)
def test_bad_options_are_refused_at_once(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        MarshalAdmin(**{"group_id": "g", **options})


async def repeat(call: Call) -> None:
    """Repeat a call, and ignore refusals."""
    for _ in range(50):
        with suppress(ArgumentError, IllegalStateError):
            await call()


async def test_a_call_that_is_refused_at_once_can_be_cancelled_in_a_loop_that_ignores_it() -> None:
    broker = laid()
    admin = admin_of(broker)
    calls: dict[str, Call] = {
        "init": lambda: admin.init(partitions=0),
        "pause": lambda: admin.pause(0),
        "set_positions": lambda: admin.set_positions({T0: 40}, pause=0),
        "release": admin.release,
    }
    goes_on = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(admin.pause, 4000)
        await anyio.sleep(10)
        for name, call in calls.items():
            with anyio.move_on_after(0) as scope:
                await repeat(call)
            if not scope.cancelled_caught:
                goes_on.append(name)
        tasks.cancel_scope.cancel()
    assert goes_on == []


async def test_an_impossible_length_is_refused_before_anybody_is_asked() -> None:
    admin = MarshalAdmin(group_id="g")
    with pytest.raises(ArgumentError, match="pause"):
        await admin.pause(0)
    with pytest.raises(ArgumentError, match="partitions"):
        await admin.init(partitions=0)
