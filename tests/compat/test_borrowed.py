"""What the facades borrow from the other clients: types, never a consumer or what drives one.

import-linter sees of a foreign package its name only, so the modules are looked at here.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

COMPAT = Path(__file__).parents[2] / "kgroup" / "compat"

BORROWED = {
    "aiokafka.__version__": "which names there are",
    "aiokafka.errors": "what programs catch",
    "aiokafka.structs": "what programs are given, and give",
    "aiokafka.abc": "listeners and token providers",
    "aiokafka.helpers": "contexts of TLS",
    "aiokafka.coordinator.assignors": "assignor classes",
    "kafka.__version__": "which names there are",
    "kafka.version": "the same",
    "kafka.errors": "what programs catch",
    "kafka.structs": "what programs are given, and give",
    "kafka.ConsumerRebalanceListener": "listeners; its module also holds the consumer's state",
    "kafka.AsyncConsumerRebalanceListener": "the same",
    "kafka.consumer.fetcher.ConsumerRecord": "the named tuple; its module also holds the fetcher",
    "kafka.codec": "which codecs programs have",
    "kafka.coordinator.assignors": "assignor classes",
    "kafka.future.Future": "what commit_async returns",
    "kafka.protocol.broker_version_data.BrokerVersionData": "which release takes which versions",
    "kafka.net.sasl.oauth.AbstractTokenProvider": "token providers",
    "kafka.serializer": "serialisers as objects",
}


def sources() -> list[Path]:
    return sorted(COMPAT.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of everything a module imports, wherever it does so."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield from (f"{node.module}.{each.name}" for each in node.names)


def is_borrowed(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in BORROWED)


def foreign(path: Path) -> set[str]:
    clients = ("aiokafka", "kafka", "confluent_kafka")
    return {name for name in imported(path) if name.partition(".")[0] in clients}


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(COMPAT).as_posix())
def test_a_facade_borrows_types_and_nothing_that_reads(path: Path) -> None:
    assert {name for name in foreign(path) if not is_borrowed(name)} == set()


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(COMPAT).as_posix())
def test_nothing_is_imported_by_a_name_made_at_run_time(path: Path) -> None:
    called = {
        node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not called & {"import_module", "__import__", "exec", "eval"}


def test_what_reads_would_be_found() -> None:
    names = ["aiokafka.AIOKafkaConsumer", "aiokafka.consumer", "aiokafka.client.AIOKafkaClient"]
    names += [
        "aiokafka.coordinator.consumer",
        "kafka.KafkaConsumer",
        "kafka.consumer.fetcher.Fetcher",
    ]
    names += ["aiokafka", "kafka", "aiokafka.errorsx"]
    assert not any(map(is_borrowed, names))
