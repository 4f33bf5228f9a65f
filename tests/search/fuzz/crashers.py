"""Inputs that once broke a promise: `crashers/<target>/<hash>.bin`, replayed by each test run.

Never: deletes one. A crasher stays when its defect is mended.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

CRASHERS: Final = Path(__file__).parent / "crashers"

_NAME: Final = 16


def save(target: str, data: bytes, folder: Path = CRASHERS) -> Path:
    """Write an input under the hash of its bytes; return where."""
    path = folder / target / f"{sha256(data).hexdigest()[:_NAME]}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def saved(folder: Path = CRASHERS) -> Iterator[tuple[str, Path]]:
    """Yield (target, file) of every saved input, in order."""
    for path in sorted(folder.glob("*/*.bin")):
        yield path.parent.name, path
