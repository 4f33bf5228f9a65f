"""The page about the states of a member, written from the rows.

Decides: how the table reads for a person.
Never: adds a fact the rows and states do not hold; a test compares the page with `docs/`.
"""

from collections.abc import Iterator

from kgroup.machine.claims import HOLDING_ROWS
from kgroup.machine.coordinator import COORDINATOR_ROWS
from kgroup.membership.ending_rows import ROWS
from kgroup.membership.states import FACTS
from kgroup.types import MemberState
from tests.pages.errors import diagram, every_row, plain_rows

_INTRO = """\
# How a member rebalances

This page is generated from the tables in `kgroup/membership` and `kgroup/machine`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

A member is described by three small tables.
The round table says where the member is in the group protocol.
The coordinator table says whether the group's coordinator is known. Losing the coordinator does not
end a round that is adopted.
The table of holdings says, for each partition, what may be handed out.
"""

_LISTENER = """\
## What the listener hears, and when

kgroup makes one call of the listener at a time.
The next call begins when the one before has returned.

- For one partition the calls are `on_assigned`, then `on_revoked` or `on_lost` (never both), then
  `on_assigned` again.
- An eager round takes every partition away before JoinGroup, and gives partitions afterwards.
- A cooperative round that takes p and adds q calls `on_assigned` for q at once. It calls
  `on_revoked` for p as soon as no batch of p is in the application's hands. Java's client calls
  them the other way round: nothing is in hand during its poll. Here q would have to wait for the
  batches of p, as long as the application likes. So if your listener holds something limited, such
  as open stores, do not count on `on_revoked` freeing it before `on_assigned` needs it.
- A partition that is to be given up can be lost before its `on_revoked` begins, because another
  call takes its time. Then `on_lost` is called. kgroup decides between the two when it makes the
  call, as Java's client does. A call that has begun does not change.
- While `on_revoked` runs, no other member gets its partitions. A JoinGroup claims them or waits for
  the call, also when the membership was lost meanwhile. LeaveGroup does the same.

The last promise has limits, which the coordinator and the application's own timeouts set:

- A listener is cancelled after `max_poll_interval`, unless it shields itself or blocks.
- If `on_revoked`, with the drain before it, takes longer than the round waits, the round goes on
  without the member.
- A member whose session ends, or is ended, is removed from the group.
- A member that does not read for `max_poll_interval` leaves the group, whether its listener hangs
  or something else does, as with Java's client (KIP-62).
- `close` has a deadline.
- A member that has lost its generation sends no heartbeats while it waits for `on_revoked`. Its
  partitions stay unassigned only as long as its session lasts at the coordinator. The wait ends
  `max_poll_interval` after it began: a warning says so, and the member joins. After `unsubscribe`
  it leaves after the same time.

After that, another member may have the partition while the listener still runs. Commits of the
listener are refused, by kgroup or by the coordinator, and the error says so. Anything else that the
listener writes needs a fence: see the claim of each record.

A listener that shields itself, or waits for a thread, cannot be cancelled. It has no limit while
its member keeps a generation. The application reads, heartbeats go on, and records of the
partitions that the member keeps are handed out. No records of the partitions of that call are
handed out, no further call is made, and no other member gets them until one of these happens: the
call returns, a running round goes on without the member, the member loses its generation,
unsubscribes, or closes. To give such a partition away by the clock would let two members work on
it, although nothing has gone wrong at the coordinator. Java's client leaves the group in this
case, because its callbacks hold up its poll. kgroup reports it instead: one second after the limit
a warning names the call and its partitions, and the event log has `callback` with `overdue`. A
plain listener that blocks stops the event loop and with it the heartbeats, so its session ends.
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


def _yes(fact: bool) -> str:
    return "yes" if fact else ""
