"""Until when who owns keys: the longest lease of each client in a topic, kept as records move keys.

Decides: what a record about one key changes for its owner, and for the one before.
Never: looks at the keys of others when one moves: a group may have 10,000 of them in one partition
    of the log. Drops what is over: it knows of no time.
"""

from collections.abc import Iterator

from kgroup.types import TopicPartition

__all__ = ["Owners"]


class Owners:
    """The owners of one group's keys; mutable."""

    __slots__ = ("_ends", "_latest", "_who")

    def __init__(self) -> None:
        self._who: dict[TopicPartition, bytes] = {}
        self._ends: dict[tuple[str, bytes], dict[int, int]] = {}
        self._latest: dict[tuple[str, bytes], int | None] = {}

    def has(self, tp: TopicPartition, client_id: bytes, until: int) -> None:
        """Note who has a key.

        Args:
            tp: the key.
            client_id: of its owner.
            until: log time at which its lease is over, milliseconds.
        """
        if self._who.get(tp) != client_id:
            self.free(tp)
        self._who[tp] = client_id
        owner = (tp.topic, client_id)
        ends = self._ends.setdefault(owner, {})
        latest, before = self._latest.get(owner, until), ends.get(tp.partition)
        ends[tp.partition] = until
        if latest is not None and until >= latest:
            self._latest[owner] = until
        elif before == latest:
            self._latest[owner] = None  # which is the latest now is looked for when it is asked

    def free(self, tp: TopicPartition) -> None:
        """Note that nobody has a key."""
        client_id = self._who.pop(tp, None)
        if client_id is None:
            return
        owner = (tp.topic, client_id)
        ends = self._ends[owner]
        until = ends.pop(tp.partition)
        if not ends:
            del self._ends[owner], self._latest[owner]
        elif until == self._latest[owner]:
            self._latest[owner] = None

    def latest(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield each owner: topic, client id, and the log time at which its last lease is over."""
        for owner, known in self._latest.items():
            until = max(self._ends[owner].values()) if known is None else known
            self._latest[owner] = until  # no new key: iterating goes on
            yield *owner, until
