"""The folder of one user where jars and the state of `kgroup broker` are kept.

Decides: where that folder is, and how two processes keep out of each other's way in it.
Never: deletes anything, or writes outside it.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["cache_folder", "locked"]


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the cache folder of kgroup; it need not exist yet.

    Args:
        environ: `KGROUP_CACHE` names the folder itself, `XDG_CACHE_HOME` the one above it.
    """
    own = environ.get("KGROUP_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    above = environ.get("XDG_CACHE_HOME")
    return (Path(above).expanduser().absolute() if above else Path.home() / ".cache") / "kgroup"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes for the length of a `with` block.

    Args:
        path: file that stands for the lock; made when absent and never removed, because a
            removed file could be locked by two processes at once.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
