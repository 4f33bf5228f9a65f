"""A failing schedule as a test that is ready to be kept.

Decides: the name (a sentence), the story above it, and that the schedule stands in the file: it is
replayed from its picks, so what is drawn from a seed may change; a new meaning of an old pick still
makes it another run.
Never: writes a file.
"""

import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from tests.search.simulation.outcome import Outcome
from tests.search.simulation.perturbation import Perturbation
from tests.search.simulation.schedule import Schedule

__all__ = ["name_of", "regression_test"]

_WIDTH: Final = 100
_LONGEST_NAME: Final = 90
_PROMISES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "S1": "a partition is assigned once in a generation",
        "S2": "a partition has one owner at a time",
        "S3": "nothing is delivered after the lease",
        "S4": "what must go has gone before a member joins",
        "S6": "nothing is delivered that is not owned",
        "S7": "what is delivered was fetched under the same claim",
        "S9": "nothing is claimed after a loss",
        "B1": "the listener is called serially",
        "B2": "assigned and revoked or lost alternate",
        "B3": "nothing is delivered while the listener runs",
        "B4": "a raising listener is reported once",
        "C2": "no commit goes out without a generation",
        "C3": "committed offsets do not go back",
        "C4": "only what is done is committed",
        "C5": "only what is owned is committed",
        "C6": "a commit has one outcome",
        "C7": "a new owner reads what was committed",
        "D1": "nothing is lost",
        "D2": "offsets rise without gaps",
        "D3": "delivery starts where it was committed",
        "D5": "a clean handover repeats nothing",
        "D6": "a crash repeats only what was not committed",
        "K1": "a partition that is kept is not touched",
        "K2": "a disturbance costs few rounds",
        "L1": "the group comes to rest",
        "L2": "a member always waits for something",
        "T1": "the restart of a static member is not noticed",
        "T2": "a fenced member is silent",
    }
)


def name_of(outcome: Outcome) -> str:
    """Return a sentence for a failure: what must hold, and through what."""
    rule = outcome.rules[0] if outcome.rules else ""
    promise = _PROMISES.get(rule, f"{rule or 'every promise'} holds")
    story = " and ".join(_happening(each) for each in outcome.plan.perturbations)
    name = re.sub(r"\W+", "_", f"test {promise} although {story or 'nothing happens'}".lower())
    if len(name) > _LONGEST_NAME:
        name = name[:_LONGEST_NAME].rpartition("_")[0]
    return name.strip("_")


def _happening(perturbation: Perturbation) -> str:
    """Return what happens without its numbers."""
    told = str(perturbation).split(" ", 1)[1].split(":")[0].split(",")[0]
    told = re.sub(r"\(.*?\)", "", told)
    return re.sub(r"\b(for|after|by)? ?[\d.]+( s)?\b", "", told)


def regression_test(outcome: Outcome, *, note: str = "") -> str:
    """Return the text of a test file.

    Args:
        outcome: of the failing run; its picks are what is replayed.
        note: one more sentence for the story, e.g. from which seed the schedule was shrunk.
    """
    return "\n".join(_file(outcome, outcome.schedule.with_picks(outcome.picks), note))


def _file(outcome: Outcome, schedule: Schedule, note: str) -> Iterator[str]:
    yield f'"""A schedule that broke {", ".join(outcome.rules) or "nothing"}, found by simulation.'
    yield ""
    if outcome.violations:
        first = outcome.violations[0]
        yield from _prose(f"{first.rule}: {first.text}.")
    if note:
        yield from _prose(note)
    yield ""
    for line in str(outcome.plan).splitlines():
        yield from _prose(line)
    yield '"""'
    yield ""
    if schedule.picks:
        yield "from tests.search.simulation.choices import Pick"
    yield "from tests.search.simulation.play import play"
    yield "from tests.search.simulation.schedule import Level, Mode, Schedule"
    yield ""
    yield from _value(schedule)
    yield ""
    yield ""
    yield f"def {name_of(outcome)}() -> None:"
    yield "    outcome = play(SCHEDULE)"
    yield "    assert outcome.rules == ()"
    yield ""


def _prose(text: str) -> Iterator[str]:
    plain = text.replace("\\", "/").replace('"', "'")
    yield from wrap(plain, _WIDTH, subsequent_indent="    ")


def _value(schedule: Schedule) -> Iterator[str]:
    yield "SCHEDULE = Schedule("
    yield f"    level=Level.{schedule.level.name},"
    yield f"    mode=Mode.{schedule.mode.name},"
    yield f"    seed={schedule.seed},"
    picks = schedule.picks or ()
    if picks:
        yield "    picks=("
        yield from (f'        Pick("{each.site}", {each.index}, {each.value}),' for each in picks)
        yield "    ),"
    else:
        yield "    picks=(),"
    if schedule.backend != "asyncio":
        yield f'    backend="{schedule.backend}",'
    yield ")"
