"""A scenario, measured: a Kafka is had, clients take turns, and results are kept.

Decides: which Kafka: the one at an address, or a new one of this machine, started and stopped; and
that what is finished is kept when somebody interrupts.
Never: leaves a process, or a topic on a Kafka that lives on.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from kgroup.bench.adapters import Adapters
from kgroup.bench.brokers import Brokers
from kgroup.bench.contest import Contest, Entry, Means
from kgroup.bench.result import build, written
from kgroup.bench.scenario import Scenario
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


def measured(run: Run, progress: Progress, before: Sequence[Entry] = ()) -> dict[str, Any]:
    """Measure a scenario and return the results; interrupted, what was finished.

    Args:
        run: what.
        progress: shows how far it is.
        before: cells with samples of an earlier, interrupted run; they are not measured again.

    Raises:
        ArgumentError: an adapter is not known.
        NoBrokerError, BrokerError: the brokers do not answer, or refuse topics.
        UnsupportedError: there is no Kafka to be had.
    """
    run.adapters.check(run.clients)
    known = {entry.cell.name: entry for entry in before if entry.status == "measured"}
    cells = [*run.scenario.cells(run.clients)]
    entries = [known.get(cell.name, Entry(cell)) for cell in cells]
    for entry, cell in zip(entries, cells, strict=True):
        entry.cell = cell  # a result does not say all of it
    with ExitStack() as stack:
        bootstrap, broker, kafka = _kafka(run, stack, progress.say)
        prefix = f"kgroup-{secrets.token_hex(3)}-"
        means = Means(adapters=run.adapters, brokers=Brokers(kafka), prefix=prefix)
        contest = Contest(bootstrap, run.scenario.plan, progress.say, means)
        if kafka is None:
            stack.callback(contest.tidy)
        progress.total(contest.steps(entries))

        def step(name: str) -> None:
            _keep(run, broker, entries, complete=False)
            progress.step(name)

        complete = True
        try:
            contest.run(entries, step)
        except KeyboardInterrupt:
            complete = False
        return _keep(run, broker, entries, complete=complete)


def _kafka(
    run: Run, stack: ExitStack, say: Callable[[str], None]
) -> tuple[str, str, RealKafka | None]:
    """Return the brokers, what they are, and the Kafka, None for one that lives on."""
    if run.bootstrap is not None:
        return run.bootstrap, _given(run, say), None
    kafka = stack.enter_context(
        RealKafka.start(brokers=run.brokers, settings=run.scenario.broker, progress=say)
    )
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
