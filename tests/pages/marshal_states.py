"""The page about the keys of a Marshal member, written from the rows.

Decides: how the tables read for a person.
Never: adds a fact the rows do not hold; a test compares the page with `docs/`.
"""

from collections.abc import Iterator

from kgroup.marshal.admission import ADMISSION_ROWS
from kgroup.marshal.key_rows import KEY_ROWS, KeyPhase
from tests.pages.errors import diagram, every_row, plain_rows

_INTRO = """\
# How a member owns a partition in Marshal mode

This page is generated from the tables in `kgroup/marshal`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

Members write to a log that all of them read.
Each partition of a topic is a key, and each key goes through one small table.
Only what was read back from the log moves a key towards OWNED; only the log or the end of the claim
takes it away.
What a broker answered to a write shortens waits, no more.
"""


def marshal_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([*_page(), ""])


def _page() -> Iterator[str]:
    yield _INTRO
    yield "## One partition\n"
    yield from diagram(KEY_ROWS.rows, KeyPhase.IDLE)
    yield "| phase | what it means |\n|---|---|"
    for phase in KeyPhase:
        yield f"| {phase.name} | {phase.value} |"
    yield "\n### Every transition\n"
    yield from every_row(KEY_ROWS.rows, list(KeyPhase))
    yield "\n## One batch, at most once\n"
    yield "A batch is handed out when the position behind it stands in the log, not before.\n"
    yield from plain_rows(ADMISSION_ROWS.rows)
