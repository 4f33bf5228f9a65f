"""What members ask for while nothing happens, as a part of `docs/performance.md`.

Decides: that each API that anybody asks for once a minute or more often is a column.
Never: leaves out a client; one without figures says why.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.consume.runs import markdown

RESULT: Final = Path(__file__).parents[1] / "results" / "requests.json"
_ABOUT: Final = """\
{members} members, {partitions} partitions, {rate} records/s, nothing happens; heartbeats each 3 s,
in a group of KIP-848 each 5 s, as by default; commits each second. Counted for {seconds:g} s in the
broker's log of requests ({broker}), by `python -m benchmarks.requests`.
[Raw](../benchmarks/results/requests.json)."""

Document = Mapping[str, Any]


def requests_block(path: Path = RESULT) -> Iterator[str]:
    """Yield the blocks of the page; none when there are no results."""
    if not path.exists():
        return
    document = json.loads(path.read_text(encoding="utf-8"))
    yield "### requests of a member and minute"
    yield _ABOUT.format(**document)
    apis = sorted(
        {api for row in document["clients"] for api in row.get("requests", {})},
        key=lambda api: -max(_each(document, row, api) for row in document["clients"]),
    )
    often = [
        api for api in apis if any(_each(document, row, api) >= 1 for row in document["clients"])
    ]
    heads = ("client", *(api.lower().replace("_", " ") for api in often))
    yield markdown(heads, [_row(document, row, often) for row in document["clients"]])


def _row(document: Document, row: Document, apis: list[str]) -> tuple[str, ...]:
    if "trouble" in row:
        return (row["client"], row["trouble"], *("-" for _ in apis[1:]))
    return (row["client"], *(f"{_each(document, row, api):.1f}" for api in apis))


def _each(document: Document, row: Document, api: str) -> float:
    count = int(row.get("requests", {}).get(api, 0))
    return count / int(document["members"]) / float(document["seconds"]) * 60
