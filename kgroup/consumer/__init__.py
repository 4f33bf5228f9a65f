"""The consumer: a group's member, what it fetches, and what it hands to the application.

- `buffer`: What is owned, what was fetched of it, and whether it may be handed out now
- `commit`: Commits: what to commit, in which order, and who is told
- `fetch`: Where reading goes on, and getting records from there
- `reads`: Records in the hands of the application: one by one, in batches, in loops
- `api`: The consumer that applications use: `async with Consumer("orders", ...) as consumer`
- `assembly`: The parts of a consumer, put together
- `following`: Reading every partition of topics without a group
- `listener`: The application's listener: told what changes hands, before it does
- `ownership`: Changes of ownership, carried out one after the other
- `root`: The life of an entered consumer: its background tasks, and its end
- `user_code`: Calling the application's own functions: listeners, and callbacks of commits
- `wire_journal`: What connections do, as events of the journal
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
