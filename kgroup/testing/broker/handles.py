"""Handles of an in-process cluster's brokers and partitions: what tests see of them and do to them.

Decides: which change of the cluster each verb stands for.
Never: keeps state; a handle looks at the cluster anew each time, so it may be kept and reused.
"""

from typing import TypeAlias

from kgroup.codes import error_name
from kgroup.testing.broker.cluster.cluster import Node, Partition
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.server.switchboard import Switchboard
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import Headers, NewRecord, encode_batch

Text: TypeAlias = bytes | str | None
Appendable: TypeAlias = Text | NewRecord | tuple[Text, Text]
"""What can be appended: a value, (key, value), or a whole record. Text is written as UTF-8."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One record of a log.

    Args:
        offset: its place.
        timestamp: milliseconds since the epoch, None for none.
        key: None for null.
        value: None for null.
        headers: name and value of each.
    """

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class NodeHandle:
    """One broker.

    Args:
        board: connections to the cluster.
        node_id: which.
    """

    def __init__(self, board: Switchboard, node_id: int) -> None:
        self._board = board
        self.node_id = node_id

    def __repr__(self) -> str:
        return f"<broker {self.node_id}, {'up' if self.alive else 'down'}>"

    @property
    def alive(self) -> bool:
        """Whether it is up."""
        return self._node.alive

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of its listener."""
        return self._node.host, self._node.port

    @property
    def _node(self) -> Node:
        return self._board.core.cluster.nodes[self.node_id]

    def kill(self) -> None:
        """End it without a word: connections are reset, what was parked is never answered.

        Its partitions and groups move when the others notice: `BrokerSettings.election_delay`.
        """
        with self._board.changing() as core:
            core.cluster.kill(self.node_id)
            self._board.cut(self.node_id, reset=True)
            self._board.brokers_changed()

    def stop(self) -> None:
        """Stop it in good order: others take over at once, and waiting members are answered."""
        with self._board.changing() as core:
            core.cluster.stop(self.node_id)
            self._board.cut(self.node_id, reset=False)
            self._board.brokers_changed()

    def start(self) -> None:
        """Start it again after `kill` or `stop`, at the same address."""
        with self._board.changing() as core:
            core.cluster.start(self.node_id)
            self._board.brokers_changed()

    def slow(self, seconds: float) -> None:
        """Let every answer of it be late from now on.

        Args:
            seconds: by how much; 0 ends it.
        """
        with self._board.changing():
            self._board.slowness[self.node_id] = seconds

    def skew(self, seconds: float) -> None:
        """Set its calendar wrong: what it stamps is ahead of the others' by so many seconds."""
        with self._board.changing():
            self._node.skew = seconds

    def disconnect(self, client_id: str | None = None) -> None:
        """Reset its connections; clients may connect again at once.

        Args:
            client_id: only those of a client that has asked something, None = all.
        """
        with self._board.changing():
            self._board.cut(self.node_id, client_id, reset=True)


class PartitionHandle:
    """One partition.

    Args:
        board: connections to the cluster.
        tp: which.

    Every attribute and verb raises ValueError while there is no such partition.
    """

    def __init__(self, board: Switchboard, tp: TopicPartition) -> None:
        self._board = board
        self.tp = tp

    def __repr__(self) -> str:
        return f"<partition {self.tp}>"

    # -- looking ---------------------------------------------------------------------------------

    @property
    def leader(self) -> int | None:
        """Id of the broker that leads it, None while it has none."""
        return self._seen.leader

    @property
    def epoch(self) -> int:
        """The leader epoch; each change of leader adds 1."""
        return self._seen.epoch

    @property
    def replicas(self) -> tuple[int, ...]:
        """Ids of the brokers that have it, the preferred leader first."""
        return self._seen.replicas

    @property
    def start(self) -> int:
        """First offset that may be read."""
        return self._seen.log.start

    @property
    def end(self) -> int:
        """Offset that the next record gets."""
        return self._seen.log.end

    @property
    def high_watermark(self) -> int:
        """Offset up to which consumers may read."""
        return self._seen.log.high_watermark

    def records(self) -> list[StoredRecord]:
        """Return what is in the log, in order, without the marks that end transactions."""
        with self._board.looking() as core:
            log = self._in(core).log
            batches = [b for b in log.batches if b.is_readable and not b.view.is_control]
            return [
                StoredRecord(offset, None if timestamp < 0 else timestamp, key, value, headers)
                for batch in batches
                for offset, timestamp, key, value, headers in batch.view.columns()
                if offset >= log.start
            ]

    # -- doing -----------------------------------------------------------------------------------

    def append(
        self,
        *values: Appendable,
        key: Text = None,
        headers: Headers = (),
        timestamp: int | None = None,
    ) -> list[int]:
        """Append records, as one batch; return their offsets.

        Args:
            values: at least one: values, pairs of key and value, or `NewRecord`s.
            key: of those that are only values.
            headers: of all that are not `NewRecord`s.
            timestamp: milliseconds since the epoch, of all that do not bring one; None = now.

        Raises:
            ValueError: no values, no leader, or its log refuses the batch.
        """
        if not values:
            raise ValueError(f"nothing to append to {self.tp}: give at least one value")
        with self._board.changing() as core:
            partition = self._in(core)
            node_id = partition.leader
            if node_id is None:
                raise ValueError(f"nobody leads {self.tp}, so nobody can append to it")
            now_ms = core.context.milliseconds(core.cluster.nodes[node_id].skew)
            stamp = now_ms if timestamp is None else timestamp
            records = [_record(value, key, headers, stamp) for value in values]
            result = partition.log.append(
                encode_batch(records), epoch=partition.epoch, now_ms=now_ms
            )
            if result.base_offset is None or result.last_offset is None:
                reason = result.message or "no reason given"
                raise ValueError(
                    f"{self.tp} refuses the batch: {error_name(result.code)}, {reason}"
                )
            return [*range(result.base_offset, result.last_offset + 1)]

    def append_raw(self, data: bytes, *, offsets: int = 1) -> int:
        """Lay bytes into the log as they are: a damaged batch, an older format, anything.

        Args:
            data: what a fetch of these offsets hands out; nothing in it is checked or stamped.
            offsets: how many offsets they take, at least 1.

        Returns:
            The first of these offsets.
        """
        with self._board.changing() as core:
            partition = self._in(core)
            return partition.log.append_raw(data, offsets=offsets, epoch=partition.epoch)

    def truncate(self, offset: int) -> None:
        """Lose records from an offset on, as when a replica that lacks them is made the leader.

        In Kafka that comes with a change of leader: call `move_to` as well to have its epoch.
        """
        with self._board.changing() as core:
            self._in(core).log.truncate(offset)

    def delete_before(self, offset: int) -> None:
        """Let the log begin at an offset, as retention or DeleteRecords does."""
        with self._board.changing() as core:
            self._in(core).log.delete_before(offset)

    def hold_back(self, offset: int | None) -> None:
        """Keep the high watermark at an offset, as a slow follower does; None lets it go on."""
        with self._board.changing() as core:
            self._in(core).log.hold_back(offset)

    def move_to(self, node_id: int | None, *, resigned: bool = True) -> None:
        """Let another broker lead it, at once.

        Args:
            node_id: the new leader; None = none.
            resigned: the former leader gives it up in good order; otherwise as if it had died.
        """
        with self._board.changing() as core:
            core.cluster.elect(self.tp, node_id, resigned=resigned)

    @property
    def _seen(self) -> Partition:
        with self._board.looking() as core:
            return self._in(core)

    def _in(self, core: Core) -> Partition:
        found = core.cluster.partition(self.tp)
        if found is None:
            known = {name: len(topic.partitions) for name, topic in core.cluster.topics.items()}
            raise ValueError(
                f"there is no partition {self.tp}; topics and their widths: {known}; make one by "
                "create_topic() or the option topics={...}"
            )
        return found


def _record(value: Appendable, key: Text, headers: Headers, timestamp: int) -> NewRecord:
    match value:
        case NewRecord(timestamp=-1):
            return NewRecord(value.key, value.value, value.headers, timestamp)
        case NewRecord():
            return value
        case (own_key, own_value):
            return NewRecord(_bytes(own_key), _bytes(own_value), headers, timestamp)
        case _:
            return NewRecord(_bytes(key), _bytes(value), headers, timestamp)


def _bytes(text: Text) -> bytes | None:
    if not isinstance(text, bytes | str | None):
        raise TypeError(f"keys and values of records are text, bytes or None, not {text!r}")
    return text.encode() if isinstance(text, str) else text
