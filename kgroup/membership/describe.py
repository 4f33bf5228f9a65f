"""The page about the states of a member, written from the rows.

Decides: how the table reads for a person.
Never: adds a fact the rows and states do not hold; a test compares the page with `docs/`.
"""

from collections.abc import Iterator

from kgroup.machine.claims import HOLDING_ROWS
from kgroup.machine.describe import diagram, every_row, plain_rows
from kgroup.membership.coordinator import COORDINATOR_ROWS
from kgroup.membership.ending_rows import ROWS
from kgroup.membership.states import FACTS
from kgroup.types import MemberState

__all__ = ["rebalance_page"]

_INTRO = """\
# How a member rebalances

This page is generated from the tables in `kgroup/membership` and `kgroup/machine`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

A member is the product of three small tables.
The round says where it stands in the group protocol.
The coordinator table says whether the group's coordinator is known; losing it does not end a round
that is adopted.
The holdings table says, partition by partition, what may be handed out.
"""

_LISTENER = """\
## What the listener hears, and when

Its calls are made one after the other, each once the one before has returned.

- Of one partition: `on_assigned`, then `on_revoked` or `on_lost`, never both, then `on_assigned`
  again.
- An eager round takes everything away before JoinGroup and gives afterwards.
- A cooperative round that takes p and adds q calls `on_assigned` for q at once, and `on_revoked`
  for p as soon as no batch of p is in hand. Java's client calls them the other way round: its poll
  has nothing in hand. Here q would have to wait for the batches of p, as long as the application
  likes, and nothing may stop that need not. To keep Java's order only while nothing is in hand
  would be worse: people would rely on it until a batch is slow. So what there can be only so many
  of, such as open stores, must not be counted on in `on_assigned` before `on_revoked` has freed it.
- What is to be given up, and is lost before its `on_revoked` is called, because another call takes
  its time, is told as `on_lost`: which of the two it is, is decided when the call is made, as in
  Java's client. A call that has begun stays what it is.
- While `on_revoked` runs its partitions go to nobody: a JoinGroup claims them, or waits for it,
  also when the membership was lost meanwhile; so does LeaveGroup.

The last cannot be promised beyond what the coordinator, or the application's own limits, allow.
A listener is cut off after `max_poll_interval`, unless it shields itself or blocks. Who takes
longer for `on_revoked` than the round waits is passed over by it, and the drain before counts too;
whose session ends, or is ended, is removed; who does not read for `max_poll_interval` leaves the
group, whether it hangs in its listener or elsewhere, as Java's client does (KIP-62); and `close`
has a deadline. A member that has lost its generation sends no heartbeats while it waits for
`on_revoked`, so its partitions go to nobody only as long as its session lasts at the coordinator.
That wait ends `max_poll_interval` after it began, when a warning has said so, and the member joins
all the same; it also leaves all the same that long after `unsubscribe`. Then another member may
have the partition while the listener still runs. What it commits is refused, by kgroup or by the
coordinator, and says so; whatever else it writes needs a fence, see the claim of each record.

A listener that cannot be cut off, because it shields itself or waits for a thread, has no limit
while its member keeps a generation. The application reads, heartbeats go on, and what the member
keeps is handed out; of what the call is about nothing is, no further change is told, and nobody
else is given it, until the call returns, or a round that is on passes the member over, or it loses
its generation, or unsubscribes, or closes. To give such a partition to another member by the clock
would have two of them work on it, and nothing has gone wrong at the coordinator that would force
that; Java's client, whose callbacks hold its poll up, leaves the group there. So kgroup says it
instead: a second after the time is over a warning names the call and its partitions, and the event
log has `callback` with `overdue`. A plain listener that blocks stops the event loop, heartbeats
included, and its session ends.
"""


def rebalance_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([*_page(), ""])


def _page() -> Iterator[str]:
    yield _INTRO
    yield "## The round\n"
    yield from diagram(ROWS.rows, MemberState.UNSUBSCRIBED)
    yield "| state | what it means | heartbeats | commits | awaits |"
    yield "|---|---|---|---|---|"
    for state, facts in FACTS.items():
        awaits = facts.awaits.value if facts.awaits else ""
        beats, commits = _yes(facts.heartbeats), _yes(facts.commits)
        yield f"| {state.name} | {facts.about} | {beats} | {commits} | {awaits} |"
    yield "\n### Every transition\n"
    yield from every_row(ROWS.rows, list(MemberState))
    yield "\n## The coordinator\n"
    yield from plain_rows(COORDINATOR_ROWS.rows)
    yield "\n## One partition\n"
    yield "| at | on | to | why |\n|---|---|---|---|"
    for held in HOLDING_ROWS.rows:
        yield f"| {held.at.name} | {held.on.value} | {held.to.name} | {held.why} |"
    yield ""
    yield _LISTENER
    yield "## Error codes\n"
    yield "What is done about each error code is on a page of its own: [error codes](errors.md)."


def _yes(fact: bool) -> str:  # noqa: FBT001 - a cell of a table
    return "yes" if fact else ""
