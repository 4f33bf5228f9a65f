"""The pages stay as short as a person reads: a budget of words, and of links in the README."""

import re
from pathlib import Path

from tests.house import api, broker_page
from tests.pages import DOCS
from tests.pages import PAGES as WRITTEN
from tests.simulated import by_hand

ROOT = Path(__file__).parents[2]

MOST_WORDS = 42_400
"""41,000, and what newer options add to pages that were there before."""

NEWER = {
    DOCS / "compiled.md",
    DOCS / "consumer-group-log.md",
    DOCS / "spark.md",
    DOCS / "spark-operations.md",
    DOCS / "adr" / "0016-one-compiled-module.md",
    DOCS / "adr" / "0017-a-room-for-spark.md",
    DOCS / "adr" / "0019-measured-by-processes-that-speak-lines.md",
    DOCS / "adr" / "0021-the-coordinator-divides.md",
    DOCS / "bench-adapters.md",
    DOCS / "benchmarks.md",
    DOCS / "group-protocol.md",
    DOCS / "how-to" / "change-protocol.md",
    DOCS / "verify-a-table.md",
    DOCS / "processing.md",
    DOCS / "semantics.md",
    DOCS / "stuck-records.md",
    DOCS / "handler-faults.md",
    DOCS / "stores.md",
    DOCS / "locks.md",
    DOCS / "health.md",
    DOCS / "adr" / "0018-a-room-for-processing.md",
    DOCS / "what-groups-did.md",
    DOCS / "audit-a-fleet.md",
    DOCS / "what-happened-to-my-group.md",
    DOCS / "adr" / "0020-tables-of-what-groups-did.md",
}
"""Pages of their own about what came after the budget was set."""

NEWER_WORDS = 800
README_WORDS = 900
README_LINKS = 10

GENERATED = {
    api.PAGE,
    DOCS / "public-surface.md",
    DOCS / broker_page.NAME,
    *(DOCS / name for name in WRITTEN),
}
"""Pages written by machine from end to end."""

PART = re.compile(r"<!-- \w+ -->\n.*?<!-- end -->", re.DOTALL)
"""A part of a page that is written by machine."""


def words(page: Path) -> int:
    """Return the number of words on a page that somebody has written."""
    return len(by_hand(PART.sub("", page.read_text(encoding="utf-8"))).split())


def test_all_pages_that_are_written_by_hand_can_be_read_in_a_few_hours() -> None:
    pages = {page for page in DOCS.rglob("*.md") if page.parent != DOCS / "reference"}
    counts = {page.relative_to(DOCS).as_posix(): words(page) for page in pages - GENERATED - NEWER}
    longest = sorted(counts.items(), key=lambda each: -each[1])[:5]
    assert sum(counts.values()) <= MOST_WORDS, f"shorten a page; the longest are {longest}"


def test_a_newer_page_is_short() -> None:
    counts = {page.name: words(page) for page in NEWER}
    assert {name: count for name, count in counts.items() if count > NEWER_WORDS} == {}


def test_the_readme_is_short_and_leads_to_few_places() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= README_WORDS
    assert len(re.findall(r"\]\(", text)) <= README_LINKS
