"""TLS, SASL and access rules on a real Kafka: accepted clients, and errors of refused ones."""

import base64
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from anyio.abc import ByteStream
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from kgroup import Consumer
from kgroup.errors import AuthenticationError, NoBrokerError, UnauthorizedError
from kgroup.net.ports import dial_tcp, system_ports
from kgroup.testing.kafka import (
    Acl,
    AclOperation,
    AclResource,
    RealKafka,
    add_acls,
    remove_acls,
    unsecured_token,
)
from kgroup.testing.kafka.secured import MECHANISMS, USERS
from kgroup.testing.pytest_plugin import KafkaNodes
from tests.real.ground import Ground, fresh, lay_ground

pytestmark = pytest.mark.real

PATIENCE = 20.0
SCRAM = "SCRAM-SHA-512"
WAYS = [
    ("SSL", None),
    ("MUTUAL_TLS", None),
    *((listener, each) for listener in ("SASL_PLAINTEXT", "SASL_SSL") for each in MECHANISMS),
]
QUICK: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "fetch_max_wait": 0.1,
    "heartbeat_interval": 0.3,
    "session_timeout": 6.0,
    "retry_backoff_max": 0.3,
    "bootstrap_timeout": 8.0,
}


@pytest.fixture(scope="session")
def kafka_secure_391(kafka_nodes: KafkaNodes) -> RealKafka:
    return kafka_nodes.get("3.9.1", secure=True)


async def read_all(ground: Ground, options: dict[str, Any], count: int) -> None:
    """Join a group of one's own by these options and read so many records."""
    got = 0
    async with Consumer(ground.topic, group_id=fresh("group"), **{**QUICK, **options}) as consumer:
        with anyio.fail_after(PATIENCE):
            while got < count:
                batches = await consumer.getmany(timeout=1.0)
                got += sum(len(records) for records in batches.values())
        await consumer.commit()
    assert got == count


async def refusal(options: dict[str, Any]) -> NoBrokerError:
    """Return why no broker lets us in; the error must come at once."""
    with pytest.raises(NoBrokerError) as caught, anyio.fail_after(5):
        async with Consumer("orders", group_id="g", **{**QUICK, **options}):
            pass
    return caught.value


def without(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


# -- accepted --------------------------------------------------------------------------------


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
async def test_a_member_reads_and_commits_by_every_way_in(
    kafka_secure: RealKafka, listener: str, mechanism: str | None
) -> None:
    ground = await lay_ground(kafka_secure, 1)
    await ground.fill(10)
    await read_all(ground, kafka_secure.access.options(listener, mechanism), 10)


async def test_a_member_reads_by_a_context_of_its_own(kafka_secure: RealKafka) -> None:
    ground = await lay_ground(kafka_secure, 1)
    await ground.fill(10)
    files = kafka_secure.access.certificates
    context = ssl.create_default_context(cafile=files.authority)
    context.load_cert_chain(files.client, files.client_key)
    options = kafka_secure.access.options("MUTUAL_TLS")
    bare = without(options, "ssl_cafile", "ssl_certfile", "ssl_keyfile")
    await read_all(ground, {**bare, "ssl_context": context}, 10)


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_member_reads_and_commits_by_every_way_in_on_391(
    kafka_secure_391: RealKafka, listener: str, mechanism: str | None, anyio_backend: str
) -> None:
    ground = await lay_ground(kafka_secure_391, 1)
    await ground.fill(10)
    await read_all(ground, kafka_secure_391.access.options(listener, mechanism), 10)


@pytest.mark.parametrize(
    ("name", "password"),
    [("com,ma=equals", "plain enough"), ("zoe", "pässwörd"), ("roman", "Ⅸ ﬁne"), ("q", 'say "x"')],
)
async def test_names_and_passwords_are_those_that_kafkas_own_tools_store(
    kafka_secure: RealKafka, name: str, password: str
) -> None:
    await store_scram(kafka_secure, name, password)
    grant = Acl(name, AclResource.TOPIC, "*"), Acl(name, AclResource.GROUP, "*")
    add_acls(kafka_secure.bootstrap, *grant)
    ground = await lay_ground(kafka_secure, 1)
    await ground.fill(1)
    options = kafka_secure.access.options("SASL_SSL", SCRAM)
    await read_all(ground, {**options, "sasl_username": name, "sasl_password": password}, 1)


async def store_scram(kafka: RealKafka, name: str, password: str) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    await alter_scram(kafka, UserScramCredentialUpsertion(name, info, password.encode()))


async def alter_scram(kafka: RealKafka, change: Any) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    (done,) = admin.alter_user_scram_credentials([change]).values()
    await anyio.to_thread.run_sync(done.result, PATIENCE)


# -- refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
async def test_a_wrong_password_is_reported_at_once_and_asked_once(
    kafka_secure: RealKafka, listener: str, mechanism: str
) -> None:
    options = kafka_secure.access.options(listener, mechanism)
    error = await refusal({**options, "sasl_password": "wrong"})
    (reason,) = error.tried.values()
    assert reason.startswith(f"{mechanism}: SASL_AUTHENTICATION_FAILED (58): Authentication failed")
    assert isinstance(error.__cause__, AuthenticationError)


@pytest.mark.parametrize("token", [unsecured_token("alice", -60), "no.token."])
async def test_an_expired_or_strange_token_is_denied(kafka_secure: RealKafka, token: str) -> None:
    options = kafka_secure.access.options("SASL_SSL", "OAUTHBEARER")
    error = await refusal({**options, "sasl_oauth_token": lambda: token})
    assert "OAUTHBEARER: SASL_AUTHENTICATION_FAILED (58)" in str(error)
    assert token not in str(error) + repr(error.__cause__)


async def test_the_error_of_an_unknown_authority_has_host_and_reason(
    kafka_secure: RealKafka, tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    options = kafka_secure.access.options("SSL")
    error = await refusal({**options, "ssl_cafile": tmp_path / "other.pem"})
    (reason,) = error.tried.values()
    assert reason.startswith("TLS: the certificate of '127.0.0.1' is not accepted: ")


async def test_the_error_of_a_certificate_for_another_name_has_both_names(
    kafka_secure: RealKafka,
) -> None:
    async def elsewhere(host: str, port: int) -> ByteStream:
        return await dial_tcp("127.0.0.1", port)

    options = kafka_secure.access.options("SSL")
    _, _, port = options["bootstrap_servers"].rpartition(":")
    ports = replace(system_ports(), dial=elsewhere)
    far = {"bootstrap_servers": f"kafka.example:{port}", "ports": ports}
    error = await refusal({**options, **far})
    assert "Hostname mismatch, certificate is not valid for 'kafka.example'" in str(error)


async def test_a_listener_that_wants_a_certificate_says_so(kafka_secure: RealKafka) -> None:
    options = kafka_secure.access.options("MUTUAL_TLS")
    error = await refusal(without(options, "ssl_certfile", "ssl_keyfile"))
    (reason,) = error.tried.values()
    assert reason.startswith("TLS: the broker")
    assert "ssl_certfile" in reason


@pytest.mark.parametrize(
    ("spoken", "listener", "hint"),
    [
        ("SSL", "PLAINTEXT", "is this the port of an SSL listener"),
        ("SASL_PLAINTEXT", "PLAINTEXT", "expects no SASL here"),
        ("PLAINTEXT", "SASL_PLAINTEXT", "does this listener want SASL"),
        ("PLAINTEXT", "SSL", "TLS"),
    ],
)
async def test_the_wrong_port_is_suspected_by_what_it_answers(
    kafka_secure: RealKafka, spoken: str, listener: str, hint: str
) -> None:
    access = kafka_secure.access
    mechanism = SCRAM if spoken.startswith("SASL") else None
    options = access.options(spoken, mechanism)
    options |= {"bootstrap_servers": access.addresses[listener], "bootstrap_timeout": 2.0}
    assert hint in str(await refusal(options))


# -- sessions ---------------------------------------------------------------------------------


@pytest.mark.faults
@pytest.mark.usefixtures("kafka_secure")  # skipped where there can be no secured one
async def test_a_session_is_renewed_until_the_credential_is_taken_away() -> None:
    settings = {"connections.max.reauth.ms": "2500"}
    with RealKafka.start(secure=True, settings=settings) as kafka:
        await store_scram(kafka, "carol", "carols password")
        rights = (AclResource.TOPIC, "*"), (AclResource.GROUP, "*")
        add_acls(kafka.bootstrap, *(Acl("carol", *right) for right in rights))
        ground = await lay_ground(kafka, 1)
        options = kafka.access.options("SASL_SSL", SCRAM)
        login = {"sasl_username": "carol", "sasl_password": "carols password"}
        opened = Opened()
        options |= {**QUICK, **login, "journal": opened}
        async with Consumer(ground.topic, group_id="renewing", **options) as consumer:
            await ground.fill(1)
            assert (await consumer.getone()).offset == 0
            known = opened.count
            await anyio.sleep(6)
            await ground.fill(1)
            assert (await consumer.getone()).offset == 1
            assert opened.count == known, "each connection has outlived two sessions"
            gone = UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_512)
            await alter_scram(kafka, gone)
            with pytest.raises(AuthenticationError), anyio.fail_after(PATIENCE):
                await consumer.getone()
            assert isinstance(consumer.failure, AuthenticationError)


class Opened:
    """A journal that counts connections, and failed attempts at them."""

    def __init__(self) -> None:
        self.count = 0

    def emit(self, event: object) -> None:
        self.count += type(event).__name__ == "ConnectionOpened"


# -- access rules (F43) -----------------------------------------------------------------------


@asynccontextmanager
async def reading(
    kafka: RealKafka, topics: list[str], group: str, user: str
) -> AsyncIterator[Consumer[Any, Any]]:
    options = {**QUICK, **kafka.access.options("SASL_SSL", SCRAM, user)}
    async with Consumer(*topics, group_id=group, **options) as consumer:
        yield consumer


async def first_unauthorized(consumer: Consumer[Any, Any]) -> UnauthorizedError:
    with anyio.fail_after(PATIENCE):
        while True:
            try:
                await consumer.getmany(timeout=0.5)
            except UnauthorizedError as error:
                return error


async def test_a_topic_that_is_denied_is_named_while_others_go_on(
    kafka_secure: RealKafka,
) -> None:
    closed, free = await lay_ground(kafka_secure, 1), await lay_ground(kafka_secure, 1)
    await closed.fill(3)
    await free.fill(3)
    denial = Acl("alice", AclResource.TOPIC, closed.topic, AclOperation.READ, allowed=False)
    add_acls(kafka_secure.bootstrap, denial)
    got: dict[str, int] = {}
    topics = [closed.topic, free.topic]
    async with reading(kafka_secure, topics, fresh("group"), "alice") as consumer:
        with anyio.fail_after(PATIENCE):
            while got.get(free.topic, 0) < 3:
                await note_read(consumer, got, closed.topic)
        assert closed.topic not in got
        assert (await first_unauthorized(consumer)).resources == (closed.topic,)
        remove_acls(kafka_secure.bootstrap, denial)
        with anyio.fail_after(PATIENCE):
            while got.get(closed.topic, 0) < 3:
                await note_read(consumer, got, closed.topic)
        assert consumer.failure is None


async def note_read(consumer: Consumer[Any, Any], got: dict[str, int], closed: str) -> None:
    try:
        batches = await consumer.getmany(timeout=0.5)
    except UnauthorizedError as error:
        assert error.resources == (closed,)  # noqa: PT017 - it may come or not
        return
    for tp, records in batches.items():
        got[tp.topic] = got.get(tp.topic, 0) + len(records)


async def test_a_group_that_is_denied_is_named_and_works_once_it_is_granted(
    kafka_secure: RealKafka,
) -> None:
    ground, group = await lay_ground(kafka_secure, 1), fresh("group")
    await ground.fill(3)
    bobs = Acl("bob", AclResource.TOPIC, ground.topic, AclOperation.READ)
    add_acls(kafka_secure.bootstrap, bobs)
    async with reading(kafka_secure, [ground.topic], group, "bob") as consumer:
        assert group in str(await first_unauthorized(consumer))
        add_acls(kafka_secure.bootstrap, Acl("bob", AclResource.GROUP, group, AclOperation.READ))
        assert [await next_offset(consumer) for _ in range(3)] == [0, 1, 2]
        assert consumer.failure is None


async def test_a_group_denied_in_the_middle_is_reported_and_recovers(
    kafka_secure: RealKafka,
) -> None:
    ground, group = await lay_ground(kafka_secure, 1), fresh("group")
    await ground.fill(1)
    denial = Acl("alice", AclResource.GROUP, group, AclOperation.READ, allowed=False)
    async with reading(kafka_secure, [ground.topic], group, "alice") as consumer:
        assert await next_offset(consumer) == 0
        add_acls(kafka_secure.bootstrap, denial)
        assert group in str(await first_unauthorized(consumer))
        remove_acls(kafka_secure.bootstrap, denial)
        await ground.fill(1)
        while await next_offset(consumer) != 1:
            # The first record comes again when its commit was refused.
            assert consumer.failure is None
        assert consumer.failure is None


async def next_offset(consumer: Consumer[Any, Any]) -> int:
    """Read one record, however often something is refused before."""
    with anyio.fail_after(PATIENCE):
        while True:
            try:
                return (await consumer.getone()).offset
            except UnauthorizedError:
                continue


async def test_a_topic_nobody_may_see_is_named(kafka_secure: RealKafka) -> None:
    ground, group = await lay_ground(kafka_secure, 1), fresh("group")
    add_acls(kafka_secure.bootstrap, Acl("bob", AclResource.GROUP, group, AclOperation.READ))
    async with reading(kafka_secure, [ground.topic], group, "bob") as consumer:
        assert (await first_unauthorized(consumer)).resources == (ground.topic,)


# -- nothing leaks ----------------------------------------------------------------------------


@pytest.mark.parametrize("password", [USERS["alice"], "a-wrong-password"])
@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
async def test_neither_log_nor_journal_nor_error_holds_a_password(
    kafka_secure: RealKafka,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    mechanism: str,
    password: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    ground, journal = await lay_ground(kafka_secure, 1), tmp_path / "member.jsonl"
    await ground.fill(1)
    options = kafka_secure.access.options("SASL_PLAINTEXT", mechanism)
    options |= {"sasl_password": password, "journal": journal}
    said = []
    try:
        await read_all(ground, options, 1)
    except NoBrokerError as error:
        said += [repr(error), str(error), repr(error.tried), repr(error.__cause__)]
    said += [caplog.text, journal.read_text(encoding="utf-8")]
    assert (
        "SASL_AUTHENTICATE" in said[-1]
        or "sasl_authenticate" in said[-1]
        or '"api": 36' in said[-1]
    )
    forms = (password, base64.b64encode(password.encode()).decode(), password.encode().hex())
    assert not [form for form in forms for text in said if form in text]
