"""A scenario, measured: a Kafka is had, clients take turns, and results are kept.

Decides: which Kafka: the one at an address, or one of this machine, started and stopped, which
scenarios that want the same share; and that what is finished is kept when somebody interrupts.
Never: leaves a process, or a topic or group on a Kafka that lives on; begins what cannot be had.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from kgroup.bench.adapters import Adapters
from kgroup.bench.asking import check_brokers
from kgroup.bench.brokers import Brokers
from kgroup.bench.cells import KIP848
from kgroup.bench.contest import Contest, Entry, Means, steps
from kgroup.bench.result import build, entries_of, written
from kgroup.bench.scenario import Scenario
from kgroup.errors import ConfigError
from kgroup.testing.kafka import RealKafka
from kgroup.values import dataclass


class Progress(Protocol):
    """Shows a person how far it is."""

    def say(self, line: str) -> None:
        """Show a line."""
        ...

    def total(self, steps: int) -> None:
        """So many measurements there are."""
        ...

    def step(self, name: str) -> None:
        """One of them begins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is to be measured, and on what.

    Args:
        scenario: which.
        clients: names of adapters; none for those of the scenario.
        adapters: all there are.
        bootstrap: brokers to use, None for a new Kafka of this machine.
        brokers: of a new Kafka: 1 or 3.
        keep: file in which results are kept after each measurement, None for no file.
    """

    scenario: Scenario
    clients: Sequence[str]
    adapters: Adapters
    bootstrap: str | None = None
    brokers: int = 1
    keep: Path | None = None


class Kafkas:
    """A Kafka of this machine that lives until another one is wanted, or the block ends."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._kafka: RealKafka | None = None
        self._wanted: tuple[int, Mapping[str, str]] | None = None

    def get(
        self, brokers: int, settings: Mapping[str, str], say: Callable[[str], None]
    ) -> RealKafka:
        """Return the Kafka there is when it is such a one, else a new one.

        Args:
            brokers: 1 or 3.
            settings: of the brokers.
            say: takes a line for people.

        Raises:
            UnsupportedError: there is no Kafka to be had.
        """
        if self._kafka is None or self._wanted != (brokers, settings):
            self._close()
            start = RealKafka.start(brokers=brokers, settings=settings, progress=say)
            self._kafka = self._stack.enter_context(start)
            self._wanted = brokers, settings
        return self._kafka

    def _close(self) -> None:
        self._kafka = None
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._close()


def measured(
    run: Run, progress: Progress, before: Sequence[Entry] = (), kafkas: Kafkas | None = None
) -> dict[str, Any]:
    """Measure a scenario and return the results; interrupted, what was finished.

    Args:
        run: what.
        progress: shows how far it is.
        before: cells with samples of an earlier, interrupted run; they are not measured again.
        kafkas: where a Kafka of this machine comes from, None for one of its own.

    Raises:
        ArgumentError: an adapter is not known.
        ConfigError: one of the scenario is not, or the brokers are too old or refuse topics.
        NoBrokerError: the brokers do not answer.
        UnsupportedError: there is no Kafka to be had.
    """
    check(run)
    # One that was wrong stays so, however often it is asked.
    kept = (entry for entry in before if entry.status in {"measured", "wrong"})
    known = {entry.cell.name: entry for entry in kept}
    cells = [*run.scenario.cells(run.clients)]
    entries = [known.get(cell.name, Entry(cell)) for cell in cells]
    for entry, cell in zip(entries, cells, strict=True):
        entry.cell = cell  # a result does not say all of it
    with ExitStack() as stack:
        kafkas = kafkas or stack.enter_context(Kafkas())
        bootstrap, broker, kafka = _kafka(run, kafkas, progress.say)
        prefix = f"kgroup-{secrets.token_hex(3)}-"
        if kafka is None:
            newer = any(each.client.endswith(KIP848) for each in cells)
            check_brokers(bootstrap, prefix, f"{run.scenario.name}: brokers", newer=newer)
        means = Means(adapters=run.adapters, brokers=Brokers(kafka), prefix=prefix)
        contest = Contest(bootstrap, run.scenario.plan, progress.say, means)
        stack.callback(contest.tidy)
        progress.total(steps(run.scenario.plan, entries))

        def step(name: str) -> None:
            _keep(run, broker, entries, complete=False)
            progress.step(name)

        complete = True
        try:
            contest.run(entries, step)
        except KeyboardInterrupt:
            complete = False
        return _keep(run, broker, entries, complete=complete)


def check(run: Run) -> None:
    """Refuse what cannot be measured, before anything is started.

    Raises:
        ConfigError: an adapter of the scenario is not known.
        ArgumentError: one that was asked for is not.
    """
    names = run.adapters.names
    for name in run.scenario.clients:
        if not run.clients and name not in names:
            near = next(iter(get_close_matches(name, names, 1)), None)
            expected = f"one of {', '.join(names)}, or --adapter '{name}=COMMAND'"
            where = f"{run.scenario.name}.toml: clients.{name}"
            raise ConfigError(where, [*run.scenario.clients[name]], expected, nearest=near)
    run.adapters.check(run.clients)


def is_whole(run: Run, document: Mapping[str, Any]) -> bool:
    """Return whether results of an earlier run leave nothing to measure.

    Args:
        run: what is to be measured.
        document: those results.
    """
    entries = entries_of(document)
    wanted = {cell.name for cell in run.scenario.cells(run.clients)}
    known = wanted <= {entry.cell.name for entry in entries if entry.status != "failed"}
    return bool(document["complete"]) and known and not steps(run.scenario.plan, entries)


def _kafka(
    run: Run, kafkas: Kafkas, say: Callable[[str], None]
) -> tuple[str, str, RealKafka | None]:
    """Return the brokers, what they are, and the Kafka, None for one that lives on."""
    if run.bootstrap is not None:
        return run.bootstrap, _given(run, say), None
    kafka = kafkas.get(run.brokers, run.scenario.broker, say)
    if kafka.kind == "given":
        return kafka.bootstrap, _given(run, say), None
    return kafka.bootstrap, kafka.describe().rpartition(", ")[0], kafka


def _given(run: Run, say: Callable[[str], None]) -> str:
    """Return what is known of a Kafka that was given; say what it may not be like."""
    for key, value in run.scenario.broker.items():
        say(f"the brokers keep their own {key}; the scenario is about {value}")
    return "given"


def _keep(run: Run, broker: str, entries: Sequence[Entry], *, complete: bool) -> dict[str, Any]:
    plan, name = run.scenario.plan, run.scenario.name
    document = build(plan, broker, entries, scenario=name, complete=complete)
    if run.keep is not None:
        scratch = run.keep.with_suffix(".new")
        scratch.write_text(written(document), encoding="utf-8")
        scratch.replace(run.keep)
    return document
