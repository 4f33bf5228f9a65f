"""What a query's commits take, and what a member costs it that joins and leaves.

Decides: what is measured, from the event logs of both: the time of each commit; from a batch's end
to the joiner's first partition; how long partitions that stay were not read meanwhile; and how
long they are not read while nobody joins: two batches are never alike.
Never: times anything by asking again and again: both logs have the same clock.
"""

import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer

from benchmarks.spark_source.session import Session, folder
from kgroup.sync import Consumer
from kgroup.testing.kafka import create_topic

_PARTITIONS: Final = 6
_JOINS: Final = 5
_SECONDS_ALONE: Final = 4.0
_SECONDS_BESIDE: Final = 3.0
_PATIENCE: Final = 60.0
_RATE: Final = 2_000
"""Records a second, of 100 bytes."""


def shared(session: Session, bootstrap: str) -> dict[str, Any]:
    """Run a query, let a plain consumer join and leave some times, and measure."""
    topic = f"bench-shared-{time.time_ns()}"
    create_topic(bootstrap, topic, _PARTITIONS)
    with folder() as path, _flow(bootstrap, topic):
        frame = session.streaming(
            "kgroup",
            bootstrap,
            topic,
            **{"kafka.group.id": topic, "journal": str(path / "query.jsonl")},
        )
        query = (
            frame.writeStream.format("noop")
            .option("checkpointLocation", str(path / "checkpoint"))
            .start()
        )
        for number in range(_JOINS):
            time.sleep(_SECONDS_ALONE)
            _visit(bootstrap, topic, path / f"joiner-{number}.jsonl")
        time.sleep(_SECONDS_ALONE)
        query.stop()
        return measured(path)


@contextmanager
def _flow(bootstrap: str, topic: str) -> Iterator[None]:
    """Produce at a steady rate, for one block."""
    over = threading.Event()
    producer = Producer({"bootstrap.servers": bootstrap})

    def run() -> None:
        while not over.wait(0.01):
            for number in range(_RATE // 100):
                producer.produce(topic, bytes(100), partition=number % _PARTITIONS)
            producer.poll(0)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        producer.flush(20)


def _visit(bootstrap: str, topic: str, journal: Path) -> None:
    with Consumer(
        bootstrap_servers=bootstrap,
        group_id=topic,
        assignors=("cooperative-sticky",),
        auto_offset_reset="earliest",
        journal=str(journal),
    ) as plain:
        plain.subscribe(topic)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if plain.getmany(timeout=0.05):
                until = min(until, time.monotonic() + _SECONDS_BESIDE)
            plain.commit()


def measured(path: Path) -> dict[str, Any]:
    """Return what the event logs say.

    Args:
        path: with `query.jsonl` and `joiner-*.jsonl`.
    """
    query = _events(path / "query.jsonl")
    commits = _commits(query)
    gaps = _gaps(query)
    joins, silences, alone = [], [], []
    gone = 0.0
    for log in sorted(path.glob("joiner-*.jsonl")):
        events = _events(log)
        first = _first(events, "generation")
        got = _first(events, "deliver")
        left = float(events[-1]["wall"])
        joins.append(got - _last_end(query, got))
        silences.append(_longest(gaps, (first - 1.0, got + 0.5), (left - 1.0, left + 0.5)))
        if gone:
            alone.append(_longest(gaps, (gone + 0.5, events[0]["wall"])))
        gone = left
    return {
        "commit_ms": [round(each * 1e3, 3) for each in commits],
        "join_after_batch_s": [round(each, 3) for each in joins],
        "silence_of_kept_s": [round(each, 3) for each in silences],
        "silence_alone_s": [round(each, 3) for each in alone],
        "summary": {
            "commit_ms_p50": round(statistics.median(commits) * 1e3, 2),
            "join_after_batch_s_max": round(max(joins), 3),
            "silence_of_kept_s_max": round(max(silences), 3),
            "silence_alone_s_max": round(max(alone), 3),
        },
    }


def _events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _first(events: list[dict[str, Any]], kind: str) -> float:
    """Return when the first event of a kind was written."""
    return next(float(each["wall"]) for each in events if each["event"] == kind)


def _commits(events: list[dict[str, Any]]) -> list[float]:
    """Return the seconds of each commit."""
    asked: dict[tuple[int, str], float] = {}
    found = []
    for each in events:
        if each["event"] == "commit":
            key = (each["commit_id"], str(each["claim"]))
            if each["stage"] == "requested":
                asked[key] = each["at"]
            elif each["stage"] == "ok" and key in asked:
                found.append(each["at"] - asked.pop(key))
    return found


def _last_end(events: list[dict[str, Any]], before: float) -> float:
    """Return when the last batch before a time ended: its end was asked to be committed then."""
    return max(
        (
            float(each["wall"])
            for each in events
            if each["event"] == "done" and each["wall"] <= before
        ),
        default=before,
    )


def _gaps(events: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return when each batch began, and how much longer than usual the next one took to begin.

    Usual is the median time between two batches of the whole run.
    """
    starts = sorted({float(each["wall"]) for each in events if each["event"] == "deliver"})
    gaps = [(a, b - a) for a, b in pairwise(starts) if b - a > 0.02]
    usual = statistics.median(gap for _, gap in gaps)
    return [(at, max(gap - usual, 0.0)) for at, gap in gaps]


def _longest(gaps: list[tuple[float, float]], *spans: tuple[float, float]) -> float:
    """Return the longest gap in some spans of time, 0 without one."""
    near = (gap for at, gap in gaps for begin, end in spans if begin <= at <= end)
    return max(near, default=0.0)
