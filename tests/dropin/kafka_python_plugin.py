"""Runs kafka-python's own tests with `kgroup.compat.kafka_python.KafkaConsumer` as their consumer.

    cd kafka-python-3.0.11
    pytest -p tests.dropin.kafka_python_plugin

Decides: which Kafka its fixtures get by KAFKA_URI and KAFKA_VERSION: one of kgroup's own
supply, or that of KGROUP_BOOTSTRAP. A KAFKA_URI that is set already stays.
Never: imports kafka-python before the options are read: which one is found is checked first.
"""

import os
from collections.abc import Iterator

import pytest

from kgroup.errors import KGroupError
from tests.dropin.lent import lend_plugin_words, lend_test_package, lend_variables
from tests.dropin.placing import CLASS_VARIABLE
from tests.dropin.run import RUN, add_options, begin
from tests.dropin.servers import start_kafka, version_of
from tests.dropin.suite import LISTS


def pytest_addoption(parser: pytest.Parser) -> None:
    """Make the options known, and those that kafka-python's configuration expects."""
    add_options(parser)
    limits = dict.fromkeys(("--timeout", "--timeout-method"), "for pytest-timeout")
    lend_plugin_words(parser, "pytest_timeout", limits, {})


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the class in place before the first test file is imported."""
    word = os.environ.get(CLASS_VARIABLE) or "facade"
    run = begin(early_config, LISTS / "kafka_python.toml", word, ())
    lend_test_package(run.undo, run.root / "test")
    version = version_of(early_config.known_args_namespace.dropin_kafka)
    # Its fixtures look for a folder of Kafka even where they start none.
    lend_variables(run.undo, {"KAFKA_VERSION": version, "KAFKA_ROOT": str(run.root)})


@pytest.fixture(scope="session", autouse=True)
def dropin_kafka(pytestconfig: pytest.Config) -> Iterator[None]:
    """One Kafka for the whole run."""
    run = pytestconfig.stash[RUN]
    if "KAFKA_URI" in os.environ:
        run.facts["kafka"] = f"{os.environ['KAFKA_VERSION']} as KAFKA_VERSION says"
        yield
        return
    try:
        kafka = start_kafka(os.environ["KAFKA_VERSION"], print)
    except (KGroupError, TimeoutError) as error:
        pytest.exit(f"no Kafka for kafka-python's tests: {error}", pytest.ExitCode.USAGE_ERROR)
    with kafka:
        run.facts["kafka"] = kafka.version or "of unknown version"
        lend_variables(run.undo, {"KAFKA_URI": f"kafka://{kafka.bootstrap.split(',')[0]}"})
        yield
