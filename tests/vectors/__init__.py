"""Copies of the golden vectors that the tests need; `load("wire/Heartbeat")` reads one file.

Each `<folder>/<name>.jsonl.gz` is the compressed copy of a file made by Kafka's Java classes,
recorded from real brokers, or from the original Marshal; `<name>.json.gz` is one document. Never
edit one to fit the code.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def load(name: str) -> list[dict[str, Any]]:
    """Return all lines of one vector file, decoded; it has some."""
    lines = list(stream(name))
    assert lines, f"{name} is empty"
    return lines


def stream(name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of one vector file, decoded one by one."""
    with gzip.open(HERE / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def document(name: str) -> dict[str, Any]:
    """Return the one document of a vector file."""
    with gzip.open(HERE / f"{name}.json.gz", "rt", encoding="utf-8") as text:
        found: dict[str, Any] = json.load(text)
    return found


def names(folder: str) -> Iterator[str]:
    """Yield the names of all vector files of a folder, for `load`."""
    for path in sorted((HERE / folder).glob("*.jsonl.gz")):
        yield f"{folder}/{path.name.removesuffix('.jsonl.gz')}"
