"""Sessions that end (KIP-368), and what refusals and certificates mean to a whole cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import anyio
import pytest
from anyio.abc import ByteStream

from kgroup.errors import AuthenticationError, NoBrokerError, TlsError
from kgroup.net.cluster import Cluster
from kgroup.net.security import SaslMechanism
from kgroup.net.settings import Lane, NetSettings
from kgroup.testing.virtual_time import virtual_ports
from kgroup.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from tests.net.scram_server import (
    PASSWORD,
    SCRAM,
    SaslServer,
    asked,
    by_password,
    by_token,
)
from tests.net.stage import BEAT, connected, running
from tests.search.scripted.broker import Delayed, ScriptedBroker
from tests.search.scripted.cluster import ScriptedCluster

# -- sessions (KIP-368) -----------------------------------------------------------------------


def sessions(broker: ScriptedBroker) -> list[float]:
    return [entry.at for entry in broker.seen_of(SaslHandshakeRequest)]


async def test_a_session_is_renewed_late_in_it_on_the_same_connection(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    server.lifetime_ms = 10_000
    async with connected(broker, security=by_password(SCRAM[0])) as connection:
        for _ in range(300):
            await connection.request(BEAT, 5)
            await anyio.sleep(0.1)
    began = sessions(broker)
    gaps = [later - earlier for earlier, later in pairwise(began)]
    assert len(began) == 4
    assert all(8.5 <= gap < 10.0 for gap in gaps)  # a login in a thread may let time pass
    assert {entry.connection for entry in broker.seen} == {1}


async def test_an_idle_connection_is_not_kept_alive_by_its_session(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    server.lifetime_ms = 10_000
    security = by_password(SCRAM[0])
    async with connected(broker, security=security, connections_max_idle=60.0) as connection:
        await connection.request(BEAT, 5)
        await anyio.sleep(61)
        assert connection.ended_healthy
    assert len(sessions(broker)) == 1


async def test_after_the_end_of_a_session_nothing_is_sent_before_it_is_renewed(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    server.lifetime_ms = 10_000
    async with connected(broker, security=by_password(SaslMechanism.PLAIN)) as connection:
        await connection.request(BEAT, 5)
        await anyio.sleep(30)
        await connection.request(BEAT, 5)
    assert asked(broker)[-4:] == [
        HeartbeatRequest, SaslHandshakeRequest, SaslAuthenticateRequest, HeartbeatRequest,
    ]  # fmt: skip


async def test_a_session_is_renewed_between_requests_and_their_answers(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    """The broker takes anything between the two questions of SASL for a part of it."""
    server.lifetime_ms = 1_000
    broker.on(HeartbeatRequest, lambda _: Delayed(HeartbeatResponse(), 0.03))
    broker.on(SaslHandshakeRequest, lambda request: Delayed(server.handshake(request), 0.2))
    link = connected(broker, security=by_password(SaslMechanism.PLAIN))
    async with link as connection, anyio.create_task_group() as tasks:
        for _ in range(200):
            tasks.start_soon(connection.request, BEAT, 60)
            await anyio.sleep(0.02)
    kinds = asked(broker)
    pairs = [kinds[at + 1] for at, kind in enumerate(kinds) if kind is SaslHandshakeRequest]
    assert len(pairs) > 3
    assert set(pairs) == {SaslAuthenticateRequest}
    assert kinds.count(HeartbeatRequest) == 200


async def test_a_parked_request_is_waited_for_before_a_session_is_renewed(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    server.lifetime_ms = 10_000
    held = broker.hold(HeartbeatRequest)
    link = connected(broker, security=by_password(SaslMechanism.PLAIN))
    async with link as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(connection.request, BEAT, 300)
        await anyio.sleep(100)
        tasks.start_soon(connection.request, BEAT, 300)
        await anyio.sleep(1)
        held.release(HeartbeatResponse())
    assert len(sessions(broker)) == 2
    assert sessions(broker)[1] == pytest.approx(101)


async def test_a_token_is_fetched_while_requests_go_on(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    async def slow() -> str:
        await anyio.sleep(0.5)
        return "t"

    server.lifetime_ms = 20_000
    async with connected(broker, security=by_token(slow)) as connection:
        for _ in range(220):
            began = anyio.current_time()
            await connection.request(BEAT, 5)
            if broker.seen_of(HeartbeatRequest)[1:]:
                assert anyio.current_time() - began < 0.1
            await anyio.sleep(0.1)
    assert len(sessions(broker)) == 2


async def test_a_credential_that_was_taken_away_ends_the_connection(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    server.lifetime_ms = 10_000
    async with connected(broker, security=by_password(SCRAM[0])) as connection:
        await connection.request(BEAT, 5)
        server.password = "another"
        await anyio.sleep(10)
        with pytest.raises(AuthenticationError):
            await connection.request(BEAT, 5)


# -- a cluster --------------------------------------------------------------------------------


def guarded_cluster() -> tuple[ScriptedCluster, SaslServer]:
    cluster = ScriptedCluster(2)
    server = SaslServer(PASSWORD)
    for broker in cluster.brokers:
        server.serve(broker)
    return cluster, server


async def test_a_cluster_that_refuses_us_everywhere_is_given_up_at_once() -> None:
    cluster, _ = guarded_cluster()
    wrong = by_password(SaslMechanism.PLAIN, "wrong")
    async with running(cluster, security=wrong) as found:
        with pytest.raises(NoBrokerError) as caught:
            await found.bootstrap(30)
    assert anyio.current_time() < 2
    assert caught.value.tried.keys() == {broker.address for broker in cluster.brokers}
    for reason in caught.value.tried.values():
        assert reason.startswith("PLAIN: SASL_AUTHENTICATION_FAILED (58): ")
    assert str(caught.value).startswith("no broker can be used: broker-")
    assert isinstance(caught.value.__cause__, AuthenticationError)
    assert max(len(broker.dialled_at) for broker in cluster.brokers) == 1


async def test_a_broker_that_is_only_down_keeps_the_others_refusal_waiting() -> None:
    cluster, _ = guarded_cluster()
    cluster.brokers[1].refuses = True
    wrong = by_password(SaslMechanism.PLAIN, "wrong")
    async with running(cluster, security=wrong) as found:
        with pytest.raises(NoBrokerError, match=r"within 5 s: .*58.*refuses connections"):
            await found.bootstrap(5)
        assert anyio.current_time() == pytest.approx(5)


async def test_a_later_refusal_is_raised_in_changed_and_no_broker_is_dialled_again() -> None:
    cluster, server = guarded_cluster()
    async with running(cluster, security=by_password(SaslMechanism.PLAIN)) as found:
        view = await found.bootstrap(5)
        server.password = "another"
        for broker in cluster.brokers:
            broker.hang_up()
        found.invalidate()
        with pytest.raises(AuthenticationError):
            await found.changed(view)
        dialled = sum(len(broker.dialled_at) for broker in cluster.brokers)
        for _ in range(5):
            with pytest.raises(AuthenticationError):
                await found.send(1, BEAT, lane=Lane.HEARTBEAT, timeout=5)
            await anyio.sleep(10)
        assert sum(len(broker.dialled_at) for broker in cluster.brokers) == dialled


# -- certificates -----------------------------------------------------------------------------


class Distrusted:
    """A `Dial` to brokers whose certificates are not accepted, until they are renewed."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self.cluster = cluster
        self.renewed = False
        self.reason = "TLS: the certificate of 'broker-1' is not accepted: expired"

    async def __call__(self, host: str, port: int) -> ByteStream:
        if self.renewed:
            return await self.cluster(host, port)
        raise TlsError(f"{host}:{port}", self.reason)


@asynccontextmanager
async def dialling(dial: Distrusted) -> AsyncIterator[Cluster]:
    settings = NetSettings(bootstrap=dial.cluster.bootstrap)
    found = Cluster(settings, virtual_ports(dial))
    async with anyio.create_task_group() as tasks:
        await tasks.start(found.run)
        yield found
        tasks.cancel_scope.cancel()


async def test_certificates_that_nobody_accepts_are_reported_at_once() -> None:
    dial = Distrusted(ScriptedCluster(2))
    async with dialling(dial) as found:
        with pytest.raises(NoBrokerError, match="expired") as caught:
            await found.bootstrap(30)
    assert anyio.current_time() < 2
    assert isinstance(caught.value.__cause__, TlsError)


async def test_a_certificate_that_expired_is_warned_of_once_and_works_when_renewed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dial = Distrusted(ScriptedCluster(1))
    dial.renewed = True
    async with dialling(dial) as found:
        await found.bootstrap(5)
        dial.renewed = False
        for broker in dial.cluster.brokers:
            broker.hang_up()
        found.invalidate()
        await anyio.sleep(60)
        (line,) = (record.getMessage() for record in caplog.records)
        assert line.startswith("no connection to node 1 at broker-1:9092: TLS: the certificate")
        dial.renewed = True
        assert (await found.refresh(30)).brokers


async def test_before_anybody_answered_only_the_error_tells_what_was_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with dialling(Distrusted(ScriptedCluster(2))) as found:
        with pytest.raises(NoBrokerError):
            await found.bootstrap(30)
    assert caplog.records == []
