"""A small process beside each local cluster: when its owner is gone, the cluster goes too.

Decides: which processes it may end (they were named to it, and their command line still holds the
cluster's own folder), and that the folder is removed last.
Never: imports anything of kgroup: it is run as a script and must start in no time.

A test run may be killed where nothing in it can clean up. The owner holds one end of a pipe; the
system closes it with the owner, however that dies, and the guardian reads the end of its input.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_RELEASE = "release"
_PATIENCE = 10.0


class Guardian:
    """The owner's end: names processes to the guardian.

    Args:
        folder: of the cluster, the mark in the command lines of its processes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start watching."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(self.folder)],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def watch(self, pid: int) -> None:
        """Add a process to those that are ended with the owner."""
        self._say(str(pid))

    def release(self) -> None:
        """Let the cluster live on without its owner, and stop watching."""
        self._say(_RELEASE)
        self._end()

    def finish(self) -> None:
        """End what still runs, remove the folder, and wait until that is done."""
        self._end()

    def _say(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            # It was ended from outside; the owner's own clean-up remains.
            return

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.communicate(timeout=2 * _PATIENCE)
        self._process = None


def is_running(pid: int, mark: str) -> bool:
    """Tell whether the process exists and its command line holds `mark`.

    Args:
        pid: id of the process; it may have been given to another one since.
        mark: words that only the right process has in its command line.
    """
    return mark in _command_line(pid)


def end_process(pid: int, mark: str, *, hard: bool = False) -> bool:
    """Signal a process if it still is the one meant; tell whether it was.

    Args:
        pid: id of the process.
        mark: words that only the right process has in its command line.
        hard: SIGKILL instead of SIGTERM.
    """
    if not is_running(pid, mark):
        return False
    try:
        os.kill(pid, signal.SIGKILL if hard else signal.SIGTERM)
    except ProcessLookupError:
        return False
    return True


def _command_line(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return ""
        return words.replace(b"\0", b" ").decode(errors="replace")
    listed = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout


def _guard(folder: str, lines: Iterable[str]) -> None:
    pids = []
    for line in lines:
        if line.strip() == _RELEASE:
            return
        pids.append(int(line))
    for pid in pids:
        end_process(pid, folder, hard=True)
    give_up = time.monotonic() + _PATIENCE
    while any(is_running(pid, folder) for pid in pids) and time.monotonic() < give_up:
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _guard(sys.argv[1], sys.stdin)
