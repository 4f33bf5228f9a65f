"""The page about the keys of a Marshal member, written from the rows.

Decides: how the tables read for a person.
Never: adds a fact the rows do not hold; a test compares the page with `docs/`.
"""

from collections.abc import Iterator

from kgroup.marshal.admission import ADMISSION_ROWS
from kgroup.marshal.key_rows import KEY_ROWS
from kgroup.marshal.phases import KeyPhase

__all__ = ["marshal_page"]

_INTRO = """\
# How a member owns a partition in Marshal mode

This page is generated from the tables in `kgroup/marshal`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

Members write to a log that all of them read.
Each partition of a topic is a key, and each key goes through one small table.
Only what was read back from the log moves a key towards OWNED; only the log or the end of the lease
takes it away.
What a broker answered to a write shortens waits, no more.
"""


def marshal_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([*_page(), ""])


def _page() -> Iterator[str]:
    yield _INTRO
    yield "## One partition\n"
    yield "```mermaid\nstateDiagram-v2"
    yield f"    [*] --> {KeyPhase.IDLE.name}"
    yield from _arrows()
    yield "```\n"
    yield "| phase | what it means |\n|---|---|"
    for phase in KeyPhase:
        yield f"| {phase.name} | {phase.value} |"
    yield "\n### Every transition\n"
    yield "| at | on | when | to | does | why |\n|---|---|---|---|---|---|"
    for row in sorted(KEY_ROWS.rows, key=lambda each: list(KeyPhase).index(each.at)):
        guard = "" if row.when is None else row.when.value
        actions = "; ".join(action.value for action in row.do)
        target = "stays" if row.to is row.at else row.to.name
        yield f"| {row.at.name} | {row.on.value} | {guard} | {target} | {actions} | {row.why} |"
    yield "\n## One batch, at most once\n"
    yield "A batch is handed out when the position behind it stands in the log, not before.\n"
    yield "| at | on | to | does | why |\n|---|---|---|---|---|"
    for step in ADMISSION_ROWS.rows:
        does = "; ".join(action.value for action in step.do)
        yield f"| {step.at.name} | {step.on.value} | {step.to.name} | {does} | {step.why} |"


def _arrows() -> Iterator[str]:
    seen: dict[tuple[str, str], list[str]] = {}
    for row in KEY_ROWS.rows:
        if row.to is not row.at:
            labels = seen.setdefault((row.at.name, row.to.name), [])
            if row.on.value not in labels:
                labels.append(row.on.value)
    for (source, target), labels in seen.items():
        yield f"    {source} --> {target}: {', '.join(labels)}"
