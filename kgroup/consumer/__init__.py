"""The consumer: a group's member, what it fetches, and what it hands to the application."""

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
