"""Runs aiokafka's own tests with `kgroup.compat.aiokafka.AIOKafkaConsumer` as their consumer.

    cd aiokafka-0.14.0
    pytest -p tests.dropin.aiokafka_plugin

Decides: what its conftest would have a container engine do: one Kafka for the run, from kgroup's
own supply or KGROUP_BOOTSTRAP, with TLS and SASL where it can be.
Never: imports aiokafka before the options are read: which one is found is checked first.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgroup.errors import KGroupError
from tests.dropin.lent import lend_docker, lend_plugin_words, yield_name
from tests.dropin.placing import CLASS_VARIABLE
from tests.dropin.run import RUN, add_options, begin
from tests.dropin.servers import (
    AccessRules,
    NoKerberos,
    NoUsers,
    Server,
    lay_certificates,
    serve,
    start_kafka,
    version_of,
)
from tests.dropin.suite import LISTS

_SUPPLIED = (
    "acl_manager",
    "docker",
    "kafka_config",
    "kafka_image",
    "kafka_server",
    "kerberos_utils",
    "ssl_folder",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Make the options known, and those that aiokafka's configuration expects."""
    add_options(parser)
    mode = {"asyncio_mode": "for pytest-asyncio, which no test of a consumer needs"}
    lend_plugin_words(parser, "pytest_asyncio", {}, mode)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the class in place before the first test file is imported."""
    word = os.environ.get(CLASS_VARIABLE) or "facade"
    run = begin(early_config, LISTS / "aiokafka.toml", word, _SUPPLIED)
    lend_docker(run.undo)
    yield_name(run.undo, "tests", run.root)


def pytest_configure(config: pytest.Config) -> None:
    """Tell the tests which Kafka they run on; they read it from the name of an image."""
    if RUN in config.stash:
        config.option.docker_image = f"kgroup:{_version(config)}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what wants TLS where a Kafka is given, of whose certificates nothing is known."""
    if os.environ.get("KGROUP_BOOTSTRAP"):
        skip = pytest.mark.skip(reason="KGROUP_BOOTSTRAP names a Kafka without TLS")
        for item in items:
            if item.get_closest_marker("ssl"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def docker() -> None:
    """Nothing: no container is started."""


@pytest.fixture(scope="session")
def kafka_image(pytestconfig: pytest.Config) -> str:
    """The name of an image that is not pulled."""
    return f"kgroup:{_version(pytestconfig)}"


@pytest.fixture(scope="session")
def kafka_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """One Kafka for the whole run."""
    try:
        kafka = start_kafka(_version(pytestconfig), print, secured=True)
    except (KGroupError, TimeoutError) as error:
        pytest.exit(f"no Kafka for aiokafka's tests: {error}", pytest.ExitCode.USAGE_ERROR)
    with kafka:
        pytestconfig.stash[RUN].facts["kafka"] = kafka.version or "of unknown version"
        yield serve(kafka)


@pytest.fixture(scope="session")
def ssl_folder(kafka_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificates of that Kafka."""
    return lay_certificates(kafka_server.kafka, tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="class")
def acl_manager(kafka_server: Server) -> AccessRules:
    """Rules of access."""
    return AccessRules(kafka_server.hosts[0])


@pytest.fixture(scope="class")
def kafka_config() -> NoUsers:
    """No users of SCRAM."""
    return NoUsers()


@pytest.fixture(scope="class")
def kerberos_utils() -> NoKerberos:
    """No Kerberos."""
    return NoKerberos()


def _version(config: pytest.Config) -> str:
    return version_of(config.getoption("dropin_kafka"))
