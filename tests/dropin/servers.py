"""The Kafka that a peer's tests are given, and what their fixtures want to do with it.

Decides: topics are made on demand with two partitions; where a local process can be had there are
listeners with TLS and SASL, for the user that the tests log in by; without any rule everybody may
do everything, as in the containers that the suites were written for.
Never: needs a container engine; a Kafka that is given (KGROUP_BOOTSTRAP) stays as it is, and tests
that want TLS are skipped with it.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import pytest

from kgroup.errors import MissingExtraError, UnsupportedError
from kgroup.testing.kafka import (
    DEFAULT_VERSION,
    Acl,
    AclOperation,
    AclResource,
    RealKafka,
    add_acls,
    remove_acls,
)
from kgroup.testing.kafka.secured import acls_stand

_VERSION_VARIABLE: Final = "KAFKA_VERSION"

_OPEN: Final = {
    "auto.create.topics.enable": "true",
    "num.partitions": "2",
}
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_SECURED: Final = {
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS;User:alice",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{_PLAIN} user_test="test";',
    "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{_PLAIN} user_test="test";',
}

_PATIENCE: Final = 10.0
_LOOK_AGAIN: Final = 0.02


@dataclass(frozen=True, slots=True)
class Server:
    """A Kafka, by the names that aiokafka's tests have for it.

    Args:
        host: of all listeners.
        port: of the open listener.
        ssl_port: of the one with TLS; 0 when there is none, as with the next two.
        sasl_plain_port: of the one with SASL.
        sasl_ssl_port: of the one with both.
        kafka: what it is.
    """

    host: str
    port: int
    ssl_port: int
    sasl_plain_port: int
    sasl_ssl_port: int
    kafka: RealKafka

    @property
    def hosts(self) -> list[str]:
        """Where clients begin."""
        return self.kafka.bootstrap.split(",")


def version_of(wanted: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """Return the version the tests get, before any Kafka is there.

    Args:
        wanted: by an option, or None.
        environ: KAFKA_VERSION says the version of a Kafka that is given.
    """
    return wanted or environ.get(_VERSION_VARIABLE) or DEFAULT_VERSION


def start_kafka(
    version: str, progress: Callable[[str], None], *, secured: bool = False
) -> RealKafka:
    """Start a Kafka as the suites expect it, or take the one that is given.

    Args:
        version: of Kafka.
        progress: called with words on how far it is.
        secured: whether listeners with TLS and SASL are of use; there are none where it is given.

    Raises:
        UnsupportedError: none can be had here; the message names the ways.
        NoBrokerError: the one that is given does not answer.
    """
    if secured:
        try:
            kafka = RealKafka.start(
                version, settings={**_OPEN, **_SECURED}, secure=True, progress=progress
            )
        except (MissingExtraError, UnsupportedError):
            pass  # TLS is for one test; the others can do without
        else:
            _forget_rules(kafka.bootstrap)
            return kafka
    return RealKafka.start(version, settings=_OPEN, progress=progress)


def _forget_rules(bootstrap: str) -> None:
    """Remove what kgroup's own tests grant on everything: it would deny everything to others."""
    everything = {AclResource.TOPIC: "*", AclResource.GROUP: "*"}
    everything[AclResource.CLUSTER] = "kafka-cluster"
    remove_acls(bootstrap, *(Acl("alice", kind, name) for kind, name in everything.items()))


def serve(kafka: RealKafka) -> Server:
    """Return a Kafka by the names of aiokafka's tests."""
    host, _, port = kafka.bootstrap.split(",")[0].rpartition(":")
    names = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
    ssl, sasl_plain, sasl_ssl = (_port(kafka, name) for name in names)
    return Server(host, int(port), ssl, sasl_plain, sasl_ssl, kafka)


def _port(kafka: RealKafka, listener: str) -> int:
    try:
        return int(kafka.access.addresses[listener].rpartition(":")[2])
    except UnsupportedError:
        return 0


def lay_certificates(kafka: RealKafka, folder: Path) -> Path:
    """Copy the certificates to the names that aiokafka's tests look for.

    Args:
        kafka: a secured one, or not: then the folder stays empty.
        folder: an empty one.
    """
    try:
        made = kafka.access.certificates
    except UnsupportedError:
        return folder
    copies = {"ca.crt": made.authority, "client.crt": made.client, "client.key": made.client_key}
    for name, source in copies.items():
        shutil.copyfile(source, folder / name)
    return folder


class AccessRules:
    """Adds and removes rules, by the words of aiokafka's tests.

    Args:
        bootstrap: `host:port` of the open listener.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._added: list[Acl] = []

    def list_acl(self, principal: str | None = None) -> list[Acl]:
        """Return the rules that were added."""
        return [acl for acl in self._added if principal in {None, acl.user}]

    def add_acl(self, **words: str) -> None:
        """Add a rule, e.g. `add_acl(deny_principal="test", operation="READ", topic="t")`."""
        acl = _rule(words)
        add_acls(self._bootstrap, acl)
        self._added.append(acl)
        self._until_it_stands(acl)

    def remove_acl(self, **words: str) -> None:
        """Remove a rule that was added by the same words."""
        acl = _rule(words)
        remove_acls(self._bootstrap, acl)
        self._added.remove(acl)

    def _until_it_stands(self, acl: Acl) -> None:
        """Wait for it: a broker carries a rule out after it has confirmed it; the tests do not."""
        deadline = time.monotonic() + _PATIENCE
        while not acls_stand(self._bootstrap, acl):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no broker carries out {acl} within {_PATIENCE:g} s")
            time.sleep(_LOOK_AGAIN)

    def cleanup(self) -> None:
        """Remove what was added."""
        if self._added:
            remove_acls(self._bootstrap, *self._added)
            self._added.clear()


def _rule(words: Mapping[str, object]) -> Acl:
    allowed = words.get("allow_principal")
    user = str(allowed or words["deny_principal"])
    operation = AclOperation[str(words["operation"]).upper()]
    for kind in (AclResource.TOPIC, AclResource.GROUP):
        if kind.name.lower() in words:
            return Acl(user, kind, str(words[kind.name.lower()]), operation, bool(allowed))
    if "cluster" in words:
        return Acl(user, AclResource.CLUSTER, "kafka-cluster", operation, bool(allowed))
    pytest.skip(f"no rule can be made of {words}: it is about a producer")


class NoUsers:
    """Stands where aiokafka's tests make SCRAM users."""

    def add_scram_user(self, username: str, password: str) -> NoReturn:
        """Skip the test."""
        pytest.skip(f"kgroup's Kafka has no SCRAM user {username!r}")


class NoKerberos:
    """Stands where aiokafka's tests log in at a Kerberos server."""

    def kinit(self, principal: str) -> NoReturn:
        """Skip the test."""
        pytest.skip(f"there is no Kerberos server for {principal}")

    def kdestroy(self) -> None:
        """Do nothing: nobody was logged in."""
