"""What writes to the topic, and a plain consumer of the same group; each in its own thread."""

import threading
from collections.abc import Mapping
from typing import Any, Final

import anyio

from kgroup.errors import KGroupError
from kgroup.sync import Consumer
from kgroup.types import TopicPartition
from tests.real.ground import Ground
from tests.spark.matrix.sunk import Seen

_STORED: Final = 90.0
_AGAIN: Final = 0.5


class Writer:
    """Writes so many records to each partition, again and again, until it is told to pause.

    Args:
        ground: the topic.
        each: records for each partition at a time.
        every: seconds between.
    """

    def __init__(self, ground: Ground, *, each: int, every: float) -> None:
        self._ground = ground
        self._each = each
        self._every = every
        self._on = True
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._error: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._end.wait(self._every):
                self._write()
        except Exception as error:  # noqa: BLE001 - `pause` raises it
            self._error = error

    def _write(self) -> None:
        with self._lock:
            if self._on:
                self._ground.write(self._each)

    def pause(self) -> None:
        """Write no more for now; return when everything is stored."""
        with self._lock:
            self._on = False
        if self._error is not None:
            raise self._error
        anyio.run(self._ground.stored, _STORED)

    def resume(self) -> None:
        with self._lock:
            self._on = True

    def finish(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def records(self) -> int:
        """How many were asked to be written."""
        return sum(self._ground.sent.values())


class Plain:
    """A plain consumer: it handles what it is given, and commits it.

    Args:
        bootstrap: of the brokers.
        group: its name.
        topic: its name.
        seen: takes what it handles.
    """

    def __init__(self, bootstrap: str, group: str, topic: str, seen: Seen) -> None:
        self._options: Mapping[str, Any] = {
            "bootstrap_servers": bootstrap,
            "group_id": group,
            "assignors": ("cooperative-sticky",),
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "session_timeout": 30.0,
        }
        self._topic = topic
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plain", daemon=True)
        self.seen = seen
        self.owned: frozenset[TopicPartition] = frozenset()
        self.handled = 0
        self.errors: list[str] = []

    def join(self) -> None:
        self._thread.start()

    def leave(self) -> None:
        """Leave the group; return when that is done."""
        self._leave.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._leave.is_set():
            try:
                self._live()
            except (KGroupError, TimeoutError) as error:
                self.errors.append(f"{type(error).__name__}: {error}"[:300])
                self._leave.wait(_AGAIN)

    def _live(self) -> None:
        with Consumer(**self._options) as consumer:
            consumer.subscribe(self._topic)
            while not self._leave.is_set():
                self._turn(consumer)

    def _turn(self, consumer: Consumer[Any, Any]) -> None:
        found = consumer.getmany(timeout=0.2)
        for batch in found.values():
            for record in batch:
                self.seen.add(record.partition, record.offset)
                self.handled += 1
        if found:
            consumer.commit()
        self.owned = consumer.assignment()
