"""`resume` while a pause begins: all coordination partitions are paused, or none."""

from collections.abc import Callable, Sequence

import anyio
import pytest

from kgroup import GroupError, KGroupError
from kgroup.marshal.messages import Kind, Message, decode
from kgroup.marshal.plan import coordination_partition
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_wall
from kgroup.types import TopicPartition
from kgroup.wire.messages import ProduceRequest
from kgroup.wire.records import iter_batches
from tests.consumer.marshal.stage import LOG, Writer, admin_of, claims_of_two_topics

pytestmark = pytest.mark.anyio

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
COUNT = 3
T, U = (coordination_partition(topic, COUNT) for topic in "tu")
(OTHER,) = set(range(COUNT)) - {T, U}


def laid_out(slow: Sequence[float] = (0.01, 0.01, 0.01)) -> InProcessBroker:
    return claims_of_two_topics(1, 1, nodes=3, slow=slow)


class Trial:
    """A pause and a `resume`, and what came of each.

    Args:
        broker: the Kafka.
        by_one: whether both are calls of one administrator.
    """

    def __init__(self, broker: InProcessBroker, *, by_one: bool = False) -> None:
        self.broker = broker
        self._pauser = admin_of(broker)
        self._resumer = self._pauser if by_one else admin_of(broker)
        self.paused: Exception | bool | None = None
        self.resumed: Exception | bool | None = None

    async def pause(self, seconds: float = 600) -> None:
        try:
            await self._pauser.pause(seconds)
        except (KGroupError, TimeoutError) as error:
            self.paused = error
        else:
            self.paused = True

    async def resume(self) -> None:
        try:
            self.resumed = await self._resumer.resume()
        except (KGroupError, TimeoutError) as error:
            self.resumed = error

    @property
    def paused_states(self) -> set[bool]:
        """Whether the group is paused: by one coordination partition, by another."""
        return {is_paused(self.broker, number) for number in range(COUNT)}


def written(value: bytes | None) -> Message | None:
    """Return the pause, or the end of one, in a record."""
    found = decode(value or b"")
    return found if isinstance(found, Message) and found.kind is Kind.RELEASE_GROUP else None


def is_paused(broker: InProcessBroker, number: int) -> bool:
    read = [written(record.value) for record in broker.partition(LOG, number).records()]
    last = next((each for each in reversed(read) if each), None)
    return last is not None and last.tail > virtual_wall()


def writes(*numbers: int, ends: bool) -> Callable[[ProduceRequest], bool]:
    """Return what knows pauses, or ends of pauses, on their way to coordination partitions."""

    def tell(asked: ProduceRequest) -> bool:
        rows = [row for topic in asked.topic_data for row in topic.partition_data]
        if not {row.index for row in rows} <= set(numbers):
            return False
        batches = (batch for row in rows for batch in iter_batches(row.records or b""))
        read = [written(bytes(v or b"")) for batch in batches for v in batch.columns().values()]
        return any(each is not None and (each.tail == each.time) is ends for each in read)

    return tell


@pytest.mark.parametrize("later", [step / 100 for step in range(0, 60, 2)])
@pytest.mark.parametrize("slow", [(0.01, 0.1, 0.01), (0.1, 0.01, 0.1), (0.05, 0.2, 0.01)])
async def test_resume_during_a_pause_leaves_all_partitions_paused_or_none(
    slow: tuple[float, ...], later: float
) -> None:
    trial = Trial(laid_out(slow))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trial.pause)
        await anyio.sleep(later)
        tasks.start_soon(trial.resume)
    assert len(trial.paused_states) == 1
    if trial.paused is not True:
        assert isinstance(trial.paused, GroupError)
        assert "ended" in str(trial.paused)
    assert trial.paused_states == {trial.paused is True and trial.resumed is False}


@pytest.mark.parametrize("by_one", [False, True])
async def test_a_pause_ended_while_it_begins_ends_everywhere_and_raises(
    by_one: bool,
) -> None:
    """1. It is written in one partition; 2. it is ended there; 3. it is written in another."""
    trial = Trial(laid_out(), by_one=by_one)
    late = trial.broker.answers.hold_request(ProduceRequest, where=writes(U, ends=False))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trial.pause)
        await anyio.sleep(1)
        await trial.resume()
        assert trial.resumed is True
        late.release()
    assert trial.paused_states == {False}
    assert isinstance(trial.paused, GroupError)
    assert "was ended" in str(trial.paused)


@pytest.mark.parametrize("by_one", [False, True])
async def test_the_end_of_a_pause_that_has_begun_meanwhile_ends_it_everywhere(
    by_one: bool,
) -> None:
    """1. Its end is sent to some partitions; 2. it is written in all; 3. the end arrives."""
    trial = Trial(laid_out(), by_one=by_one)
    late = trial.broker.answers.hold_request(ProduceRequest, where=writes(U, ends=False))
    there = writes(T, OTHER, ends=True)
    end = trial.broker.answers.hold_request(ProduceRequest, where=there, times=2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trial.pause)
        await anyio.sleep(1)
        tasks.start_soon(trial.resume)
        await anyio.sleep(1)
        late.release()
        await anyio.sleep(1)
        assert trial.paused is True
        end.release()
    assert trial.resumed is True
    assert trial.paused_states == {False}


async def test_a_pause_ended_during_its_renewal_ends_everywhere_and_raises() -> None:
    trial = Trial(laid_out(slow=()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trial.pause, 4000)
        await anyio.sleep(1400)
        late = trial.broker.answers.hold_request(ProduceRequest, where=writes(U, ends=False))
        end = trial.broker.answers.hold_request(ProduceRequest, where=writes(U, ends=True))
        await anyio.sleep(105)
        assert (late.count, trial.paused) == (1, None)
        tasks.start_soon(trial.resume)
        await anyio.sleep(1)
        end.release()
        await anyio.sleep(1)
        late.release()
    assert trial.resumed is True
    assert trial.paused_states == {False}
    assert isinstance(trial.paused, GroupError)
    assert "was ended" in str(trial.paused)


async def test_a_renewal_that_arrives_after_the_end_is_ended_everywhere_and_raises() -> None:
    """1. It is on its way to all partitions; 2. the pause is ended in all; 3. it arrives."""
    trial = Trial(laid_out(slow=()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trial.pause, 4000)
        await anyio.sleep(1400)
        all_ = writes(T, U, OTHER, ends=False)
        late = trial.broker.answers.hold_request(ProduceRequest, where=all_, times=COUNT)
        await anyio.sleep(105)
        assert (late.count, trial.paused) == (COUNT, None)
        await trial.resume()
        assert (trial.resumed, trial.paused_states) == (True, {False})
        late.release()
        await anyio.sleep(5)
        assert isinstance(trial.paused, GroupError), "at once, not when the pause is over"
    assert "was ended" in str(trial.paused)
    assert trial.paused_states == {False}


async def test_release_under_an_ended_pause_gives_up_and_restores_no_pause() -> None:
    broker = laid_out()
    Writer(broker.partition(LOG, T), now=virtual_wall).claim()
    admin = admin_of(broker)
    await admin.pause(600)
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            with pytest.raises(GroupError, match="was ended by somebody else"):
                await admin.release(patience=100.0)

        tasks.start_soon(work)
        await anyio.sleep(20)
        all_ = writes(T, U, OTHER, ends=False)
        late = broker.answers.hold_request(ProduceRequest, where=all_, times=COUNT)
        await anyio.sleep(16)
        assert late.count == COUNT
        assert await admin_of(broker).resume()
        late.release()
    assert anyio.current_time() < 60.0, "at once, not when its patience is over"
    assert not any(is_paused(broker, number) for number in range(COUNT))


async def test_set_positions_under_an_ended_pause_changes_nothing() -> None:
    """Also no pause of before: it was ended, too."""
    broker, left = laid_out(), dict[TopicPartition, str]()
    Writer(broker.partition(LOG, T), now=virtual_wall).claim()
    admin = admin_of(broker)
    await admin.pause(600)
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            left.update(await admin.set_positions({T0: 40, U0: 40}, patience=100.0))

        tasks.start_soon(work)
        await anyio.sleep(5)
        assert await admin_of(broker).resume()
    assert anyio.current_time() < 20.0, "at once, not when its patience is over"
    assert set(left) == {T0, U0}
    assert all("was ended by somebody else" in reason for reason in left.values())
    assert not any(is_paused(broker, number) for number in range(COUNT))


async def test_release_gives_up_when_its_pause_is_ended() -> None:
    broker = laid_out()
    Writer(broker.partition(LOG, T), now=virtual_wall).claim()
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            with pytest.raises(GroupError, match="was ended by somebody else"):
                await admin_of(broker).release(patience=100.0)

        tasks.start_soon(work)
        await anyio.sleep(5)
        assert await admin_of(broker).resume()
    assert anyio.current_time() < 20.0
    assert not any(is_paused(broker, number) for number in range(COUNT))


async def test_resume_raises_when_the_group_is_paused_again_and_again() -> None:
    broker = laid_out()
    admin, other = admin_of(broker), Writer(broker.partition(LOG, T), "other", now=virtual_wall)
    await admin.pause(600)

    async def pause_again() -> None:
        while True:
            await anyio.sleep(0.001)
            if not is_paused(broker, T):
                other.say(Kind.RELEASE_GROUP, 0, int(virtual_wall()) + 600, topic="")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pause_again)
        with pytest.raises(GroupError, match="was paused anew each of the 5 times"):
            await admin.resume()
        tasks.cancel_scope.cancel()
