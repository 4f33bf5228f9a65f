"""Two administrators of one group at one time: the work of each is done whole, or not at all."""

from collections.abc import Callable, Mapping

import anyio
import pytest

from kgroup import GroupError, KGroupError
from kgroup.codes import ErrorCode
from kgroup.marshal.messages import Kind, Message, decode
from kgroup.marshal.plan import coordination_partition
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_wall
from kgroup.types import TopicPartition
from kgroup.wire.messages import ProduceRequest
from tests.consumer.marshal.stage import LOG, Writer, admin_of, claims_of_two_topics

pytestmark = pytest.mark.anyio

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
FORTY = dict.fromkeys((T0, T1, U0), 40)
SEVENTY = dict.fromkeys((T0, T1, U0), 70)
FULL = ErrorCode.POLICY_VIOLATION


def committed(broker: InProcessBroker) -> dict[TopicPartition, int]:
    return {tp: each.offset for tp, each in broker.group("g").offsets.items()}


@pytest.mark.parametrize("later", [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 5.0])
async def test_positions_that_two_set_at_once_are_those_of_one_of_them(later: float) -> None:
    broker, left = claims_of_two_topics(2, 1), dict[int, str]()

    async def work(asked: Mapping[TopicPartition, int], after: float) -> None:
        await anyio.sleep(after)
        try:
            reasons = await admin_of(broker).set_positions(asked)
        except KGroupError as error:
            left[asked[T0]] = str(error)
        else:
            left[asked[T0]] = "".join(reasons.values())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work, FORTY, 0.0)
        tasks.start_soon(work, SEVENTY, later)
    logged = await admin_of(broker).positions(FORTY)
    done = [offset for offset, reason in left.items() if not reason]
    if done:
        assert set(logged.values()) == {done[-1]}, "the one that ended last, if both did"
        assert committed(broker) == logged
    else:
        assert set(logged.values()) <= {None, 0}
    for reason in left.values():
        assert not reason or "is paused by 'kgroup-admin-" in reason
    assert await admin_of(broker).owners() == {}


async def test_an_administrator_goes_on_under_its_own_pause_and_no_other_does() -> None:
    broker = claims_of_two_topics(2, 1)
    one, other = admin_of(broker), admin_of(broker)
    await one.pause(600)
    with pytest.raises(GroupError, match="is paused by 'kgroup-admin-"):
        await other.set_positions(SEVENTY)
    with pytest.raises(GroupError, match="go on under it"):
        await other.release(patience=1.0)
    assert await one.set_positions(FORTY) == {}
    assert await other.resume()
    assert await other.set_positions(SEVENTY) == {}
    assert committed(broker) == SEVENTY


async def test_an_administrator_goes_on_under_a_pause_of_its_name() -> None:
    broker = claims_of_two_topics(2, 1)
    await admin_of(broker, name="night-shift").pause(600)
    assert await admin_of(broker, name="night-shift").set_positions(FORTY) == {}


async def test_an_administrator_that_gives_up_leaves_another_pause_alone() -> None:
    """1. One sets positions, and waits; 2. another pauses the group; 3. the first gives up."""
    broker, left = claims_of_two_topics(2, 1), dict[TopicPartition, str]()
    Writer(broker.partition(LOG, place_of("t")), now=virtual_wall).claim()
    one, other = admin_of(broker), admin_of(broker, name="other")
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            left.update(await one.set_positions(FORTY, patience=30.0))

        tasks.start_soon(work)
        await anyio.sleep(3.0)
        await other.pause(600)
    assert set(left) == set(FORTY)
    assert all("is paused by 'other'" in reason for reason in left.values())
    assert [last_pause(broker, place_of(topic)) for topic in "tu"] == [b"other", b"other"]
    assert anyio.current_time() < 10.0, "at once, not when its patience is over"


async def test_release_gives_up_when_another_administrator_pauses_the_group() -> None:
    broker = claims_of_two_topics(2, 1)
    Writer(broker.partition(LOG, place_of("t")), now=virtual_wall).claim()
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            with pytest.raises(GroupError, match="is paused by 'other'"):
                await admin_of(broker).release(patience=100.0)

        tasks.start_soon(work)
        await anyio.sleep(3.0)
        await admin_of(broker, name="other").pause(40)
    assert [last_pause(broker, place_of(topic)) for topic in "tu"] == [b"other", b"other"]
    assert anyio.current_time() < 10.0


async def test_a_pause_of_before_goes_on_where_it_was_and_no_longer_than_it_would_have() -> None:
    """1. One topic is paused; 2. under that pause positions of another are set, too."""
    broker = claims_of_two_topics(2, 1)
    admin = admin_of(broker)
    await admin.pause(600, ["t"])
    await anyio.sleep(200.0)
    assert await admin.set_positions(FORTY) == {}
    assert await admin.release() == {}
    before, *_, after = pauses(broker, place_of("t"))
    assert after.tail == pytest.approx(before.tail, abs=3)
    ended = pauses(broker, place_of("u"))[-1]
    assert ended.tail <= ended.time


async def test_a_pause_that_does_not_come_to_stand_everywhere_is_left_nowhere() -> None:
    broker, said = claims_of_two_topics(2, 1), list[str]()
    broker.answers.error(ProduceRequest, FULL, where=is_about(place_of("u")), times=None)
    with pytest.raises(KGroupError):
        await admin_of(broker, say=said.append).pause(600)
    ended = pauses(broker, place_of("t"))[-1]
    assert ended.tail <= ended.time
    assert pauses(broker, place_of("u")) == []
    assert any("whether the pause has ended is not known" in line for line in said)


async def test_a_pause_that_is_refused_leaves_that_of_before_as_it_was() -> None:
    broker = claims_of_two_topics(2, 1)
    admin = admin_of(broker)
    await admin.pause(600, ["t"])
    broker.answers.error(ProduceRequest, FULL, where=is_about(place_of("u")), times=None)
    with pytest.raises(KGroupError):
        await admin.pause(60)
    before, *_, after = pauses(broker, place_of("t"))
    assert after.tail == pytest.approx(before.tail, abs=3)


def place_of(topic: str) -> int:
    return coordination_partition(topic, 3)


def pauses(broker: InProcessBroker, number: int) -> list[Message]:
    """Return the pauses, and ends of pauses, in a coordination partition."""
    read = (decode(record.value or b"") for record in broker.partition(LOG, number).records())
    return [each for each in read if isinstance(each, Message) and each.kind is Kind.RELEASE_GROUP]


def last_pause(broker: InProcessBroker, number: int) -> bytes | None:
    """Return the client that last wrote or ended a pause in a coordination partition."""
    found = pauses(broker, number)
    return found[-1].client_id if found else None


def is_about(number: int) -> Callable[[ProduceRequest], bool]:
    """Return what tells whether a write is about a coordination partition."""

    def tell(request: ProduceRequest) -> bool:
        return any(
            each.index == number for topic in request.topic_data for each in topic.partition_data
        )

    return tell
