"""Authentication on a connection: each mechanism, each refusal, sessions that end, no leaks."""

import base64
import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import AuthenticationError, ConnectionLostError
from kgroup.net.security import Sasl, SaslMechanism, Secret, Security
from kgroup.net.settings import NetSettings
from kgroup.wire.messages import (
    ApiVersionsRequest,
    HeartbeatRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.net.scram_server import (
    PASSWORD,
    SCRAM,
    WITH_PASSWORD,
    SaslServer,
    asked,
    by_password,
    by_token,
)
from tests.net.stage import BEAT, Heard, connected
from tests.search.scripted.broker import Cut, HungUp, ScriptedBroker

# -- the client's identity --------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", WITH_PASSWORD)
async def test_nothing_is_asked_before_authentication_is_over(
    broker: ScriptedBroker, server: SaslServer, mechanism: SaslMechanism
) -> None:
    async with connected(broker, security=by_password(mechanism)) as connection:
        await connection.request(BEAT, 5)
    turns = 2 if mechanism in SCRAM else 1
    expected = [ApiVersionsRequest, SaslHandshakeRequest, *[SaslAuthenticateRequest] * turns]
    assert asked(broker) == [*expected, HeartbeatRequest]
    (handshake,) = broker.seen_of(SaslHandshakeRequest)
    assert handshake.version == 1


@pytest.mark.parametrize("mechanism", WITH_PASSWORD)
async def test_a_wrong_password_is_refused_with_the_reason_of_the_broker(
    broker: ScriptedBroker, server: SaslServer, mechanism: SaslMechanism
) -> None:
    async with connected(broker, security=by_password(mechanism, "close sesame")) as connection:
        with pytest.raises(AuthenticationError) as caught:
            await connection.request(BEAT, 5)
    assert (caught.value.address, caught.value.mechanism) == ("broker-1:9092", mechanism.value)
    assert "SASL_AUTHENTICATION_FAILED (58): Authentication failed" in caught.value.reason
    assert HeartbeatRequest not in asked(broker)


@pytest.mark.parametrize("mechanism", SCRAM)
async def test_a_broker_that_does_not_know_the_password_is_not_believed(
    broker: ScriptedBroker, server: SaslServer, mechanism: SaslMechanism
) -> None:
    server.wrong_signature = True
    async with connected(broker, security=by_password(mechanism)) as connection:
        with pytest.raises(AuthenticationError, match="does not know the password"):
            await connection.request(BEAT, 5)


async def test_a_broker_that_asks_for_too_few_iterations_gets_no_proof(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    server.iterations = 1
    async with connected(broker, security=by_password(SCRAM[0])) as connection:
        with pytest.raises(AuthenticationError, match="iterations '1'"):
            await connection.request(BEAT, 5)
    assert len(server.messages) == 1


async def test_a_broker_that_skips_its_proof_is_not_believed(broker: ScriptedBroker) -> None:
    broker.on(SaslHandshakeRequest, SaslHandshakeResponse(mechanisms=("SCRAM-SHA-256",)))
    broker.on(SaslAuthenticateRequest, SaslAuthenticateResponse(auth_bytes=b""))
    async with connected(broker, security=by_password(SCRAM[0])) as connection:
        with pytest.raises(AuthenticationError, match="not 'r="):
            await connection.request(BEAT, 5)


async def test_a_token_is_asked_for_each_connection_and_sent_with_its_extensions(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    tokens = iter(["one", "two"])
    security = by_token(lambda: next(tokens), cluster="lkc-1")
    for _ in range(2):
        async with connected(broker, security=security) as connection:
            await connection.request(BEAT, 5)
    assert server.messages == [
        b"n,,\x01auth=Bearer one\x01cluster=lkc-1\x01\x01",
        b"n,,\x01auth=Bearer two\x01cluster=lkc-1\x01\x01",
    ]


async def lost_with(broker: ScriptedBroker, security: Security) -> ConnectionLostError:
    """Return with what a connection is lost that is made like this."""
    async with connected(broker, security=security) as connection:
        with pytest.raises(ConnectionLostError) as caught:
            await connection.request(BEAT, 5)
    return caught.value


async def refuses(broker: ScriptedBroker, security: Security, text: str) -> None:
    """Try a connection of which nothing comes for good, and look at the reason."""
    async with connected(broker, security=security) as connection:
        with pytest.raises(AuthenticationError, match=text):
            await connection.request(BEAT, 5)


def bearer(extensions: Callable[[], Any], token: Callable[[], str] = lambda: "t") -> Security:
    return Security(sasl=Sasl(SaslMechanism.OAUTHBEARER, token=token, extensions=extensions))


async def test_extensions_may_be_asked_for_after_each_token(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    known: dict[str, str] = {}

    def token() -> str:
        known["pool"] = "x" * (len(known.get("pool", "")) + 1)
        return "t"

    security = bearer(lambda: known, token)
    for _ in range(2):
        async with connected(broker, security=security) as connection:
            await connection.request(BEAT, 5)
    assert server.messages == [
        b"n,,\x01auth=Bearer t\x01pool=x\x01\x01",
        b"n,,\x01auth=Bearer t\x01pool=xx\x01\x01",
    ]


@pytest.mark.parametrize("returned", [{"auth": "x"}, {"a": "x\x01auth=Bearer b"}, None, "a=b"])
async def test_what_can_be_no_extension_is_never_sent(
    broker: ScriptedBroker, server: SaslServer, returned: Any
) -> None:
    await refuses(broker, bearer(lambda: returned), r"sasl_oauth_extensions returned .*KIP-342")
    assert server.messages == []


async def test_extensions_that_cannot_be_had_now_may_be_had_later(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    def unreachable() -> dict[str, str]:
        raise OSError("hunter2")

    lost = await lost_with(broker, bearer(unreachable))
    assert lost.reason == "OAUTHBEARER: sasl_oauth_extensions raised OSError"


async def test_a_token_may_take_a_while(broker: ScriptedBroker, server: SaslServer) -> None:
    async def slow() -> str:
        await anyio.sleep(3)
        return "slow"

    async with connected(broker, security=by_token(slow)) as connection:
        await connection.request(BEAT, 5)
        assert anyio.current_time() == pytest.approx(3)


async def test_the_error_of_a_denied_token_has_the_words_of_the_broker(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    await refuses(broker, by_token(lambda: "denied"), "invalid_token")
    assert server.messages[-1] == b"\x01"


async def test_a_token_that_cannot_be_had_now_may_be_had_later(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    def unreachable() -> str:
        raise OSError("the issuer with secret hunter2 does not answer")

    lost = await lost_with(broker, by_token(unreachable))
    assert lost.reason == "OAUTHBEARER: sasl_oauth_token raised OSError"
    assert isinstance(lost.__cause__, OSError)


@pytest.mark.parametrize("token", ["", "a b", "a\x01auth=Bearer b", "é", 7, None, "x" * 600_000])
async def test_what_can_be_no_token_is_never_sent(
    broker: ScriptedBroker, server: SaslServer, token: Any
) -> None:
    await refuses(broker, by_token(lambda: token), r"sasl_oauth_token returned .*RFC 6750")
    assert server.messages == []


async def test_a_refusal_counts_although_the_broker_closes_right_behind_it(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    server.password = "another"
    broker.on(SaslAuthenticateRequest, lambda request: Cut(server.authenticate(request), 1 << 20))
    for _ in range(10):
        async with connected(broker, security=by_password(SaslMechanism.PLAIN)) as connection:
            with pytest.raises(AuthenticationError):
                await connection.request(BEAT, 5)


# -- brokers that cannot ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offered", "words"), [(("PLAIN", "GSSAPI"), "it offers PLAIN, GSSAPI"), ((), "none at all")]
)
async def test_the_error_of_a_mechanism_that_is_not_offered_lists_those_that_are(
    broker: ScriptedBroker, offered: tuple[str, ...], words: str
) -> None:
    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    broker.on(SaslHandshakeRequest, SaslHandshakeResponse(error_code=code, mechanisms=offered))
    async with connected(broker, security=by_password(SCRAM[1])) as connection:
        with pytest.raises(AuthenticationError, match=words):
            await connection.request(BEAT, 5)


async def test_the_error_of_a_listener_without_sasl_says_so(broker: ScriptedBroker) -> None:
    answer = SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())
    broker.on(SaslHandshakeRequest, answer)
    async with connected(broker, security=by_password(SCRAM[1])) as connection:
        with pytest.raises(AuthenticationError, match=r"expects no SASL here.*security_protocol"):
            await connection.request(BEAT, 5)


async def test_a_sasl_listener_is_suspected_behind_a_connection_that_ends_at_once(
    broker: ScriptedBroker,
) -> None:
    broker.on(HeartbeatRequest, HungUp())
    async with connected(broker) as connection:
        with pytest.raises(ConnectionLostError, match="does this listener want SASL"):
            await connection.request(BEAT, 5)


async def test_a_connection_lost_during_the_authentication_is_no_refusal(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    broker.once(SaslAuthenticateRequest, HungUp())
    async with connected(broker, security=by_password(SCRAM[0])) as connection:
        with pytest.raises(
            ConnectionLostError, match="closed the connection while we authenticated"
        ):
            await connection.request(BEAT, 5)


async def test_a_broker_that_goes_on_asking_is_left(broker: ScriptedBroker) -> None:
    broker.on(SaslHandshakeRequest, SaslHandshakeResponse(mechanisms=()))
    broker.on(SaslAuthenticateRequest, SaslAuthenticateResponse(auth_bytes=b"more"))
    async with connected(broker, security=by_token(lambda: "t")) as connection:
        with pytest.raises(AuthenticationError, match="goes on asking"):
            await connection.request(BEAT, 5)


async def test_an_authentication_without_an_end_is_given_up(
    broker: ScriptedBroker, server: SaslServer
) -> None:
    broker.hold(SaslAuthenticateRequest)
    security = by_password(SaslMechanism.PLAIN)
    async with connected(broker, security=security, connect_timeout=10.0) as connection:
        with pytest.raises(ConnectionLostError, match="no end of PLAIN within 10 s"):
            await connection.request(BEAT, 60)


# -- nothing leaks ----------------------------------------------------------------------------


def forms(secret: str) -> set[str]:
    raw = secret.encode()
    return {secret, base64.b64encode(raw).decode(), raw.hex(), repr(raw)[2:-1]}


@pytest.mark.parametrize("password", [PASSWORD, "wrong horse battery"])
@pytest.mark.parametrize("mechanism", WITH_PASSWORD)
async def test_no_trace_error_or_repr_holds_a_password_or_a_proof(
    broker: ScriptedBroker,
    server: SaslServer,
    caplog: pytest.LogCaptureFixture,
    mechanism: SaslMechanism,
    password: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    heard, shown = Heard(), []
    security = by_password(mechanism, password)
    async with connected(broker, trace=heard, security=security) as connection:
        try:
            await connection.request(BEAT, 5)
        except AuthenticationError as error:
            shown += [repr(error), str(error), repr(error.__cause__), repr(error.__context__)]
        shown += [repr(connection), repr(connection.failure), repr(security)]
    shown += [repr(NetSettings(bootstrap=(), security=security)), caplog.text]
    shown += map(repr, (heard.asked, heard.answered, heard.closed))
    shown += [repr(request) for request in broker.requests(SaslAuthenticateRequest)]
    proofs = [message.rpartition(b",p=")[2].decode() for message in server.messages[1:]]
    hidden = forms(password) | forms(PASSWORD) | {part for proof in proofs for part in forms(proof)}
    assert len(heard.asked) >= 3
    assert not [secret for secret in hidden for text in shown if secret in text]


async def test_no_trace_error_or_repr_holds_a_token(
    broker: ScriptedBroker, server: SaslServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    heard, token = Heard(), "denied"
    broker.on(
        SaslAuthenticateRequest,
        lambda request: SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
            error_message=f"{request.auth_bytes!r} is not good",
            auth_bytes=request.auth_bytes,
        ),
    )
    async with connected(broker, trace=heard, security=by_token(lambda: token)) as connection:
        with pytest.raises(AuthenticationError) as caught:
            await connection.request(BEAT, 5)
    shown = [repr(caught.value), caplog.text, repr(heard.asked), repr(heard.answered)]
    assert "is not good" in repr(caught.value)
    assert not [secret for secret in forms(token) for text in shown if secret in text]


@pytest.mark.parametrize("text", ["hunter2", "it's", "päss"])
def test_a_secret_shows_itself_only_when_asked(text: str) -> None:
    secret = Secret(text)
    assert text not in repr(secret) + str(secret) + f"{secret}"
    assert (secret.reveal(), secret) == (text, Secret(text))
    assert secret != Secret(text + "x")
    assert text not in secret.removed_from(f"the password {text} is wrong")
