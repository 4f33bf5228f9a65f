"""The sink that writes the event log of one member to a file.

Decides: when a line is on its way to the disk, and what a stamp is.
Never: buffers a line, waits for the disk, or lets a full disk stop the consumer.

Each event is one `write(2)` of one whole line to a descriptor opened with O_APPEND. The kernel
then has it, so SIGKILL of the process loses nothing that `emit` returned from; only a crash of
the machine may. That makes the order of emitting mean something to an audit:
- `Delivered` is emitted before the application gets the records, so what was used was logged;
- a commit's OK is emitted after the broker's answer, so a kill in between leaves the broker ahead
  of the log, and duplicates are counted against the last commit that was logged: never too strict.
"""

import os
import platform
import threading
import uuid
from pathlib import Path
from typing import Self

from kgroup.journal.codec import CUT, encode_entry
from kgroup.journal.events import Entry, Event, Source
from kgroup.net.ports import Clock


def local_source(member: str, group: str | None = None) -> Source:
    """Name this process as the writer of one member's log.

    Args:
        member: label of the consumer, unique within the process.
        group: name of the group, None without one.
    """
    return Source(
        host=f"{platform.node()}/{_boot()}",
        process=f"{os.getpid()}-{uuid.uuid4().hex[:8]}",
        member=member,
        group=group,
    )


def _boot() -> str:
    """Tell one start of the machine from another: its monotonic clock begins anew."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except OSError:
        return "-"


def open_journal(path: Path, source: Source, *, clock: Clock, wall: Clock) -> "JournalFile":
    """Open a log to append to, after closing a line that a killed process left unfinished.

    Args:
        path: the file; its directory exists.
        source: the writer.
        clock: monotonic seconds, the one the leases are judged by.
        wall: seconds since the epoch.

    Raises:
        OSError: the file cannot be opened.
    """
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, f"{CUT}\n".encode("ascii"))
    return JournalFile(file, source, clock=clock, wall=wall)


class JournalFile:
    """Appends the events of one member to a file as JSON lines; safe to use from any thread.

    Made by `open_journal`. Use as a context manager, or call `close`.

    Args:
        file: descriptor opened for appending; owned from now on.
        source: the writer.
        clock: monotonic seconds.
        wall: seconds since the epoch.
    """

    def __init__(self, file: int, source: Source, *, clock: Clock, wall: Clock) -> None:
        self._file: int | None = file
        self._source = source
        self._clock = clock
        self._wall = wall
        self._lock = threading.Lock()
        self._seq = 0
        self._failure: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def failure(self) -> OSError | None:
        """Why a line could not be written; None while the log is whole."""
        return self._failure

    def emit(self, event: Event) -> None:
        """Stamp and append one event; after `close` or a failed write it is dropped."""
        with self._lock:
            if self._file is None or self._failure is not None:
                return
            self._seq += 1
            entry = Entry(
                source=self._source, seq=self._seq, at=self._clock(), wall=self._wall(), event=event
            )
            try:
                self._append(self._file, encode_entry(entry) + "\n")
            except OSError as error:
                self._failure = error

    def close(self) -> None:
        """Close the file; idempotent."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    @staticmethod
    def _append(file: int, line: str) -> None:
        data = line.encode("ascii")
        while data:  # one turn, unless the disk is nearly full or a signal came
            data = data[os.write(file, data) :]
