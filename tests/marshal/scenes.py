"""Small rooms for single stories: their members, and what the log says.

Decides: what is short to say in a test of members.
"""

from random import Random

from kgroup.marshal.events import KeyRead
from kgroup.marshal.messages import Kind
from kgroup.types import ChangeKind, TopicPartition
from tests.marshal.room.habits import Habits
from tests.marshal.room.log import RoomLog
from tests.marshal.room.node import Node
from tests.marshal.room.room import Room

P0 = TopicPartition("t", 0)

IDLE = Habits(commits=0.0)
"""An application that reads and never commits."""


def room_of(partitions: int = 1, *, append_time: bool = True, seed: int = 1) -> Room:
    """Return an empty room with one topic."""
    return Room(Random(seed), RoomLog(append_time=append_time), {"t": partitions})


def enter(room: Room, name: str, habits: Habits | None = None, **settings: object) -> Node:
    """Start a process of a client."""
    number = len(room.nodes) + 1
    return room.enter(room.settings(name, number, **settings), habits)


def written(room: Room, kind: Kind, client_id: str | None = None) -> list[KeyRead]:
    """Return the records of one kind, in order."""
    found = [fact.read for fact in room.log.facts if fact.read.kind is kind]
    return [one for one in found if client_id is None or one.client_id == client_id.encode()]


def heard_of(node: Node, kind: ChangeKind) -> list[TopicPartition]:
    """Return the partitions of all changes of this kind that the listener got."""
    changes = [change for change in node.changes if change.kind is kind]
    return [claim.tp for change in changes for claim in (*change.added, *change.removed)]


def offsets_of(node: Node, tp: TopicPartition = P0) -> list[int]:
    """Return all offsets that were handed out, in order."""
    batches = [(begin, end) for _, claim, begin, end in node.handed_out if claim.tp == tp]
    return [offset for begin, end in batches for offset in range(begin, end)]
