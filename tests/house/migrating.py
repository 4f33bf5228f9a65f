"""The pages on migrating: which programs and which tables they hold.

Decides: how both are read from the pages; that a program comes as a pair, before and after.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.pages import DOCS

PAGES: Final[Mapping[str, Path]] = MappingProxyType(
    {
        name: DOCS / f"migrating-from-{name}.md"
        for name in ("aiokafka", "kafka-python", "confluent-kafka")
    }
)

_ROW: Final = re.compile(r"^\| (.+) \|$", re.MULTILINE)
_CODE: Final = re.compile(r"`([^`]*)`")


def programs() -> dict[str, tuple[str, str]]:
    """Return page and heading -> the program before and the program after."""
    return {
        f"{name}: {title}": pair
        for name, page in PAGES.items()
        for title, pair in programs_of(page).items()
    }


def programs_of(page: Path) -> dict[str, tuple[str, str]]:
    """Return heading of a page -> the program before and the program after."""
    parts = re.split(r"^### (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: dict[str, tuple[str, str]] = {}
    for title, part in zip(parts[1::2], parts[2::2], strict=True):
        blocks = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
        if blocks:
            before, after = blocks
            found[title] = (before, after)
    return found


def rows(name: str, heading: str) -> list[list[list[str]]]:
    """Return the rows of the first table below a heading: per cell what stands in backquotes.

    A row that begins with several names is a row for each; "the same" stands for that name.
    """
    text = PAGES[name].read_text(encoding="utf-8")
    _, part = text.split(f"## {heading}\n", 1)
    lines: list[str] = []
    for line in part.splitlines():
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            break
    cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:])
    return [
        [[name], *([name] if cell == "the same" else _CODE.findall(cell) for cell in each)]
        for first, *each in cells
        for name in _CODE.findall(first)
    ]
