"""The native consumer, blocking: for scripts, and for programs of threads."""

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
