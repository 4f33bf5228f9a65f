"""The page on porting: its tables are written by machine, the rest by hand.

Decides: where the tables stand (between marks), and which programs the page holds.
"""

import re
from pathlib import Path
from typing import Final

from tests.house.aiokafka_names import methods_table, options_table
from tests.pages import DOCS

__all__ = ["PAGE", "programs", "render"]

PAGE: Final[Path] = DOCS / "porting-from-aiokafka.md"

_TABLES: Final = (("options", options_table), ("calls", methods_table))


def render() -> str:
    """Return the page with its tables written anew."""
    text = PAGE.read_text(encoding="utf-8")
    for name, make in _TABLES:
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        head, rest = text.split(begin)
        _, tail = rest.split(end)
        text = f"{head}{begin}{make()}\n{end}{tail}"
    return text


def programs() -> dict[str, tuple[str, str]]:
    """Return heading -> the program before and the program after."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    found: dict[str, tuple[str, str]] = {}
    for title, part in zip(parts[1::2], parts[2::2], strict=True):
        blocks = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
        if blocks:
            before, after = blocks
            found[title] = (before, after)
    return found
