"""A secured Kafka for tests: its listeners, users and certificates, and how a client uses them.

Decides: the listeners beside the open one, which users may log in, how brokers are configured for
both.
Never: guards anything: names and passwords are the same everywhere, and written down here. The
open listener (PLAINTEXT) stays; clients that use it may do everything.
KIPs: 12, 43, 84, 255, 651 (PEM), 801 (StandardAuthorizer), 900 (SCRAM users at format time).

Acls: Access rules of a secured Kafka, added and taken away, by blocking calls. Decides:
how a rule is written down. Never: waits by itself until every broker has heard of a change; that
takes milliseconds, and `acls_stand` tells whether one has. KIPs: 11 (ACLs), 290 (patterns).
"""

import base64
import importlib
import importlib.util
import json
import time
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Final, TypeVar

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, ConfigError, MissingExtraError
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.values import dataclass
from kgroup.wire.messages import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)

LISTENERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "SSL": "SSL",
        "MUTUAL_TLS": "SSL",
        "SASL_PLAINTEXT": "SASL_PLAINTEXT",
        "SASL_SSL": "SASL_SSL",
    }
)
"""Name of a listener -> its protocol; MUTUAL_TLS wants a certificate of its clients."""

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

USERS: Final[Mapping[str, str]] = MappingProxyType(
    {"alice": "alice-may-everything", "bob": "bob-may-nothing"}
)
"""Name -> password. The first is allowed everything, the second nothing until it is granted."""

_SECURITY: Final = "org.apache.kafka.common.security"
_HOSTS: Final = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files.

    Args:
        folder: where they are.
    """

    folder: PurePath

    @property
    def authority(self) -> PurePath:
        """Certificate that everybody trusts."""
        return self.folder / "ca.pem"

    @property
    def broker(self) -> PurePath:
        """Key and certificate of every broker."""
        return self.folder / "broker.pem"

    @property
    def client(self) -> PurePath:
        """Certificate of alice."""
        return self.folder / "alice.pem"

    @property
    def client_key(self) -> PurePath:
        """Key of alice."""
        return self.folder / "alice.key"


@dataclass(frozen=True, slots=True)
class SecureAccess:
    """How to get into a secured Kafka.

    Args:
        addresses: listener -> `host:port` of every broker, separated by commas.
        certificates: what to trust, and alice's own.
    """

    addresses: Mapping[str, str]
    certificates: Certificates

    def options(
        self, listener: str, mechanism: str | None = None, user: str = "alice"
    ) -> dict[str, Any]:
        """Return a consumer's options for a listener.

        Args:
            listener: one of `LISTENERS`, or PLAINTEXT.
            mechanism: one of `MECHANISMS`; None where the listener has no SASL.
            user: one of `USERS`.

        Raises:
            ConfigError: there is no such listener or user.
        """
        if listener not in self.addresses:
            raise ConfigError("listener", listener, f"one of {', '.join(self.addresses)}")
        if user not in USERS:
            raise ConfigError("user", user, f"one of {', '.join(USERS)}")
        protocol = LISTENERS.get(listener, listener)
        found: dict[str, Any] = {
            "bootstrap_servers": self.addresses[listener],
            "security_protocol": protocol,
        }
        if protocol in ("SSL", "SASL_SSL"):
            found["ssl_cafile"] = str(self.certificates.authority)
        if listener == "MUTUAL_TLS":
            found["ssl_certfile"] = str(self.certificates.client)
            found["ssl_keyfile"] = str(self.certificates.client_key)
        if mechanism == "OAUTHBEARER":
            found |= {"sasl_mechanism": mechanism, "sasl_oauth_token": _token_of(user)}
        elif mechanism is not None:
            found |= {"sasl_mechanism": mechanism, "sasl_username": user}
            found["sasl_password"] = USERS[user]
        return found


def unsecured_token(subject: str, lifetime: float = 3600.0) -> str:
    """Return a token that Kafka's validator for tests accepts without a signature.

    Args:
        subject: its user; becomes the principal `User:subject`.
        lifetime: seconds from now; negative for one that has expired.
    """
    now = time.time()
    head = {"alg": "none", "typ": "JWT"}
    claims = {"sub": subject, "iat": min(now, now + lifetime) - 60, "exp": now + lifetime}
    parts = (json.dumps(part).encode() for part in (head, claims))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


def _token_of(user: str) -> Any:  # noqa: ANN401 - a function
    return lambda: unsecured_token(user)


def make_certificates(folder: Path) -> Certificates:
    """Write an authority, a certificate for all brokers of this machine, and one for alice.

    Raises:
        MissingExtraError: trustme is not installed.
    """
    if importlib.util.find_spec("trustme") is None:
        raise MissingExtraError("a secured Kafka", "testing")
    trustme = importlib.import_module("trustme")
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificates(folder)
    authority = trustme.CA()
    broker = authority.issue_cert(*_HOSTS)
    client = authority.issue_cert("alice", common_name="alice")
    authority.cert_pem.write_to_path(str(made.authority))
    chain = b"".join(blob.bytes() for blob in broker.cert_chain_pems)
    Path(made.broker).write_bytes(_pkcs8(broker.private_key_pem.bytes()) + chain)
    client.cert_chain_pems[0].write_to_path(str(made.client))
    client.private_key_pem.write_to_path(str(made.client_key))
    return made


def _pkcs8(key: bytes) -> bytes:
    """Return a PEM key in the only form Kafka reads."""
    forms = importlib.import_module("cryptography.hazmat.primitives.serialization")
    loaded = forms.load_pem_private_key(key, None)
    pem, pkcs8 = forms.Encoding.PEM, forms.PrivateFormat.PKCS8
    written: bytes = loaded.private_bytes(pem, pkcs8, forms.NoEncryption())
    return written


def scram_users() -> Iterator[str]:
    """Yield the options that make the SCRAM users when a node is formatted."""
    for name, password in USERS.items():
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            yield "--add-scram"
            yield f"{mechanism}=[name={name},password={password}]"


def secure_properties(certificates: Certificates) -> dict[str, str]:
    """Return the settings that every node has beside its addresses."""
    found = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        # Brokers among themselves, the quorum, and the open listener.
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "listener.name.mutual_tls.ssl.client.auth": "required",
        "listener.name.mutual_tls.ssl.principal.mapping.rules": "RULE:^CN=([^,]+),.*$/$1/,DEFAULT",
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        for mechanism, module in _login_modules().items():
            key = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
            found[key] = f"{_SECURITY}.{module};"
    return found


def _login_modules() -> dict[str, str]:
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    scram = "scram.ScramLoginModule required"
    bearer = "oauthbearer.OAuthBearerLoginModule required"
    return {
        "PLAIN": f"plain.PlainLoginModule required {users}",
        "SCRAM-SHA-256": scram,
        "SCRAM-SHA-512": scram,
        "OAUTHBEARER": f'{bearer} unsecuredLoginStringClaim_sub="broker"',
    }


# -- acls ------------------------------------------------------------------------------------------


Filter = TypeVar("Filter", DeleteAclsFilter, DescribeAclsRequest)

_LITERAL = 3
_DENY, _ALLOW = 2, 3
_ANY_HOST = "*"


class AclOperation(IntEnum):
    """What is allowed or denied."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8


class AclResource(IntEnum):
    """What it is done to."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4


@dataclass(frozen=True, slots=True)
class Acl:
    """One rule.

    Args:
        user: the name behind "User:".
        resource: what kind of thing.
        name: its name; "*" for all, "kafka-cluster" for the cluster.
        operation: what is allowed.
        allowed: False denies it, whatever else allows it.
    """

    user: str
    resource: AclResource
    name: str
    operation: AclOperation = AclOperation.ALL
    allowed: bool = True


def add_acls(bootstrap: str, *acls: Acl) -> None:
    """Add rules.

    Args:
        bootstrap: `host:port` of the open listener.
        acls: the rules; those that are there already stay.

    Raises:
        BrokerError: one was refused.
    """
    rows = tuple(
        AclCreation(
            resource_type=acl.resource,
            resource_name=acl.name,
            resource_pattern_type=_LITERAL,
            principal=_principal(acl),
            host=_ANY_HOST,
            operation=acl.operation,
            permission_type=_permission(acl),
        )
        for acl in acls
    )
    with Probe(parse_bootstrap(bootstrap)[0]) as probe:
        answer = probe.ask(CreateAclsRequest(creations=rows))
    for acl, row in zip(acls, answer.results, strict=True):
        if row.error_code != ErrorCode.NONE:
            raise BrokerError("CreateAcls", row.error_code, f"{acl}: {row.error_message}")


def remove_acls(bootstrap: str, *acls: Acl) -> int:
    """Take rules away; return how many there were.

    Raises:
        BrokerError: one was refused.
    """
    rows = tuple(_exactly(DeleteAclsFilter, acl) for acl in acls)
    with Probe(parse_bootstrap(bootstrap)[0]) as probe:
        answer = probe.ask(DeleteAclsRequest(filters=rows))
    for acl, row in zip(acls, answer.filter_results, strict=True):
        if row.error_code != ErrorCode.NONE:
            raise BrokerError("DeleteAcls", row.error_code, f"{acl}: {row.error_message}")
    return sum(len(row.matching_acls) for row in answer.filter_results)


def acls_stand(bootstrap: str, *acls: Acl) -> bool:
    """Tell whether a broker carries out all of some rules.

    Args:
        bootstrap: `host:port` of its open listener.
        acls: the rules.

    Raises:
        BrokerError: it does not tell.
    """
    with Probe(parse_bootstrap(bootstrap)[0]) as probe:
        return all(_stands(probe, acl) for acl in acls)


def _stands(probe: Probe, acl: Acl) -> bool:
    answer = probe.ask(_exactly(DescribeAclsRequest, acl))
    if answer.error_code != ErrorCode.NONE:
        raise BrokerError("DescribeAcls", answer.error_code, f"{acl}: {answer.error_message}")
    return bool(answer.resources)


def _exactly(kind: Callable[..., Filter], acl: Acl) -> Filter:
    """Return what matches one rule, and no other."""
    return kind(
        resource_type_filter=acl.resource,
        resource_name_filter=acl.name,
        pattern_type_filter=_LITERAL,
        principal_filter=_principal(acl),
        host_filter=_ANY_HOST,
        operation=acl.operation,
        permission_type=_permission(acl),
    )


def _principal(acl: Acl) -> str:
    return f"User:{acl.user}"


def _permission(acl: Acl) -> int:
    return _ALLOW if acl.allowed else _DENY
