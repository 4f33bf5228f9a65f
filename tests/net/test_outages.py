"""Brokers out of reach: what is said of them, when, and how long a first one is waited for."""

import logging
import socket
from contextlib import suppress

import anyio
import pytest

from kgroup.errors import ConnectionLostError, NoBrokerError
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.outages import Absence, Outages, absence
from tests.net.stage import BEAT, beating, running
from tests.search.scripted.cluster import ScriptedCluster


@pytest.fixture
def scripted() -> ScriptedCluster:
    return beating(2)


@pytest.fixture(autouse=True)
def infos(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="kgroup")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(each.levelno, each.getMessage()) for each in caplog.records]


async def beat(cluster: Cluster, timeout: float = 5) -> None:
    with suppress(ConnectionLostError, TimeoutError):
        await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=timeout)


async def is_said_of(address: tuple[str, int], scripted: ScriptedCluster) -> None:
    async with running(scripted, bootstrap=(address,)) as cluster:
        cluster.invalidate()
        await anyio.sleep(0.5)


# -- before anybody has answered -----------------------------------------------------------------


async def test_a_refused_address_is_a_warning_at_once_with_the_reason_and_what_to_do(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    scripted.broker(1).refuses = True
    await is_said_of(("broker-1", 9092), scripted)
    ((level, line),) = lines(caplog)
    assert level == logging.WARNING
    assert line.startswith("no connection to broker-1:9092: broker-1:9092 refuses connections; ")
    assert Absence.REFUSED.value in line


async def test_an_unresolvable_name_is_a_warning_at_once_with_the_reason_and_what_to_do(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    await is_said_of(("nowhere", 9092), scripted)
    ((level, line),) = lines(caplog)
    assert level == logging.WARNING
    assert "nowhere:9092" in line
    assert "name or service not known" in line
    assert Absence.UNKNOWN.value in line


async def test_each_address_that_stays_refused_is_warned_of_once(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    for broker in scripted.brokers:
        broker.refuses = True
    async with running(scripted) as cluster:
        with pytest.raises(NoBrokerError):
            await cluster.bootstrap(20)
    said = [line for _, line in lines(caplog)]
    assert len(said) == 2
    assert all(any(broker.address in line for line in said) for broker in scripted.brokers)


# -- how long a first broker is waited for -------------------------------------------------------


async def test_without_a_timeout_nobody_at_any_address_ends_bootstrap_after_5_s(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).refuses = True
    async with running(scripted, bootstrap=(("broker-1", 9092), ("nowhere", 9092))) as cluster:
        with pytest.raises(NoBrokerError, match="within 5 s") as caught:
            await cluster.bootstrap(None)
    assert anyio.current_time() == pytest.approx(5)
    assert "refuses connections" in caught.value.tried["broker-1:9092"]
    assert "not known" in caught.value.tried["nowhere:9092"]


async def test_without_a_timeout_one_silent_address_is_waited_for_30_s(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).refuses = True
    scripted.broker(2).deaf = True
    async with running(scripted, bootstrap=scripted.bootstrap) as cluster:
        with pytest.raises(NoBrokerError, match="within 30 s"):
            await cluster.bootstrap(None)
    assert anyio.current_time() == pytest.approx(30)


async def test_an_explicit_timeout_is_waited_out_though_nobody_is_there(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted, bootstrap=(("nowhere", 9092),)) as cluster:
        with pytest.raises(NoBrokerError, match="within 12 s"):
            await cluster.bootstrap(12)
    assert anyio.current_time() == pytest.approx(12)


# -- an outage -----------------------------------------------------------------------------------


async def test_a_request_without_an_answer_is_warned_of_when_its_time_is_up(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await beat(cluster)
        scripted.broker(2).mute = True
        await beat(cluster, timeout=2)
        (said,) = lines(caplog)
    assert said[0] == logging.WARNING
    assert said[1].startswith("HEARTBEAT to node 2 at broker-2:9092: no answer within 2 s")


async def test_a_request_that_is_lost_with_its_connection_is_warned_of_at_once(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster, anyio.create_task_group() as tasks:
        await cluster.bootstrap(5)
        await beat(cluster)
        scripted.broker(2).mute = True
        tasks.start_soon(beat, cluster)
        await anyio.sleep(0.5)
        scripted.broker(2).deaf = True
        scripted.broker(2).hang_up(reset=True)
        await anyio.sleep(0.01)
        (said,) = lines(caplog)
        tasks.cancel_scope.cancel()
    assert said[0] == logging.WARNING
    assert said[1].startswith("connection lost to node 2 at broker-2:9092: ")


async def test_an_outage_is_one_warning_and_one_line_when_it_is_over(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        for _ in range(2):
            await beat(cluster)
            scripted.broker(2).mute = True
            await beat(cluster)
            scripted.broker(2).go_down()
            for _ in range(5):
                await beat(cluster)
            scripted.broker(2).come_up()
            await beat(cluster)
    assert [level for level, _ in lines(caplog)] == [logging.WARNING, logging.INFO] * 2
    assert lines(caplog)[1][1] == "node 2 at broker-2:9092 answers again"


async def test_the_impatience_of_an_asker_says_nothing_of_the_broker(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await beat(cluster)
        scripted.broker(2).mute = True
        await beat(cluster, timeout=0.2)
    assert lines(caplog) == []


# -- what is news --------------------------------------------------------------------------------


def test_another_reason_why_nobody_is_there_is_news_once() -> None:
    known = Outages()
    reasons = (Absence.UNKNOWN, None, Absence.UNKNOWN, Absence.REFUSED, None, Absence.REFUSED)
    news = [known.fail("a:1", at, at, why) for at, why in enumerate(reasons)]
    assert news == [True, False, False, True, False, False]


def test_an_answer_ends_an_outage_when_it_was_asked_for_since_it_began() -> None:
    known = Outages()
    known.fail("a:1", began=1, now=4, why=None)
    assert [known.answer("a:1", began, 7) for began in (3, 4, 5)] == [False, True, False]


def test_what_was_asked_during_an_outage_and_fails_after_it_is_no_news() -> None:
    known = Outages()
    known.fail("a:1", began=1, now=4, why=None)
    known.answer("a:1", began=5, now=6)
    assert not known.fail("a:1", began=5, now=9, why=None)
    assert known.fail("a:1", began=7, now=9, why=None)


def test_a_host_with_two_addresses_is_absent_only_when_both_say_the_same() -> None:
    def failed(*inner: OSError) -> OSError:
        error = OSError("All connection attempts failed")
        error.__cause__ = ExceptionGroup("multiple", inner)
        return error

    refused, gone = ConnectionRefusedError(111, "refused"), OSError(113, "no route")
    assert absence(failed(refused, refused)) is Absence.REFUSED
    assert absence(failed(refused, gone)) is None
    assert absence(socket.gaierror(-2, "unknown")) is Absence.UNKNOWN
