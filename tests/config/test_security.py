"""Options of TLS and SASL: what goes together, what does not, and that no password is shown."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.net.security import SaslMechanism, Secret, SecurityProtocol

PASSWORD = "correct horse"
SCRAM: dict[str, Any] = {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_username": "alice",
    "sasl_password": PASSWORD,
}
BEARER: dict[str, Any] = {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauth_token": lambda: "token",
}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def cafile(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return str(tmp_path / "ca.pem")


@pytest.fixture
def identity(authority: trustme.CA, tmp_path: Path) -> tuple[str, str]:
    issued = authority.issue_cert("alice.example")
    certificate, key = tmp_path / "alice.pem", tmp_path / "alice.key"
    issued.cert_chain_pems[0].write_to_path(str(certificate))
    issued.private_key_pem.write_to_path(str(key))
    return str(certificate), str(key)


def test_nothing_is_secured_unless_it_is_asked_for() -> None:
    config = ConsumerConfig()
    assert config.security_protocol is SecurityProtocol.PLAINTEXT
    assert (config.net().security.tls, config.net().security.sasl) == (None, None)


def test_the_words_are_those_of_kafka_and_become_enums() -> None:
    config = ConsumerConfig.of(SCRAM)
    assert config.security_protocol is SecurityProtocol.SASL_SSL
    assert config.sasl_mechanism is SaslMechanism.SCRAM_SHA_512
    assert config.sasl_password == Secret(PASSWORD)


@pytest.mark.parametrize(
    ("options", "option", "hint"),
    [
        ({"security_protocol": "ssl"}, "security_protocol", "did you mean 'SSL'"),
        ({"security_protocol": "TLS"}, "security_protocol", "'SSL'"),
        ({"security_protocol": None}, "security_protocol", "'PLAINTEXT'"),
        ({"sasl_mechanism": "SCRAM-SHA512"}, "sasl_mechanism", "did you mean 'SCRAM-SHA-512'"),
        ({"sasl_mechanism": "GSSAPI"}, "sasl_mechanism", "'OAUTHBEARER'"),
        ({"ssl_context": "default"}, "ssl_context", "ssl.SSLContext"),
        ({"ssl_check_hostname": 0}, "ssl_check_hostname", "True or False"),
        ({"ssl_cafile": ""}, "ssl_cafile", "PEM"),
        ({"ssl_cafile": 3}, "ssl_cafile", "PEM"),
        ({"sasl_username": ""}, "sasl_username", "1 to"),
        ({"sasl_username": "a\0b"}, "sasl_username", "NUL"),
        ({"sasl_oauth_extensions": {"auth": "x"}}, "sasl_oauth_extensions", "KIP-342"),
        ({"sasl_oauth_extensions": {"a": "x\x01y=z"}}, "sasl_oauth_extensions", "KIP-342"),
        ({"sasl_oauth_extensions": {"a": ""}}, "sasl_oauth_extensions", "KIP-342"),
        ({"sasl_oauth_extensions": {"a1": "x"}}, "sasl_oauth_extensions", "KIP-342"),
        ({"sasl_oauth_extensions": "a=b"}, "sasl_oauth_extensions", "KIP-342"),
        # with PLAINTEXT
        ({"ssl_cafile": "ca.pem"}, "ssl_cafile", "'SSL' or 'SASL_SSL'"),
        ({"ssl_context": ssl.create_default_context()}, "ssl_context", "'SSL' or 'SASL_SSL'"),
        ({"ssl_check_hostname": False}, "ssl_check_hostname", "'SSL' or 'SASL_SSL'"),
        ({"sasl_username": "alice"}, "sasl_username", "'SASL_SSL' or 'SASL_PLAINTEXT'"),
        ({"sasl_mechanism": "PLAIN"}, "sasl_mechanism", "'SASL_SSL' or 'SASL_PLAINTEXT'"),
        ({**SCRAM, "security_protocol": "SSL"}, "sasl_mechanism", "not 'SSL'"),
        ({"security_protocol": "SASL_PLAINTEXT", "ssl_cafile": "ca"}, "ssl_cafile", "'SSL'"),
        # incomplete
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism", "one of 'PLAIN'"),
        ({**SCRAM, "sasl_username": None}, "sasl_username", "a value"),
        ({**SCRAM, "sasl_password": None}, "sasl_password", "a value"),
        ({**BEARER, "sasl_oauth_token": None}, "sasl_oauth_token", "returns a token"),
        ({"security_protocol": "SSL", "ssl_keyfile": "k"}, "ssl_keyfile", "ssl_certfile"),
        ({"security_protocol": "SSL", "ssl_password": "k"}, "ssl_password", "ssl_certfile"),
        # contradictions
        ({**SCRAM, "sasl_oauth_token": lambda: "t"}, "sasl_oauth_token", "does not use it"),
        ({**BEARER, "sasl_username": "alice"}, "sasl_username", "does not use it"),
        ({**BEARER, "sasl_password": PASSWORD}, "sasl_password", "does not use it"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_option_to_change(
    options: dict[str, Any], option: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        ConsumerConfig.of(options)
    assert caught.value.option == option
    assert hint in str(caught.value)
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("name", ["ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_password"])
def test_a_context_and_files_contradict_each_other(name: str) -> None:
    own = {"security_protocol": "SSL", "ssl_context": ssl.create_default_context()}
    with pytest.raises(ConfigError, match="not both") as caught:
        ConsumerConfig.of({**own, name: "x"})
    assert caught.value.option == name


def test_a_context_of_ones_own_says_itself_whether_names_are_compared() -> None:
    own = {"security_protocol": "SSL", "ssl_context": ssl.create_default_context()}
    with pytest.raises(ConfigError, match=r"ssl_context\.check_hostname"):
        ConsumerConfig.of({**own, "ssl_check_hostname": False})


def test_a_context_for_servers_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with pytest.raises(ConfigError, match="for clients"):
        ConsumerConfig.of({"security_protocol": "SSL", "ssl_context": context})


# -- files ------------------------------------------------------------------------------------


def test_a_context_of_files_verifies_certificates_and_names(
    cafile: str, identity: tuple[str, str]
) -> None:
    certfile, keyfile = identity
    files = {"ssl_cafile": cafile, "ssl_certfile": Path(certfile), "ssl_keyfile": keyfile}
    context = ConsumerConfig.of({"security_protocol": "SSL", **files}).net().security.tls
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert len(context.get_ca_certs()) == 1


def test_without_files_the_authorities_of_the_system_are_trusted() -> None:
    context = ConsumerConfig.of({"security_protocol": "SSL"}).net().security.tls
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_names_are_left_unchecked_only_on_demand_and_certificates_never(cafile: str) -> None:
    options = {"security_protocol": "SSL", "ssl_cafile": cafile, "ssl_check_hostname": False}
    context = ConsumerConfig.of(options).net().security.tls
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, False)


def test_the_error_of_a_missing_or_wrong_file_names_its_option(
    tmp_path: Path, cafile: str, identity: tuple[str, str]
) -> None:
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing", encoding="utf-8")
    for path in (nothing, tmp_path / "missing.pem"):
        for option in ("ssl_cafile", "ssl_certfile"):
            config = ConsumerConfig.of({"security_protocol": "SSL", option: path})
            with pytest.raises(ConfigError, match=str(path)) as caught:
                config.net()
            assert caught.value.option == option


def test_the_error_of_a_wrong_passphrase_does_not_hold_it(
    tmp_path: Path, identity: tuple[str, str]
) -> None:
    certfile, keyfile = identity
    locked = tmp_path / "locked.key"
    locked.write_bytes(encrypted(Path(keyfile).read_bytes(), "right"))
    base = {"security_protocol": "SSL", "ssl_certfile": certfile, "ssl_keyfile": locked}
    assert ConsumerConfig.of({**base, "ssl_password": "right"}).net().security.tls is not None
    for wrong in ({"ssl_password": PASSWORD}, {}):
        with pytest.raises(ConfigError, match="ssl_password if the key is encrypted") as caught:
            ConsumerConfig.of({**base, **wrong}).net()
        assert PASSWORD not in str(caught.value)


def encrypted(key: bytes, passphrase: str) -> bytes:
    from cryptography.hazmat.primitives import serialization as keys  # noqa: PLC0415 - seldom

    return keys.load_pem_private_key(key, None).private_bytes(
        keys.Encoding.PEM,
        keys.PrivateFormat.PKCS8,
        keys.BestAvailableEncryption(passphrase.encode()),
    )


# -- doubts and secrets -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {**SCRAM, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"},
            "the password in the clear",
        ),
        ({**BEARER, "security_protocol": "SASL_PLAINTEXT"}, "the token in the clear"),
        ({"security_protocol": "SSL", "ssl_check_hostname": False}, "ssl_check_hostname is False"),
    ],
)
def test_what_is_allowed_and_unsafe_is_doubted(options: dict[str, Any], words: str) -> None:
    (doubt,) = ConsumerConfig.of(options).doubts()
    assert words in doubt


def test_a_context_that_trusts_anybody_is_doubted() -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    options = {"security_protocol": "SSL", "ssl_context": context}
    (doubt,) = ConsumerConfig.of(options).doubts()
    assert "compares no names" in doubt
    context.verify_mode = ssl.CERT_NONE
    (doubt,) = ConsumerConfig.of(options).doubts()
    assert "anybody can stand for a broker" in doubt


@pytest.mark.parametrize(
    "options", [SCRAM, BEARER, {**SCRAM, "security_protocol": "SASL_PLAINTEXT"}]
)
def test_sound_options_are_not_doubted(options: dict[str, Any]) -> None:
    assert ConsumerConfig.of(options).doubts() == ()


def test_no_repr_of_a_config_or_its_slices_shows_a_password() -> None:
    config = ConsumerConfig.of(SCRAM)
    for value in (config, config.net(), config.net().security, config.sasl_password):
        assert PASSWORD not in repr(value)


@pytest.mark.parametrize("value", [PASSWORD.encode(), [PASSWORD], PASSWORD + "\0"])
def test_a_password_of_a_wrong_kind_is_refused_without_being_shown(value: Any) -> None:
    with pytest.raises(ConfigError, match="not shown") as caught:
        ConsumerConfig.of({**SCRAM, "sasl_password": value})
    assert PASSWORD not in str(caught.value) + repr(caught.value.value)


def test_a_token_given_instead_of_a_function_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError, match="a function") as caught:
        ConsumerConfig.of({**BEARER, "sasl_oauth_token": "eyJhbGciOi"})
    assert "eyJhbGciOi" not in str(caught.value) + repr(caught.value.value)


def test_a_config_made_of_another_one_keeps_its_password() -> None:
    config = ConsumerConfig.of({"client_id": "till"}, base=ConsumerConfig.of(SCRAM))
    assert config.sasl_password == Secret(PASSWORD)


def test_a_password_behind_a_mistyped_name_is_not_shown() -> None:
    with pytest.raises(ConfigError, match="did you mean 'sasl_password'") as caught:
        ConsumerConfig.of({"sasl_pasword": "hunter2-and-more"})
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.value)
