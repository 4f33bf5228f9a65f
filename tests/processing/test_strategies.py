"""A record that cannot finish: each strategy, what it leaves behind, and who goes on."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from kgroup.consumer import Record
from kgroup.errors import ConfigError, DeserializationError
from kgroup.processing import (
    AtMostOnce,
    AutoCommit,
    DeadLetter,
    Evict,
    InParallel,
    Relinquish,
    ReportKind,
    Requeue,
    Semantics,
    Wait,
)
from kgroup.processing.verdicts import ATTEMPTS, CAUSE, ORIGIN
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.handles import StoredRecord
from kgroup.wire.messages import ProduceRequest
from tests.consumer.ground import fill, ground
from tests.contracts.application import until
from tests.processing.at_work import A, B, Handler, Trouble, at, at_work, stored

pytestmark = pytest.mark.anyio


class Failing:
    """Fails at one offset so often, then no more."""

    def __init__(self, offset: int, times: int = 10**6) -> None:
        self.offset, self.times = offset, times
        self.tries = 0

    async def __call__(self, record: Record[Any, Any]) -> None:
        if record.partition == 0 and record.offset == self.offset and self.tries < self.times:
            self.tries += 1
            raise Trouble(f"try {self.tries}")


async def hangs_at_1(record: Record[Any, Any]) -> None:
    if record.tp == A and record.offset == 1:
        await anyio.sleep(10**6)


def headers_of(record: StoredRecord) -> Mapping[str, str]:
    return {name: (value or b"").decode() for name, value in record.headers}


# -- wait ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", [None, AutoCommit(), InParallel()], ids=repr)
async def test_wait_tries_until_it_succeeds_and_the_member_stays(
    semantics: Semantics | None,
) -> None:
    failing = Failing(1, times=12)
    auto: dict[str, Any] = {
        "enable_auto_commit": isinstance(semantics, AutoCommit),
        "auto_commit_interval": 1.0,
    }
    broker, handler = stored(3, width=2), Handler(failing)
    async with at_work(broker, handler, semantics, stuck=Wait(pause_max=20.0), **auto) as work:
        await work.committed(3, B, 10)
        before = broker.group("g").generation
        await anyio.sleep(100)  # longer than max_poll_interval
        assert at(broker, A) == 1
        await work.committed(3, A, 300)
        assert sorted(handler.offsets()) == [0, 1, 2]
        assert len(work.told(ReportKind.FAILED)) == 12
        assert broker.group("g").generation == before


async def test_wait_goes_with_the_partition_when_the_group_wants_it() -> None:
    broker, second = stored(3, width=2), Handler()
    async with at_work(broker, Handler(Failing(1)), stuck=Wait(), client_id="one") as one:
        await one.committed(3, B)
        async with at_work(broker, second, client_id="two") as two:
            await until(lambda: len(two.consumer.assignment()) == 1, 40, "it moves")
            assert one.error is None


# -- evict -----------------------------------------------------------------------------------------


async def test_evict_lets_the_group_take_everything_and_the_member_comes_back() -> None:
    broker, release = stored(3, width=2), anyio.Event()

    async def waits(record: Record[Any, Any]) -> None:
        if record.tp == A and record.offset == 1 and not release.is_set():
            await release.wait()

    handler = Handler(waits)
    async with at_work(broker, handler, stuck=Evict()) as work:
        await until(lambda: (A, 1) in handler.begun, 60, "it is at the record")
        await until(lambda: not broker.group("g").members, 150, "it is out")
        release.set()
        await work.committed(3, A)
        await work.committed(3, B)
        assert [each.first for each in work.told(ReportKind.LATE)] == [1]


async def test_evict_tries_a_failing_record_until_it_is_out() -> None:
    broker, failing = stored(3), Failing(1)
    async with at_work(broker, Handler(failing), stuck=Evict(pause=1.0)) as work:
        await until(lambda: failing.tries, 60, "it fails")
        before = set(work.consumer.membership.claims)
        await until(lambda: before.isdisjoint(work.consumer.membership.claims), 150, "it is out")
        failing.times = 0
        await work.committed(3, within=200)
        assert failing.tries > 3


# -- relinquish ------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [hangs_at_1, Failing(1)], ids=["hangs", "raises"])
async def test_relinquish_commits_the_prefix_and_leaves_it_to_others(act: Any) -> None:
    broker, second = stored(3, width=2), Handler()
    stuck = Relinquish(deadline=5.0, away=1000.0)
    async with at_work(broker, Handler(act), stuck=stuck, client_id="one") as one:
        await until(lambda: one.told(ReportKind.STEPPED_BACK), 60, "it steps back")
        assert at(broker) == 1
        async with at_work(broker, second, client_id="two") as two:
            await two.committed(3, A)
            assert (A, 1) in second.ended
            assert (A, 0) not in second.ended
            assert one.error is None


async def test_relinquish_comes_back_after_a_while() -> None:
    broker, failing = stored(3), Failing(1, times=2)
    handler = Handler(failing)
    async with at_work(broker, handler, stuck=Relinquish(5.0, away=20.0)) as work:
        await work.committed(3, within=120)
        assert handler.offsets() == [0, 1, 2]
        assert len(work.told(ReportKind.STEPPED_BACK)) == 2


# -- requeue ---------------------------------------------------------------------------------------


def with_dead(count: int = 3, width: int = 1) -> InProcessBroker:
    broker = ground(count, t=width, dead=1)
    broker.partition("dead", 0).truncate(0)
    return broker


async def test_requeue_writes_a_copy_to_the_end_and_goes_on() -> None:
    broker = with_dead(0)
    broker.partition("t", 0).append("a", key="k", headers=(("mine", b"1"),))
    broker.partition("t", 0).append("b")
    handler = Handler(Failing(0))
    async with at_work(broker, handler, stuck=Requeue(5.0, "dead")) as work:
        await work.committed(3)
        assert handler.offsets() == [1, 2]
        (report,) = work.told(ReportKind.REQUEUED)
        assert isinstance(report.error, Trouble)
    copy = broker.partition("t", 0).records()[2]
    assert (copy.key, copy.value) == (b"k", b"a")
    headers = headers_of(copy)
    assert (headers["mine"], headers[ATTEMPTS], headers[ORIGIN]) == ("1", "1", "t-0@0")


async def test_requeue_cuts_off_a_handler_that_hangs() -> None:
    broker, handler = with_dead(3), Handler(hangs_at_1)
    async with at_work(broker, handler, stuck=Requeue(5.0, "dead")) as work:
        await work.committed(4)
        assert handler.offsets() == [0, 2, 3]


async def test_requeue_ends_as_a_dead_letter() -> None:
    async def never(record: Record[Any, Any]) -> None:
        if record.value == b"1":
            raise Trouble("never")

    broker = with_dead(3)
    stuck = Requeue(5.0, "dead", attempts=3)
    async with at_work(broker, Handler(never), stuck=stuck) as work:
        await work.committed(5)
        assert len(work.told(ReportKind.REQUEUED)) == 2
    (letter,) = broker.partition("dead", 0).records()
    headers = headers_of(letter)
    assert (headers[ATTEMPTS], headers[ORIGIN]) == ("3", "t-0@1")
    assert headers[CAUSE] == "Trouble: never"


async def test_requeue_is_refused_where_another_group_reads_the_topic() -> None:
    broker = with_dead(3)
    broker.group("audit").commit({("t", 0): 1})
    async with at_work(broker, Handler(), stuck=Requeue(5.0, "dead")) as work:
        await work.ends()
        assert isinstance(work.error, ConfigError)
        assert "'audit'" in str(work.error)


async def test_requeue_can_be_forced() -> None:
    broker = with_dead(3)
    broker.group("audit").commit({("t", 0): 1})
    async with at_work(broker, Handler(Failing(1)), stuck=Requeue(5.0, "dead", forced=True)) as w:
        await w.committed(4)


# -- dead letters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", [None, AtMostOnce(), InParallel()], ids=repr)
async def test_a_dead_letter_has_the_bytes_and_the_cause(semantics: Semantics | None) -> None:
    broker = with_dead(3)
    async with at_work(
        broker, Handler(Failing(1)), semantics, stuck=DeadLetter("dead"), value=bytes.decode
    ) as work:
        await work.committed(3)
        (report,) = work.told(ReportKind.DEAD_LETTERED)
        assert report.first == 1
    (letter,) = broker.partition("dead", 0).records()
    assert letter.value == b"1"
    assert headers_of(letter)[CAUSE] == "Trouble: try 1"


async def test_the_handler_has_several_attempts_each_with_its_deadline() -> None:
    broker, handler = with_dead(3), Handler(hangs_at_1)
    stuck = DeadLetter("dead", deadline=2.0, attempts=3, pause=1.0)
    async with at_work(broker, handler, stuck=stuck) as work:
        await work.committed(3)
        assert handler.begun.count((A, 1)) == 3
        assert handler.offsets() == [0, 2]
    (letter,) = broker.partition("dead", 0).records()
    assert headers_of(letter)[CAUSE] == "TimeoutError: the handler took longer than 2 s"


async def test_a_topic_of_dead_letters_that_is_not_there_stops_only_that_partition() -> None:
    broker, failing = stored(3, width=2), Failing(1)
    async with at_work(broker, Handler(failing), stuck=DeadLetter("dead")) as work:
        await work.committed(3, B)
        await until(lambda: work.processor.stopped, 60, "it is stopped")
        await anyio.sleep(200)
        assert at(broker, A) == 1
        assert set(work.processor.stopped) == {A}
        assert "dead" in str(work.processor.stopped[A])
        assert len(work.told(ReportKind.STOPPED)) == 1
        broker.create_topic("dead", 1)
        assert work.processor.go_on(A)
        assert not work.processor.go_on(A)
        await work.committed(3, A)
    assert len(broker.partition("dead", 0).records()) == 1


async def test_a_letter_that_is_not_acknowledged_stops_the_partition() -> None:
    broker = with_dead(3)
    broker.answers.lose(ProduceRequest, times=None)
    stuck = DeadLetter("dead", write_timeout=5.0)
    async with at_work(broker, Handler(Failing(1)), stuck=stuck, request_timeout=2.0) as work:
        await until(lambda: work.processor.stopped, 60, "it is stopped")
        assert isinstance(work.processor.stopped[A], TimeoutError)
        assert at(broker) == 1


# -- records that cannot be deserialised -----------------------------------------------------------


def number(data: bytes | None) -> int:
    if data == b"1":
        raise ValueError("no number")
    return int(data or b"0")


async def test_bad_records_raise_and_the_position_is_exact() -> None:
    broker, handler = stored(3), Handler()
    async with at_work(broker, handler, value=number) as work:
        await work.ends()
        assert isinstance(work.error, DeserializationError)
        assert work.error.offset == 1
    assert (handler.offsets(), at(broker)) == ([0], 1)


@pytest.mark.parametrize("semantics", [None, InParallel()], ids=repr)
async def test_bad_records_are_skipped(semantics: Semantics | None) -> None:
    broker, handler = stored(3), Handler()
    options: dict[str, Any] = {"on_deserialize_error": "skip", "value": number}
    async with at_work(broker, handler, semantics, **options) as work:
        await work.committed(3)
        assert sorted(handler.offsets()) == [0, 2]
        assert work.consumer.skipped == 1


async def test_bad_records_come_as_bytes() -> None:
    values: list[Any] = []

    async def handle(record: Record[Any, Any]) -> None:
        values.append(record.value)

    options: dict[str, Any] = {"on_deserialize_error": "raw", "value": number}
    async with at_work(stored(3), handle, **options) as work:
        await work.committed(3)
    assert values == [0, b"1", 2]


async def test_bad_records_go_to_a_topic_without_the_handler() -> None:
    broker, handler = with_dead(3), Handler()
    options: dict[str, Any] = {"on_deserialize_error": "raw", "value": number}
    async with at_work(broker, handler, bad_records="dead", **options) as work:
        await work.committed(3)
        assert handler.offsets() == [0, 2]
    (letter,) = broker.partition("dead", 0).records()
    headers = headers_of(letter)
    assert letter.value == b"1"
    assert headers[CAUSE].startswith("DeserializationError: t-0: the value of the record")
    assert headers[ATTEMPTS] == "0"


async def test_nothing_behind_a_bad_record_is_handled_or_committed_in_parallel() -> None:
    broker, handler = stored(3), Handler()
    fill(broker, A, 3)
    async with at_work(broker, handler, InParallel(), value=number) as work:
        await work.ends()
        assert isinstance(work.error, DeserializationError)
    assert at(broker) <= 1
    assert handler.offsets() == list(range(at(broker)))
