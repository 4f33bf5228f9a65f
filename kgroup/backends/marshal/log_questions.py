"""Questions about one coordination partition: where to begin, and whether it is what was read.

Decides: what an answer means for a log that is followed.
Never: decides when to ask, or what a refusal is followed by.
KIPs: 101 and 320 (truncation).
"""

from kgroup.backends.marshal.coordination_topic import CoordinationTopic
from kgroup.backends.marshal.followed_log import FollowedLog
from kgroup.backends.marshal.log_fetch import LogFetch, LogQuestion, fetch_log
from kgroup.backends.marshal.window import LeaderOf, find_start, window_seconds
from kgroup.codes import error_name
from kgroup.errors import TransportError, UnsupportedVersionError
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import ask_epoch_ends
from kgroup.net.log_places import log_bounds
from kgroup.types import TopicPartition

__all__ = ["LogQuestions", "cut_off"]


class LogQuestions:
    """Asks leaders.

    Args:
        cluster: running; not owned.
        topic: knows the leaders; not owned.
    """

    def __init__(self, cluster: Cluster, topic: CoordinationTopic) -> None:
        self._cluster = cluster
        self._topic = topic
        self._timeout = cluster.settings.request_timeout

    async def begin(self, each: FollowedLog, interval: float) -> None:
        """Find out where to begin a log, and begin it.

        Args:
            each: the log.
            interval: between heartbeats, seconds.

        Raises:
            BrokerError, TransportError, ProtocolError, TimeoutError: nobody could tell.
        """
        under = self._topic.view.leader_epoch(each.tp)
        start = await find_start(
            LeaderOf(self._cluster, each.tp, self._topic.view, self._timeout),
            window=None if each.whole else window_seconds(interval),
            append_time=each.append_time,
            peek=lambda offset: self.peek(each.tp, offset),
        )
        each.begin(start, under)

    async def peek(
        self, tp: TopicPartition, offset: int, max_bytes: int = 64 * 1024
    ) -> memoryview | bytes:
        """Fetch some records from an offset on, as they are stored.

        Raises:
            TransportError, ProtocolError, TimeoutError: nobody could tell.
        """
        view = self._topic.view
        leader = view.leader(tp)
        if leader is None:
            raise TimeoutError(f"{tp}: nobody leads it")
        question = LogQuestion(tp.partition, offset, view.leader_epoch(tp))
        fetch = LogFetch(tp.topic, [question], 0.0, max_bytes)
        code, found = await fetch_log(self._cluster, leader, view, fetch, timeout=self._timeout)
        data = found.get(tp.partition)
        code = code or (0 if data is None else data.error_code)
        if data is None or code:
            self._topic.moved()
            raise TransportError(f"{tp} at offset {offset}: {error_name(code)}")
        return data.records or b""

    async def confirm(self, each: FollowedLog, node_id: int) -> str | None:
        """Ask a new leader whether its log still holds what was read.

        Args:
            each: the log; its last batch has an epoch.
            node_id: the leader.

        Returns:
            How it lost what was read, None when it did not.

        Raises:
            TransportError, ProtocolError, TimeoutError: it could not tell.
        """
        view, asked = self._topic.view, each.read_epoch
        if asked is None:
            return None
        try:
            found = await ask_epoch_ends(
                self._cluster, node_id, view, {each.tp: asked}, timeout=self._timeout
            )
        except UnsupportedVersionError:
            each.under = view.leader_epoch(each.tp)
            return None
        end = found.get(each.tp)
        if end is None or end.code:
            raise TransportError(f"{each.tp}: {error_name(0 if end is None else end.code)}")
        if end.end_offset is None or end.end_offset < each.position:
            return cut_off(each.position, end.end_offset)
        each.under = view.leader_epoch(each.tp)
        return None

    async def why_out_of_range(self, each: FollowedLog) -> str:
        """Say why a leader does not have the position of a log, as far as it tells."""
        asked, view = [each.tp], self._topic.view
        found = await log_bounds(self._cluster, asked, view=view, timeout=self._timeout)
        bounds = found[each.tp]
        if bounds.begin is not None and each.position < bounds.begin:
            return (
                "retention has overtaken its reader: it stood at offset "
                f"{each.position}, and the log begins at {bounds.begin}"
            )
        return cut_off(each.position, bounds.end)


def cut_off(position: int, end: int | None) -> str:
    """Say that a log lost its tail: it ends at `end`, None when its leader does not know."""
    where = "at an offset that its leader does not know" if end is None else f"at offset {end}"
    return f"its tail was cut off {where}, after it was read up to {position}"
