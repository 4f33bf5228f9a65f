"""`kgroup assignors check`: one assignor, held to what every assignor promises.

Decides: what the command line says is claimed, how progress and verdict look, and the exit code:
0 only when no promise is broken.
Never: judges; `kgroup.assignors.conformance` does.
"""

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from kgroup.assignors import BUILT_IN, Assignor, conformance, resolve
from kgroup.assignors.conformance import Claims, Outcome, Report, Status, Testable
from kgroup.assignors.registry import as_assignor, fault_of
from kgroup.cli.tables import Cell, make_table, screen
from kgroup.config.plugins import plug_ins
from kgroup.errors import ArgumentError, ConfigError
from kgroup.values import dataclass

_EXPECTED: Final = "the name of an assignor, or pkg.module:Class"


def load_assignors(words: Sequence[str]) -> dict[str, Assignor]:
    """Return assignors by what they are called in answers: their names, if those differ.

    Args:
        words: see `load_assignor`; none stands for all that are built in.

    Raises:
        ArgumentError: a word stands for no assignor, or stands there twice.
    """
    if not words:
        return dict(BUILT_IN)
    found: dict[str, Assignor] = {}
    for word in words:
        if word in found:
            raise ArgumentError("--assignor", word, "each assignor only once")
        found[word] = load_assignor(word)
    names = [assignor.name for assignor in found.values()]
    return {
        assignor.name if names.count(assignor.name) == 1 else word: assignor
        for word, assignor in found.items()
    }


def load_assignor(word: str, option: str = "--assignor") -> Assignor:
    """Return one assignor.

    Args:
        word: the name of a built-in assignor or of an installed plug-in; or `pkg.module:Name` of
            an assignor, of a class or function without arguments that makes one, or of an
            assignor of aiokafka or kafka-python.
        option: what the word was given for, for errors.

    Raises:
        ArgumentError: there is none, it cannot be loaded, or it is no assignor.
    """
    if ":" in word:
        return _imported(word, option)
    try:
        (assignor,) = resolve([word], plug_ins([word]))
    except ConfigError as error:
        near = f"; did you mean {error.nearest!r}?" if error.nearest else ""
        expected = f"{error.expected}, or pkg.module:Class{near}"
        raise ArgumentError(option, word, expected) from None
    return assignor


def import_named(word: str, option: str) -> object:
    """Return what stands under a name in a module, whatever it is.

    Args:
        word: `pkg.module:Name`; the module may be in the folder in which the command is run.
        option: what the word was given for, for errors.

    Raises:
        ArgumentError: there is no such thing, or its module cannot be imported.
    """
    module, _, path = word.partition(":")
    if not module or not path:
        raise ArgumentError(option, word, _EXPECTED)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does, which the command is not
    try:
        thing: object = importlib.import_module(module)
        for name in path.split("."):
            thing = getattr(thing, name)
    except Exception as error:  # foreign code: the caller gets the error
        raise ArgumentError(option, word, _loadable(error)) from error
    return thing


def _imported(word: str, option: str) -> Assignor:
    thing = import_named(word, option)
    try:
        made = _made(thing)
        fault = fault_of(made)
    except Exception as error:  # foreign code: the caller gets the error
        raise ArgumentError(option, word, _loadable(error)) from error
    if fault is not None or not isinstance(made, Assignor):
        raise ArgumentError(option, word, f"an assignor, but it {fault}")
    return made


def _loadable(error: Exception) -> str:
    return f"something that loads ({type(error).__name__}: {error})"


def _made(thing: object) -> object:
    wrapped = as_assignor(thing)
    if wrapped is not thing:
        return wrapped
    makes_one = isinstance(thing, type) or not hasattr(thing, "assign")
    return as_assignor(thing()) if makes_one and callable(thing) else thing


# -- assignors check -------------------------------------------------------------------------------


_ARGUMENT: Final = "ASSIGNOR"
_STYLES: Final = {
    Status.KEPT: "green",
    Status.BROKEN: "bold red",
    Status.NOT_BOUND: "dim",
    Status.NOT_JUDGED: "yellow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """What `kgroup assignors check` takes.

    Args:
        assignor: the name of one that is built in or installed, or `pkg.module:Name` of a class
            or a function that makes one without arguments, or of an instance.
        examples: groups that are drawn in all.
        balance: by how many partitions sizes may differ; None claims nothing.
        optimal: whether it claims that nothing is better balanced.
        sticky: whether it claims that members keep what they have.
        rounds: in which a cooperative group has to settle.
        seed: from which the groups are drawn.
        as_json: whether a program reads the answer.
    """

    assignor: Annotated[
        str,
        typer.Argument(
            metavar=_ARGUMENT,
            help="pkg.module:Class, pkg.module:INSTANCE, or a name of `kgroup assignors list`.",
        ),
    ]
    examples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Groups that are drawn in all.")
    ] = conformance.EXAMPLES
    balance: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Claim: with equal subscriptions sizes differ by N at most.",
        ),
    ] = None
    optimal: Annotated[
        bool, typer.Option("--optimal", help="Claim: no assignment is better balanced.")
    ] = False
    sticky: Annotated[
        bool, typer.Option("--sticky", help="Claim: members keep what they have.")
    ] = False
    rounds: Annotated[
        int,
        typer.Option(min=2, metavar="N", help="Rounds in which a cooperative group settles."),
    ] = Claims().rounds
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed draws the same groups.")] = 0
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False


def check(asked: Checking) -> None:
    """Hold an assignor to what every assignor promises, and to what is claimed of it.

    Thousands of groups are drawn, honest and hostile ones; what breaks a promise is made as small
    as it gets and shown as code to paste. Exit code 1 when a promise is broken.

    kgroup assignors check my_pkg.zones:ZoneAssignor

    kgroup assignors check cooperative-sticky --balance 1 --optimal --sticky
    """
    with redirect_stdout(sys.stderr):  # what an assignor prints is no part of the answer
        report = _judged(asked)
    if asked.as_json:
        print(json.dumps(report_json(report), indent=2))
    else:
        _show(report, screen())
    if not report.passed:
        raise typer.Exit(1)


def _judged(asked: Checking) -> Report:
    testable = _testable(asked.assignor)
    claims = Claims(
        balance=asked.balance, optimal=asked.optimal, sticky=asked.sticky, rounds=asked.rounds
    )
    try:
        with _no_files_left(), _shown_progress(screen(stderr=True)) as follow:
            return conformance.run(testable, claims, asked.examples, follow, seed=asked.seed)
    except (
        ConfigError
    ) as error:  # it is no assignor; the option it speaks of is not one of this verb
        raise ArgumentError(_ARGUMENT, asked.assignor, error.expected) from None


def report_json(report: Report) -> dict[str, object]:
    """Return a report for programs."""
    return {
        "assignor": report.assignor,
        "passed": report.passed,
        "claims": asdict(report.claims),
        "seed": report.seed,
        "examples": report.examples,
        "promises": [_outcome_json(outcome) for outcome in report.outcomes],
    }


def _outcome_json(outcome: Outcome) -> dict[str, object]:
    return {
        "name": outcome.check,
        "promise": outcome.promise.says,
        "status": outcome.status.value,
        "examples": outcome.examples,
        "reason": outcome.reason or None,
        "counterexample": outcome.counterexample,
    }


def _testable(word: str) -> Testable:
    """Return what a word names; a class or a function is left to the kit, which makes many."""
    if ":" not in word:
        return load_assignor(word, _ARGUMENT)
    named = import_named(word, _ARGUMENT)
    return cast("Testable", named)  # the kit says what is wrong if it is no such thing


@contextmanager
def _no_files_left() -> Iterator[None]:
    """Keep what Hypothesis notes on disk out of the folder in which the command is run."""
    try:
        from hypothesis.configuration import set_hypothesis_home_dir  # noqa: PLC0415
    except ImportError:  # the kit says what is missing
        yield
        return
    with TemporaryDirectory(prefix="kgroup-", ignore_cleanup_errors=True) as scratch:
        set_hypothesis_home_dir(scratch)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


@contextmanager
def _shown_progress(console: Console) -> Iterator[Callable[[conformance.Progress], None] | None]:
    """Yield what draws the bar; nothing where nobody would see it."""
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda now: bar.update(
            task, description=now.promise.name, completed=now.done, total=now.total
        )


def _show(report: Report, console: Console) -> None:
    rows = [_row(outcome) for outcome in report.outcomes]
    table = make_table(("promise", "is", "groups", "what it says, or why not"), rows)
    table.columns[-1].no_wrap = False  # sentences
    console.print(table)
    for outcome in report.broken:
        console.print(Text(f"\n{report.explain(outcome)}"))
    bound = [each for each in report.outcomes if each.status is not Status.NOT_BOUND]
    verdict = (
        f"keeps all {len(bound)} promises"
        if report.passed
        else f"breaks {len(report.broken)} of {len(bound)} promises"
    )
    text = f"{report.assignor} {verdict} ({report.examples:,} groups, seed {report.seed})"
    console.print(Text(f"\n{text}", style="green" if report.passed else "bold red"))


def _row(outcome: Outcome) -> tuple[Cell, ...]:
    status = Text(outcome.status.value, style=_STYLES[outcome.status])
    drawn = None if outcome.status is Status.NOT_BOUND else outcome.examples
    return outcome.check, status, drawn, outcome.reason or outcome.promise.says
