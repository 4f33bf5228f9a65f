"""Tables of the documentation that are simulations: `make docs` plays them anew.

Decides: what on a page is played, and what it is replaced by: the output below a line
`$ kgroup assignors simulate ...`, and the table below a comment
`<!-- kgroup assignors simulate ...: MEASURE -->`.
Never: takes times, which differ from run to run: such a command has to say `--no-time`.
"""

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from kgroup.assignors.simulator import in_words, read_events
from kgroup.cli import main

_DOCS = Path(__file__).parent.parent / "docs"
_BLOCK = re.compile(
    r"(?<=```text\n)\$ kgroup (assignors simulate [^\n]*--no-time[^\n]*)\n.*?(?=```)", re.DOTALL
)
_TABLE = re.compile(r"<!-- kgroup (assignors simulate [^:]*): (\w+) -->\n(?:\|[^\n]*\n)*")


def replayed(name: str) -> str:
    """Return a page with its simulations played now; the rest is as it is written."""
    page = (_DOCS / name).read_text(encoding="utf-8")
    page = _BLOCK.sub(lambda found: f"$ kgroup {found[1]}\n{_output(found[1])}", page)
    return _TABLE.sub(lambda found: f"{found[0].splitlines()[0]}\n{_table(*found.groups())}", page)


def by_hand(page: str) -> str:
    """Return the text of a page without what its simulations print."""
    return _TABLE.sub("", _BLOCK.sub("", page))


def _output(command: str) -> str:
    shown = io.StringIO()
    with redirect_stdout(shown):
        code = main(shlex.split(command))
    if code:
        raise AssertionError(f"kgroup {command} ends with {code}")
    return "".join(f"{line.rstrip()}\n" for line in shown.getvalue().splitlines())


@cache
def _runs(command: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_output(f"{command} --no-time --json"))["runs"]
    return found


def _table(command: str, measure: str) -> str:
    """Return events as rows and assignors as columns, as far as they have the measure."""
    runs = [run for run in _runs(command) if _cell(run["outcomes"][0], measure) is not None]
    rows = [["event", *(run["assignor"] for run in runs)], ["---", *["--:"] * len(runs)]]
    for at, outcome in enumerate(runs[0]["outcomes"]):
        cells = (_cell(run["outcomes"][at], measure) for run in runs)
        rows.append([_words(outcome["event"]), *map(str, cells)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _words(event: object) -> str:
    return in_words(None if event is None else read_events(json.dumps([event]))[0])


def _cell(outcome: dict[str, Any], measure: str) -> object:
    match measure:
        case "spread":
            return f"{outcome['fewest']}-{outcome['most']}"
        case "racks":
            return f"{outcome['rack_matches']}/{outcome['rack_matches_possible']}"
        case "deviation":
            return f"{outcome['deviation']:.2f}"
        case _:
            return outcome.get(measure)
