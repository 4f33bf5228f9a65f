"""The generated pages of the documentation: `python -m tests.pages` writes them all.

A test compares each with what is committed, so a page cannot drift from the code.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.assignors.report import committed_page as assignor_speed_page
from benchmarks.consume.page import RESULT as PERFORMANCE
from benchmarks.consume.page import committed_page as performance_page
from tests.pages.consumer_group import consumer_group_page
from tests.pages.coordination_tables import coordination_page
from tests.pages.errors import errors_page
from tests.pages.event_log import event_log_page
from tests.pages.marshal_states import marshal_page
from tests.pages.rebalance import rebalance_page
from tests.search.simulation.named.page import symptoms_page

DOCS = Path(__file__).parents[2] / "docs"

PAGES: Mapping[str, Callable[[], str]] = {
    "assignor-speed.md": assignor_speed_page,
    "consumer-group-states.md": consumer_group_page,
    "coordination-tables.md": coordination_page,
    "errors.md": errors_page,
    "event-log.md": event_log_page,
    "marshal-states.md": marshal_page,
    "rebalance.md": rebalance_page,
    "maintainers/symptoms.md": symptoms_page,
    # Until results are committed, there is no page.
    **({"performance.md": performance_page} if PERFORMANCE.exists() else {}),
}


def write() -> None:
    """Write every generated page."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
