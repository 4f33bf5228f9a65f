"""What to do with a record: delivery semantics, records that cannot finish, and ordered fences.

On top of `Consumer`: a `Processor` calls a handler, and says when a record is done.

- `choices`: What a user chooses: semantics and strategies
- `fitting`: Which of them fit each other, and the consumer's options
- `verdicts`: What becomes of a record that did not finish, and the headers it takes along
- `gaps`: What is done of a partition in any order, and how that is written beside an offset
- `store`: What a store promises: offsets in the user's transaction, and who may write
- `sqlite`: A store in SQLite
- `postgres`: A store in PostgreSQL, through psycopg
- `locks`: Locks that are held while a batch is handled
- `sqlite_lock`: Locks in SQLite
- `redis_lock`: Locks in Redis, through redis-py
- `reports`: What a processor tells
- `shop`: What the parts of one processor share
- `trying`: One record in the hands of the handler, until it has ended
- `absences`: Leaves a partition, or all, to others for a while
- `yielding`: An assignor whose members can leave single partitions to others
- `serial`: The records of a partition one after the other, in each semantics
- `parallel`: The records of a partition several at a time
- `letters`: Writes copies of records: back to their topic, or to the one of dead letters
- `processor`: Reads, hands out to the hands of partitions, and ends in order

The words: a *handler* is the user's function. A *semantics* says when a record counts as done. A
*strategy* says what becomes of one that cannot finish. To *requeue* is to write a copy to the end
of the record's own partition; a *dead letter* is a copy in another topic. A *store* keeps offsets
in the handler's own transaction, and is the *fence*: it counts owners, and refuses former ones.
"""

from kgroup.processing.choices import (
    AtLeastOnce,
    AtMostOnce,
    AutoCommit,
    DeadLetter,
    EffectivelyOnce,
    Evict,
    InParallel,
    Order,
    Per,
    Raise,
    Relinquish,
    Requeue,
    Semantics,
    Strategy,
    Wait,
)
from kgroup.processing.locks import ExternalLock, Grant, Locked, per_key, per_partition
from kgroup.processing.postgres import PostgresStore
from kgroup.processing.processor import Drain, Processor
from kgroup.processing.redis_lock import RedisLock
from kgroup.processing.reports import Report, ReportKind
from kgroup.processing.serial import Handler
from kgroup.processing.sqlite import SqliteStore
from kgroup.processing.sqlite_lock import SqliteLock
from kgroup.processing.store import Hold, Store
from kgroup.processing.yielding import YieldingAssignor

__all__ = [
    "AtLeastOnce",
    "AtMostOnce",
    "AutoCommit",
    "DeadLetter",
    "Drain",
    "EffectivelyOnce",
    "Evict",
    "ExternalLock",
    "Grant",
    "Handler",
    "Hold",
    "InParallel",
    "Locked",
    "Order",
    "Per",
    "PostgresStore",
    "Processor",
    "Raise",
    "RedisLock",
    "Relinquish",
    "Report",
    "ReportKind",
    "Requeue",
    "Semantics",
    "SqliteLock",
    "SqliteStore",
    "Store",
    "Strategy",
    "Wait",
    "YieldingAssignor",
    "per_key",
    "per_partition",
]
