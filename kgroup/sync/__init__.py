"""The native consumer, blocking: for scripts, and for programs of threads."""

from kgroup.sync.api import Consumer
from kgroup.sync.batch import Batch, BatchIterator, MembershipIterator, RecordIterator
from kgroup.sync.listener import AssignedListener, Listener, LostListener, RevokedListener

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
