"""The consumer: a group's member, what it fetches, and what it hands to the application.

- `buffer`: The claims that are owned, their fetched records, and whether those may be handed out
- `commit`: Commits: what to commit, in which order, and when callers get the outcome
- `fetch`: Positions, and fetching records from them
- `reads`: Records in the hands of the application: one by one, in batches, in loops
- `api`: The consumer that applications use: `async with Consumer("orders", ...) as consumer`
- `assembly`: The parts of a consumer, put together
- `following`: Reading every partition of topics without a group
- `hosting`: Where a consumer lives: in the task that entered it, or in a task of its own
- `listener`: The application's listener, and how it is called
- `ownership`: Changes of ownership, carried out one after the other
- `root`: The life of an entered consumer: its background tasks, and its end
- `vitals`: How it is doing, in numbers
- `user_code`: Calls of the application's own functions (listeners, callbacks), and `close_soon`
- `wire_journal`: Events of connections, for the journal

When does a cooperative member hand a partition back? See `HOLDING_ROWS` (`kgroup.machine.claims`):
the claim is DRAINING while its records are in hand, and REVOKING while `Ownership.run` carries the
revocation out. `settled` of the backend frees it, and `tell_group` (`kgroup.membership.waiting`)
asks for the next round.

What is committed when a partition is revoked? See `Ownership._revoke`: with auto-commit the records
that are done, before `on_revoked` and after it; without auto-commit only earlier calls of `commit`
are waited for.

A batch, from the socket to `for record in batch`: `Fetching._fetch` sends a Fetch and gets the
answer, `FetchAnswers.take` puts each partition's part into `Owned.chunks` as a `Chunk`,
`Reading.ready` waits until the `Gate` lets a claim pass, `Delivery.take` hands out `TakenRecords`,
and `Batch` makes the records while it is iterated.
"""

from kgroup.backends.backend import GroupBackend
from kgroup.consumer.api import AssignedListener, Consumer, Listener, LostListener, RevokedListener
from kgroup.consumer.reads.batch import Batch
from kgroup.consumer.reads.record import Deserializer, Record, raw

__all__ = [
    "AssignedListener",
    "Batch",
    "Consumer",
    "Deserializer",
    "GroupBackend",
    "Listener",
    "LostListener",
    "Record",
    "RevokedListener",
    "raw",
]
