"""The blocking consumer: for scripts, and for programs of threads.

- `ahead`: Records that are read ahead for a loop over single records
- `api`: The blocking consumer: the calls of `kgroup.Consumer` for programs without an event loop
- `batch`: Batches and `for` loops of the blocking consumer
- `handover`: One blocking call, as the thread that makes it and the event loop see it
- `host`: The thread behind a blocking consumer: one event loop, one native consumer, entered in
  one task
- `waiting_threads`: Has waiting threads of the application run its callbacks, and ends blocked
  reads
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
