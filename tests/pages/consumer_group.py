"""The page about the states of a KIP-848 member, written from the rows.

Decides: how the table reads for a person.
Never: adds a fact the rows and states do not hold; a test compares the page with `docs/`.
"""

from collections.abc import Iterator

from kgroup.consumer_group.rows import ROWS
from kgroup.consumer_group.states import FACTS
from kgroup.types import MemberState
from tests.pages.errors import diagram, every_row

_INTRO = """\
# How a member of a KIP-848 group reconciles

This page is generated from the tables in `kgroup/consumer_group`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

With `group_protocol="consumer"` the coordinator divides the partitions, and one kind of heartbeat
joins, lives, acknowledges and leaves. A member revokes what is missing in its assignment first. It
takes what is new when that is done, and hands records of it out when its acknowledgement is
answered. What the coordinator and the listener do to a partition is as in a
[classic group](rebalance.md).
"""


def consumer_group_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([*_page(), ""])


def _page() -> Iterator[str]:
    yield _INTRO
    yield from diagram(ROWS.rows, MemberState.UNSUBSCRIBED)
    yield "| state | what it means | heartbeats | commits |\n|---|---|---|---|"
    for state, facts in FACTS.items():
        beats, commits = _yes(facts.heartbeats), _yes(facts.commits)
        yield f"| {state.name} | {facts.about} | {beats} | {commits} |"
    yield "\n## Every transition\n"
    yield from every_row(ROWS.rows, list(MemberState))


def _yes(fact: bool) -> str:
    return "yes" if fact else ""
