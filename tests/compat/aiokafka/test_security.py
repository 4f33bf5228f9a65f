"""Security keywords: which count, what is refused in which words, and that nothing is shown."""

import logging
import ssl
from typing import Any

import pytest
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError, UnsupportedSaslMechanismError
from aiokafka.helpers import create_ssl_context

from kgroup import ConfigError
from kgroup.compat.aiokafka.options import read
from kgroup.errors import UnsupportedError
from kgroup.net.security import SaslMechanism, Secret, SecurityProtocol

CONTEXT = create_ssl_context()
ALICE = {"sasl_plain_username": "alice", "sasl_plain_password": "wonderland"}
SASL = {"security_protocol": "SASL_PLAINTEXT"}


class Tokens(AbstractTokenProvider):
    """A provider as applications write them."""

    async def token(self) -> str:
        return "t"

    def extensions(self) -> dict[str, str]:
        return {"pool": "p"}


# -- what is used ------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_context_of_aiokafkas_helper_is_the_one_that_is_used(protocol: str) -> None:
    config = read({"security_protocol": protocol, "ssl_context": CONTEXT, **ALICE}).config
    assert config.ssl_context is CONTEXT
    assert config.security_protocol is SecurityProtocol(protocol)


def test_true_stands_for_the_context_that_asyncio_would_make() -> None:
    context = read({"security_protocol": "SSL", "ssl_context": True}).config.ssl_context
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_name_and_password_are_used(mechanism: str) -> None:
    config = read({**SASL, "sasl_mechanism": mechanism, **ALICE}).config
    assert config.sasl_mechanism is SaslMechanism(mechanism)
    assert config.sasl_username == "alice"
    assert config.sasl_password == Secret("wonderland")


async def test_a_token_provider_is_asked_for_tokens_and_extensions() -> None:
    provider = Tokens()
    given = {**SASL, "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": provider}
    options = read(given)
    assert options.facade.refusal is None
    assert options.config.sasl_oauth_token is not None
    token: Any = options.config.sasl_oauth_token()
    assert await token == "t"
    extensions = options.config.sasl_oauth_extensions
    assert callable(extensions)
    assert extensions() == {"pool": "p"}


@pytest.mark.parametrize("provider", [None, "token", lambda: "t"], ids=["none", "text", "function"])
def test_start_refuses_what_is_no_token_provider(provider: object) -> None:
    given = {**SASL, "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": provider}
    refusal = read(given).facade.refusal
    assert isinstance(refusal, ValueError)
    assert "sasl_oauth_token_provider needs to be provided" in str(refusal)


# -- what has no use is warned of --------------------------------------------------------------


def test_what_the_protocol_does_not_use_is_left_out_and_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        config = read({"ssl_context": CONTEXT, "sasl_mechanism": "SCRAM-SHA-256", **ALICE}).config
    assert (config.ssl_context, config.sasl_mechanism, config.sasl_password) == (None, None, None)
    assert "ssl_context, sasl_plain_username, sasl_plain_password: without effect" in caplog.text
    assert "wonderland" not in caplog.text


def test_defaults_are_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        read({})
    assert caplog.records == []


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"security_protocol": "SOME"}, "`security_protocol` should be SSL or PLAINTEXT"),
        (
            {"security_protocol": "SSL"},
            "`ssl_context` is mandatory if security_protocol=='SSL'",
        ),
        (
            {"security_protocol": "SASL_SSL"},
            "`ssl_context` is mandatory if security_protocol=='SSL'",
        ),
        (SASL, "sasl_plain_username and sasl_plain_password required for PLAIN sasl"),
        (
            {**SASL, "sasl_mechanism": "SCRAM-SHA-256", "sasl_plain_username": "alice"},
            "sasl_plain_username and sasl_plain_password required for SCRAM-SHA-256 sasl",
        ),
        ({**SASL, "sasl_mechanism": "DIGEST-MD5"}, "`sasl_mechanism` should be one of"),
    ],
    ids=str,
)
def test_it_is_refused_in_the_words_that_programs_look_for(
    keywords: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError) as caught:
        read(keywords)
    assert text in str(caught.value)


def test_a_context_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match=r"expected an ssl\.SSLContext"):
        read({"security_protocol": "SSL", "ssl_context": "default"})


def test_a_context_for_servers_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with pytest.raises(ValueError, match=r"ssl_context: got .*for clients"):
        read({"security_protocol": "SSL", "ssl_context": context})


def test_kerberos_is_refused_with_the_ways_out() -> None:
    with pytest.raises(UnsupportedSaslMechanismError, match="SCRAM-SHA-512") as caught:
        read({**SASL, "sasl_mechanism": "GSSAPI"})
    assert isinstance(caught.value, KafkaError)
    assert isinstance(caught.value.__cause__, UnsupportedError)


def test_a_password_that_cannot_be_used_is_not_shown() -> None:
    given = {**SASL, "sasl_plain_username": "alice", "sasl_plain_password": "won\0derland"}
    with pytest.raises(ValueError) as caught:
        read(given)
    assert "sasl_plain_password" in str(caught.value)
    assert "derland" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ConfigError)
