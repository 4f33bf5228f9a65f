"""Following a topic until somebody says stop: what was delivered, told line by line.

Decides: that each poll is one line, `{"got": [at, rows]}`, and a row is records of one partition
whose offsets follow each other: partition, first offset, offset behind, sum of the values' CRC-32.
Never: keeps a record, or judges.
"""

import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Any, Final
from zlib import crc32

LOOK: Final = 0.01
"""Seconds between two looks whether an event loop is late."""
POLL: Final = 0.1
"""Seconds that a client waits for records before it looks whether it is to stop."""


class Following:
    """What a client that follows tells, and is told.

    Args:
        answer: writes a line.

    Attributes:
        go: set when one that is held may begin.
        over: set when it is to close its consumer and end.
    """

    def __init__(self, answer: Callable[[str, object], None]) -> None:
        self.go = threading.Event()
        self.over = threading.Event()
        self._answer = answer
        self.records = 0
        self._late: list[float] = []

    async def watch(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Look again and again how late an event loop is, until that is cancelled.

        Args:
            sleep: of that loop.
        """
        while True:
            began = time.perf_counter()
            await sleep(LOOK)
            self._late.append(time.perf_counter() - began - LOOK)

    def result(self) -> dict[str, Any]:
        """Return what is told at the end."""
        late = sorted(self._late)
        return {
            "records": self.records,
            "lag_p99_s": late[len(late) * 99 // 100] if late else None,
        }

    def took(self, records: Iterable[tuple[int, int, bytes]]) -> None:
        """Tell of records that the client was just given.

        Args:
            records: partition, offset and value of each, in order within a partition.
        """
        at = time.time()
        open_: dict[int, list[int]] = {}
        rows: list[list[int]] = []
        for partition, offset, value in records:
            self.records += 1
            row = open_.get(partition)
            if row is None or row[2] != offset:
                open_[partition] = row = [partition, offset, offset, 0]
                rows.append(row)
            row[2] = offset + 1
            row[3] += crc32(value)
        if rows:
            self._answer("got", [at, rows])


def strategy(module: str, level: str) -> Any:  # noqa: ANN401 - a class of another client
    """Return the assignor class of aiokafka or kafka-python that a level names."""
    name = "".join(part.title() for part in level.split("-"))
    name = {"Roundrobin": "RoundRobinPartition", "Range": "RangePartition"}.get(name, name)
    file = level.replace("-", "_")
    return getattr(import_module(f"{module}.coordinator.assignors.{file}"), f"{name}Assignor")
