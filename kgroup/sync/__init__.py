"""The native consumer, blocking: for scripts, and for programs of threads.

- `ahead`: Records that were fetched for a loop over single records, and are not all in its hands
  yet
- `api`: The blocking consumer: the calls of `kgroup.Consumer` for programs without an event loop
- `batch`: A batch in the hands of a thread: the native one, whose doings are carried to the event
  loop
- `handover`: One blocking call, as the thread that makes it and the event loop see it
- `host`: The thread behind a blocking consumer: one event loop, one native consumer, entered in
  one task
- `waiting_threads`: Where the loop leaves functions of the application for a thread of the
  application
"""

from kgroup.sync.api import AssignedListener, Consumer, Listener, LostListener, RevokedListener
from kgroup.sync.batch import Batch, BatchIterator, MembershipIterator, RecordIterator

__all__ = [
    "AssignedListener",
    "Batch",
    "BatchIterator",
    "Consumer",
    "Listener",
    "LostListener",
    "MembershipIterator",
    "RecordIterator",
    "RevokedListener",
]
