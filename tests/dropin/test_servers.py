"""The Kafka that the tests of a peer are given."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kgroup.testing.broker.inprocess import InProcessBroker
from kgroup.testing.kafka.in_process import stand_in
from tests.dropin.servers import NoKerberos, NoUsers, lay_certificates, serve, start_kafka

WITH_A_SERVER = """
    import pytest

    def test_hosts(kafka_server, ssl_folder, docker):
        assert kafka_server.hosts == ["{bootstrap}"]
        assert f"{{kafka_server.host}}:{{kafka_server.port}}" == "{bootstrap}"
        assert not list(ssl_folder.iterdir())

    @pytest.mark.ssl
    def test_tls(kafka_server):
        raise AssertionError("there is no TLS")
"""


def test_a_kafka_without_tls_has_no_port_and_no_certificates_for_it(tmp_path: Path) -> None:
    with stand_in("4.3.1", 1) as kafka:
        server = serve(kafka)
        assert f"{server.host}:{server.port}" == kafka.bootstrap
        assert (server.ssl_port, server.sasl_plain_port, server.sasl_ssl_port) == (0, 0, 0)
        assert not [*lay_certificates(kafka, tmp_path).iterdir()]


def test_the_kafka_that_is_given_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = InProcessBroker()
    with broker.serve():
        monkeypatch.setenv("KGROUP_BOOTSTRAP", broker.bootstrap_servers)
        with start_kafka("4.3.1", print, secured=True) as kafka:
            assert (kafka.kind, kafka.bootstrap) == ("given", broker.bootstrap_servers)


def test_tests_that_want_tls_are_skipped_with_a_kafka_that_is_given(
    run: Callable[..., pytest.RunResult], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = InProcessBroker()
    with broker.serve():
        monkeypatch.setenv("KGROUP_BOOTSTRAP", broker.bootstrap_servers)
        text = WITH_A_SERVER.format(bootstrap=broker.bootstrap_servers)
        (tree / "suite" / "test_server.py").write_text(_dedented(text), encoding="utf-8")
        ran = run("suite/test_server.py")
    ran.stdout.fnmatch_lines(
        ["related: 1 of 2 (1 skipped)", "  skipped: *test_tls: KGROUP_BOOTSTRAP names a Kafka *"]
    )


def test_what_this_kafka_has_not_skips_the_test_that_asks_for_it() -> None:
    with pytest.raises(pytest.skip.Exception, match="no Kerberos server for client/localhost"):
        NoKerberos().kinit("client/localhost")
    with pytest.raises(pytest.skip.Exception, match="no SCRAM user 'test'"):
        NoUsers().add_scram_user("test", "secret")


def _dedented(text: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in text.splitlines())
