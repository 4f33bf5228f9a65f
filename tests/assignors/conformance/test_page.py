"""The page about the kit: its blocks run, its table is complete."""

import re

import pytest

from kgroup.assignors.conformance import PROMISES
from tests.pages import DOCS

PAGE = (DOCS / "conformance.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_block_of_the_page_runs_and_prints_what_it_says(capsys):
    names: dict[str, object] = {"__name__": "page"}
    for block in BLOCKS:
        exec(block, names)
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert capsys.readouterr().out == shown


def test_the_page_has_every_promise_in_its_own_words():
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|`]+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert rows == [(promise.name, promise.says) for promise in PROMISES]
