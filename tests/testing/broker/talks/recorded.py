"""What real brokers said, kept beside the tests.

Decides: nothing. `python -m tests.real.record_logs` writes it anew, from real brokers.
"""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.testing.broker.talks.talk import Said

RELEASES: Final = ("4.3.1", "3.9.1")


def recorded(release: str, conversation: str) -> Said:
    """Return what a release of Kafka said in a conversation."""
    with gzip.open(_path(release), "rt", encoding="utf-8") as lines:
        return next(each["said"] for each in map(json.loads, lines) if each["name"] == conversation)


def record(release: str, said: Iterable[tuple[str, Said]]) -> None:
    """Keep what a release of Kafka said: the name of each conversation, and its answers."""
    lines = (json.dumps({"name": name, "said": answers}) + "\n" for name, answers in said)
    _path(release).write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def _path(release: str) -> Path:
    return Path(__file__).with_name(f"said-{release}.jsonl.gz")
