"""A secured cluster on paper: listeners, certificates, users, and the options of a client."""

import base64
import json
import ssl
import time
from pathlib import Path, PurePath

import pytest

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError, IllegalStateError, UnsupportedError
from kgroup.testing.kafka import RealKafka, SecureAccess, broker, unsecured_token
from kgroup.testing.kafka.config import plan_cluster, server_properties
from kgroup.testing.kafka.given import GivenKafka
from kgroup.testing.kafka.secured import (
    LISTENERS,
    MECHANISMS,
    USERS,
    Certificates,
    make_certificates,
    scram_users,
)
from tests.testing.kafka.test_broker import remember

DATA = PurePath("cluster/node-1/data")


def lines_of(brokers: int, node: int) -> dict[str, str]:
    plan = plan_cluster("4.3.1", brokers, secure=True)
    text = server_properties(plan, plan.nodes[node], DATA)
    return dict(line.split("=", 1) for line in text.splitlines())


@pytest.mark.parametrize(("brokers", "node"), [(1, 0), (3, 1)])
def test_every_broker_has_each_listener_on_the_loopback_address(brokers: int, node: int) -> None:
    lines = lines_of(brokers, node)
    shown = [entry.split("://")[0] for entry in lines["advertised.listeners"].split(",")]
    assert shown == ["CLIENT", "INTERNAL", *LISTENERS]
    assert all("://127.0.0.1:" in entry for entry in lines["listeners"].split(","))
    protocols = dict(
        entry.split(":") for entry in lines["listener.security.protocol.map"].split(",")
    )
    assert {name: protocols[name] for name in LISTENERS} == LISTENERS


def test_the_controller_keeps_the_same_rules_and_listens_to_no_client() -> None:
    lines = lines_of(3, 0)
    assert lines["listeners"].startswith("CONTROLLER://")
    assert "," not in lines["listeners"]
    assert lines["authorizer.class.name"].endswith("StandardAuthorizer")


def test_without_a_rule_nothing_is_allowed() -> None:
    lines = lines_of(1, 0)
    assert lines["allow.everyone.if.no.acl.found"] == "false"
    assert lines["super.users"] == "User:ANONYMOUS"


def test_an_open_cluster_has_neither_rules_nor_secured_listeners() -> None:
    plan = plan_cluster("4.3.1", 1)
    text = server_properties(plan, plan.nodes[0], DATA)
    assert "SASL" not in text
    assert "authorizer" not in text
    assert list(plan.addresses()) == ["PLAINTEXT"]


def test_every_user_is_made_for_both_kinds_of_scram() -> None:
    words = list(scram_users())
    assert words.count("--add-scram") == 2 * len(USERS)
    assert f"SCRAM-SHA-512=[name=bob,password={USERS['bob']}]" in words


def test_the_certificates_are_those_a_client_and_a_broker_can_load(tmp_path: Path) -> None:
    made = make_certificates(tmp_path / "certificates")
    trust = ssl.create_default_context(cafile=str(made.authority))
    trust.load_cert_chain(str(made.client), str(made.client_key))
    text = Path(made.broker).read_text(encoding="utf-8")
    assert text.startswith("-----BEGIN PRIVATE KEY-----")
    assert "-----BEGIN CERTIFICATE-----" in text


@pytest.mark.parametrize("listener", ["PLAINTEXT", *LISTENERS])
def test_the_options_for_a_listener_are_options_of_a_consumer(
    listener: str, tmp_path: Path
) -> None:
    access = SecureAccess(
        dict.fromkeys(("PLAINTEXT", *LISTENERS), "127.0.0.1:1"), make_certificates(tmp_path)
    )
    for mechanism in MECHANISMS if listener.startswith("SASL") else (None,):
        security = ConsumerConfig.of(access.options(listener, mechanism)).net().security
        assert (security.tls is not None) == listener.endswith(("SSL", "TLS"))
        assert (security.sasl is not None) == (mechanism is not None)


def test_another_listener_or_user_is_refused_with_those_there_are() -> None:
    access = SecureAccess({"SSL": "127.0.0.1:1"}, Certificates(PurePath("x")))
    with pytest.raises(ConfigError, match="one of SSL"):
        access.options("TLS")
    with pytest.raises(ConfigError, match="one of alice, bob"):
        access.options("SSL", None, "carol")


@pytest.mark.parametrize("lifetime", [60.0, -60.0])
def test_a_token_has_a_subject_and_an_expiry_and_no_signature(lifetime: float) -> None:
    head, claims, signature = unsecured_token("alice", lifetime).split(".")
    token = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert json.loads(base64.urlsafe_b64decode(head + "=="))["alg"] == "none"
    assert (token["sub"], signature) == ("alice", "")
    assert token["exp"] - time.time() == pytest.approx(lifetime, abs=5)
    assert token["iat"] < token["exp"]


def test_a_given_kafka_is_not_secured_by_us() -> None:
    with pytest.raises(UnsupportedError, match="unset KGROUP_BOOTSTRAP"):
        RealKafka.start(secure=True, environ={"KGROUP_BOOTSTRAP": "somewhere:9092"})
    with pytest.raises(UnsupportedError, match="no secured listeners"):
        _ = RealKafka(GivenKafka("somewhere:9092", (1,))).access


def test_an_open_cluster_is_not_taken_for_a_secured_one(tmp_path: Path) -> None:
    environ = {"KGROUP_CACHE": str(tmp_path), "PATH": ""}
    remember(environ, tmp_path / "data", mark="python")
    with pytest.raises(IllegalStateError, match="1 open broker"):
        broker.up("4.3.1", 1, secure=True, environ=environ)


def test_what_is_remembered_of_a_cluster_leads_into_it(tmp_path: Path) -> None:
    environ = {"KGROUP_CACHE": str(tmp_path), "PATH": ""}
    path = remember(environ, tmp_path / "data", mark="python")
    known = json.loads(path.read_text(encoding="utf-8"))
    known["listeners"] = {"SSL": "127.0.0.1:9"}
    path.write_text(json.dumps(known), encoding="utf-8")
    state = broker.status(environ)
    assert state is not None
    assert state.access is not None
    assert state.access.options("SSL")["bootstrap_servers"] == "127.0.0.1:9"
