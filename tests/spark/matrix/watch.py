"""The rule that a commit is never ahead of what was sunk or handled.

Decides: the order of a look: commits are asked for first, then what is there. What is there only
grows, so a commit that is ahead then was ahead when it was made.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from kgroup.errors import ConnectionLostError
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from tests.spark.matrix.sunk import Seen

_EVERY: Final = 0.4


class Commits:
    """What a group has committed, asked of its coordinator.

    Args:
        bootstrap: of the brokers.
        group: its name.
    """

    def __init__(self, bootstrap: str, group: str) -> None:
        self._bootstrap = parse_bootstrap(bootstrap)
        self._group = group
        self._coordinator: tuple[str, int] | None = None

    def __call__(self) -> dict[int, int]:
        """Return partition -> committed offset.

        Raises:
            ConnectionLostError, AssertionError: nobody says.
        """
        address, self._coordinator = self._coordinator or self._found(), None
        group = OffsetFetchRequestGroup(group_id=self._group, topics=None)
        with Probe(address) as probe:
            (found,) = probe.ask(OffsetFetchRequest(groups=(group,)), version=8).groups
        assert found.error_code == 0, found
        rows = [row for topic in found.topics for row in topic.partitions]
        assert not any(row.error_code for row in rows), rows
        self._coordinator = address
        return {row.partition_index: row.committed_offset for row in rows}

    def _found(self) -> tuple[str, int]:
        request = FindCoordinatorRequest(coordinator_keys=(self._group,))
        for address in self._bootstrap:
            with suppress(ConnectionLostError), Probe(address) as probe:
                (found,) = probe.ask(request).coordinators
                assert found.error_code == 0, found
                return found.host, found.port
        raise AssertionError("no broker answers")


class Watch:
    """Looks again and again, in a thread of its own.

    Args:
        committed: asks for partition -> committed offset.
        sides: returns what each sink has, and what each plain member has handled.
    """

    def __init__(
        self, committed: Callable[[], Mapping[int, int]], sides: Callable[[], Iterable[Seen]]
    ) -> None:
        self._committed = committed
        self._sides = sides
        self._whole: dict[int, int] = {}
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.looks = 0
        self.unanswered = 0
        self.ahead: list[str] = []
        """What was found wrong."""
        self.broken: list[str] = []
        """Why it could not look."""

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Look no more."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_EVERY):
            try:
                committed = self._committed()
            except Exception:  # noqa: BLE001 - brokers are down, and clients say so in many ways
                self.unanswered += 1
                continue
            try:
                self.compare(committed)
            except Exception as error:  # noqa: BLE001 - said at the end, not lost in a thread
                self.broken.append(repr(error))
                return

    def look(self) -> None:
        """Look once, now."""
        self.compare(self._committed())

    def compare(self, committed: Mapping[int, int]) -> None:
        """Compare commits that were asked for before with what is there now."""
        with self._lock:
            self.looks += 1
            sides = list(self._sides())
            for partition, offset in committed.items():
                whole = self._whole_of(partition, sides)
                if offset > whole:
                    self.ahead.append(
                        f"partition {partition}: {offset} is committed, and offset {whole} was "
                        f"neither sunk nor handled (look {self.looks})"
                    )

    def _whole_of(self, partition: int, sides: Sequence[Seen]) -> int:
        """Return the first offset that is nowhere."""
        at = self._whole.get(partition, 0)
        while any(side.has(partition, at) for side in sides):
            at += 1
        self._whole[partition] = at
        return at
