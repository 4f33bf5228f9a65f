"""The pytest plugin of kgroup: Kafka brokers as fixtures, and a list of which test used which.

Decides: how long a broker lives. `kgroup_broker` and `kgroup_cluster` are in-process brokers on
loopback sockets, new for each test, for tests of any client, async or not; nothing is needed for
them but this process. The others are real: `kafka` is one node of each version asked for, for the
whole run (0.3 GB, idle between tests), `kafka_secure` one with TLS, SASL and access rules,
`kafka_cluster` three brokers and a controller for one module; tests may kill its nodes, and each
test finds it whole again. Several may be up at once; where times are measured, keep such tests in
a module of their own and away from others by `-k` or `-m`.
Where no real Kafka can be had, in-process brokers stand in for it, and the closing lines of the run
say so and name the three ways to have one. With KGROUP_REQUIRE_REAL set nothing stands in, with
KGROUP_KAFKA=in-process nothing real is looked for.
Never: imports a broker before a test asks for one, or counts a stand-in as real.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from kgroup.errors import MissingExtraError, UnsupportedError

if TYPE_CHECKING:
    from kgroup.testing.broker.inprocess import InProcessBroker
    from kgroup.testing.kafka import RealKafka

_USED = pytest.StashKey[defaultdict[str, list[str]]]()
_STOOD_IN = pytest.StashKey[str]()


_CLUSTER = 3
_OPTIONS = (
    "kgroup_broker(**options): sets up the fixture kgroup_broker or kgroup_cluster of a test; the "
    "options are those of InProcessBroker, such as topics={'orders': 3} or release='3.9.1'"
)


@pytest.fixture
def kgroup_broker(request: pytest.FixtureRequest) -> "Iterator[InProcessBroker]":
    """One in-process broker on a loopback socket, new for each test.

    Example:
        @pytest.mark.kgroup_broker(topics={"orders": 3})
        def test_it(kgroup_broker):
            client = SomeClient(bootstrap_servers=kgroup_broker.bootstrap_servers)

    The marker takes the options of `InProcessBroker`; those of a test come before those of its
    class and module.
    """
    yield from _served(request, nodes=1)


@pytest.fixture
def kgroup_cluster(request: pytest.FixtureRequest) -> "Iterator[InProcessBroker]":
    """Three in-process brokers on loopback sockets, new for each test; see `kgroup_broker`."""
    yield from _served(request, nodes=_CLUSTER)


def _served(request: pytest.FixtureRequest, nodes: int) -> "Iterator[InProcessBroker]":
    from kgroup.testing.broker.inprocess import InProcessBroker  # noqa: PLC0415

    options = {"nodes": nodes, **_options(request.node, [f.name for f in fields(InProcessBroker)])}
    try:
        broker = InProcessBroker(**options)
    except (TypeError, ValueError) as error:
        pytest.fail(f"the marker kgroup_broker of {request.node.nodeid}: {error}", pytrace=False)
    with broker.serve():
        yield broker


def _options(node: pytest.Item, known: Sequence[str]) -> dict[str, Any]:
    """Return what the marker says, those of the class or module under those of the test."""
    options: dict[str, Any] = {}
    for marker in reversed([*node.iter_markers("kgroup_broker")]):
        options |= marker.kwargs
        unknown = [name for name in marker.kwargs if name.startswith("_") or name not in known]
        wrong = [f"unknown option {name!r}" for name in unknown]
        wrong += [f"{value!r} has no name" for value in marker.args]
        if wrong:
            names = ", ".join(name for name in known if not name.startswith("_"))
            pytest.fail(
                f"the marker kgroup_broker of {node.nodeid}: {'; '.join(wrong)}; it takes, by "
                f"name: {names}; such as @pytest.mark.kgroup_broker(topics={{'orders': 3}})",
                pytrace=False,
            )
    return options


@pytest.fixture(scope="session")
def kafka_nodes(request: pytest.FixtureRequest) -> "Iterator[KafkaNodes]":
    """Every single node of this run, each started when a test first asks for its like."""
    with ExitStack() as stack:
        yield KafkaNodes(request.config, stack)


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest, kafka_nodes: "KafkaNodes") -> "RealKafka":
    """One real Kafka node for the whole run; parametrize it indirectly by version.

    Example:
        `@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)`
    """
    from kgroup.testing.kafka import DEFAULT_VERSION  # noqa: PLC0415

    return kafka_nodes.get(getattr(request, "param", DEFAULT_VERSION))


@pytest.fixture(scope="session")
def kafka_391(kafka_nodes: "KafkaNodes") -> "RealKafka":
    """One node of Kafka 3.9.1, the last version with the old group coordinator by default."""
    return kafka_nodes.get("3.9.1")


@pytest.fixture(scope="session")
def kafka_secure(request: pytest.FixtureRequest, kafka_nodes: "KafkaNodes") -> "RealKafka":
    """One node with TLS, SASL and access rules; its `access` says how to get in."""
    from kgroup.testing.kafka import DEFAULT_VERSION  # noqa: PLC0415

    return kafka_nodes.get(getattr(request, "param", DEFAULT_VERSION), secure=True)


@pytest.fixture(scope="module")
def kafka_cluster_of_module(request: pytest.FixtureRequest) -> "Iterator[RealKafka]":
    """Three brokers and a controller for one module; tests ask for `kafka_cluster`."""
    from kgroup.testing.kafka import DEFAULT_VERSION  # noqa: PLC0415

    version = getattr(request, "param", DEFAULT_VERSION)
    with _start(request.config, version, brokers=3) as started:
        yield started


@pytest.fixture
def kafka_cluster(kafka_cluster_of_module: "RealKafka") -> "RealKafka":
    """Three brokers and a controller, whole at the start of each test; nodes may be killed."""
    kafka_cluster_of_module.heal()
    return kafka_cluster_of_module


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and prepare the list of brokers used."""
    config.addinivalue_line("markers", _OPTIONS)
    used: defaultdict[str, list[str]] = defaultdict(list)
    config.stash[_USED] = used


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note which broker a test runs on."""
    brokers = {_describe(value) for value in getattr(item, "funcargs", {}).values()}
    for broker in sorted(brokers - {None}, key=str):
        item.config.stash[_USED][str(broker)].append(item.nodeid)
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which broker each part of the run used."""
    used = terminalreporter.config.stash[_USED]
    if not used:
        return
    terminalreporter.section("brokers")
    reason = terminalreporter.config.stash.get(_STOOD_IN, None)
    if reason is not None:
        terminalreporter.write_line(f"in-process brokers stood in for real ones: {reason}")
    for broker, tests in used.items():
        terminalreporter.write_line(f"{broker}: {len(tests)} test(s)")
        for module, count in _by_module(tests).items():
            terminalreporter.write_line(f"  {count:4} {module}")


class KafkaNodes:
    """The single nodes of one run; they live until its end, idle between tests.

    Tests ask for versions in turns: starting a node each time would cost more than the tests.

    Args:
        config: of the run.
        stack: ends them.
    """

    def __init__(self, config: pytest.Config, stack: ExitStack) -> None:
        self._config = config
        self._stack = stack
        self._started: dict[tuple[str, bool], RealKafka] = {}

    def get(self, version: str, *, secure: bool = False) -> "RealKafka":
        """Return the node of a version, started if need be; skips the test when there is none."""
        wanted = version, secure
        if wanted not in self._started:
            started = _start(self._config, version, brokers=1, secure=secure)
            self._started[wanted] = self._stack.enter_context(started)
        return self._started[wanted]


def _start(
    config: pytest.Config, version: str, *, brokers: int, secure: bool = False
) -> "RealKafka":
    from kgroup.testing.kafka import RealKafka  # noqa: PLC0415

    if not secure and os.environ.get("KGROUP_KAFKA") == "in-process":
        return _stand_in(config, version, brokers, "KGROUP_KAFKA=in-process asks for it")
    try:
        started = RealKafka.start(version, brokers, progress=_progress(config), secure=secure)
    except (MissingExtraError, UnsupportedError) as error:
        if secure or os.environ.get("KGROUP_REQUIRE_REAL"):
            pytest.skip(str(error))
        return _stand_in(config, version, brokers, str(error))
    reason = _unfit(started, version, brokers)
    if reason:
        started.close()
        pytest.skip(reason)
    return started


def _stand_in(config: pytest.Config, version: str, brokers: int, reason: str) -> "RealKafka":
    from kgroup.testing.kafka.in_process import stand_in  # noqa: PLC0415

    config.stash[_STOOD_IN] = reason
    return stand_in(version, brokers)


def _unfit(kafka: "RealKafka", version: str, brokers: int) -> str | None:
    """Say why a given Kafka cannot stand for the one that was asked for."""
    if kafka.kind != "given":
        return None
    if brokers > 1:
        return f"{kafka.describe()}: tests of a cluster kill its nodes, and this one is not ours"
    from kgroup.testing.kafka import DEFAULT_VERSION  # noqa: PLC0415

    if version != DEFAULT_VERSION:
        return f"{kafka.describe()}: the test wants {version}"
    return None


def _progress(config: pytest.Config) -> Callable[[str], None]:
    """Show progress where a person waits for it, past the capture of the test's own output."""
    capture = config.pluginmanager.getplugin("capturemanager")
    reporter = config.pluginmanager.getplugin("terminalreporter")

    def show(line: str) -> None:
        if reporter is None or capture is None:
            return
        with capture.global_and_fixture_disabled():
            reporter.write_line("")
            reporter.write_line(line)

    return show


def _describe(value: object) -> str | None:
    """Return what a real Kafka says of itself, None for any other fixture."""
    known = getattr(type(value), "__module__", "") == "kgroup.testing.kafka.supply"
    describe = getattr(value, "describe", None)
    return str(describe()) if known and callable(describe) else None


def _by_module(tests: list[str]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for test in tests:
        counts[test.partition("::")[0]] += 1
    return counts
