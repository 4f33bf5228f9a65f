"""Security keys of kafka-python, as native options.

Decides: which of them count: those that the security protocol uses, as in kafka-python.
Never: puts a password or a token into an error. Speaks Kerberos.
KIPs: 12, 43, 84, 255, 342.
"""

import ssl
from collections.abc import Mapping
from typing import Any, Final

from kafka.errors import KafkaConfigurationError
from kafka.net.sasl.oauth import AbstractTokenProvider

__all__ = ["options_of"]

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_BY_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def options_of(given: Mapping[str, Any]) -> dict[str, object]:
    """Return the native options; reads the files of TLS.

    Args:
        given: every key.

    Raises:
        KafkaConfigurationError: a word is not known, something is missing, or it is Kerberos.
        OSError, ssl.SSLError: a file cannot be used.
    """
    protocol = given["security_protocol"]
    if protocol not in _PROTOCOLS:
        raise KafkaConfigurationError(
            f"security_protocol must be in {', '.join(_PROTOCOLS)}, not {protocol!r}"
        )
    options: dict[str, object] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        options["ssl_context"] = given["ssl_context"] or _context(given)
    if protocol.startswith("SASL"):
        options |= _sasl(given)
    return options


def _context(given: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = bool(given["ssl_check_hostname"])
    if given["ssl_cafile"]:
        context.load_verify_locations(given["ssl_cafile"])
    else:
        context.load_default_certs()
    if given["ssl_certfile"]:
        password = given["ssl_password"]
        context.load_cert_chain(given["ssl_certfile"], given["ssl_keyfile"], password)
    if given["ssl_crlfile"]:
        context.load_verify_locations(given["ssl_crlfile"])
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if given["ssl_ciphers"]:
        context.set_ciphers(given["ssl_ciphers"])
    return context


def _sasl(given: Mapping[str, Any]) -> dict[str, object]:
    mechanism = given["sasl_mechanism"]
    if mechanism in _BY_PASSWORD:
        name, password = given["sasl_plain_username"], given["sasl_plain_password"]
        if name is None or password is None:
            raise KafkaConfigurationError(
                f"sasl_plain_username and sasl_plain_password required for {mechanism}"
            )
        return {"sasl_mechanism": mechanism, "sasl_username": name, "sasl_password": password}
    if mechanism == "OAUTHBEARER":
        provider = given["sasl_oauth_token_provider"]
        if not isinstance(provider, AbstractTokenProvider):
            raise KafkaConfigurationError(
                "sasl_oauth_token_provider must implement "
                "kafka.net.sasl.oauth.AbstractTokenProvider"
            )
        return {
            "sasl_mechanism": mechanism,
            "sasl_oauth_token": provider.token,
            "sasl_oauth_extensions": provider.extensions(),
        }
    if mechanism == "GSSAPI":
        raise KafkaConfigurationError(
            "sasl_mechanism='GSSAPI' cannot be honoured: Kerberos is not spoken here; take "
            "SCRAM-SHA-512 or OAUTHBEARER, or stay with kafka-python for this consumer"
        )
    known = ", ".join((*_BY_PASSWORD, "OAUTHBEARER"))
    raise KafkaConfigurationError(f"sasl_mechanism must be one of {known}, not {mechanism!r}")
