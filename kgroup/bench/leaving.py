"""What a run of a group leaves: parts of its raw sample (pure).

Decides: that times of a partition are told in seconds after the event, and that what members tell
of themselves is put together by the worst of them.
Never: works out a figure.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgroup.bench.deliveries import Course
from kgroup.bench.processes import Answer


def beyond(held: Mapping[int, int], ends: Mapping[int, int]) -> str:
    """Return which partition has more committed than it has, "" when none has."""
    for partition, offset in held.items():
        if offset > ends[partition]:
            return (
                f"offset {offset} of partition {partition} is committed; it has {ends[partition]}"
            )
    return ""


def told(course: Course, event: float) -> dict[str, Any]:
    """Return what became of a partition around an event."""
    return {
        "partition": course.partition,
        "before": course.before,
        "after": course.after,
        "fate": course.fate,
        "wait_s": round(course.wait, 6),
        "silence": [round(at - event, 6) for at in course.silence],
    }


def together(answers: Mapping[str, Answer]) -> dict[str, Any]:
    """Return what all members say of themselves, as one result."""
    results = [answer.sample["result"] for answer in answers.values()]
    return {
        "compiled": results[0].get("compiled"),
        "versions": results[0].get("versions", {}),
        "rss_bytes": max(each["rss_bytes"] for each in results),
        "lag_p99_s": _longest(each.get("lag_p99_s") for each in results),
    }


def _longest(told: Iterable[float | None]) -> float | None:
    """Return the largest of what members tell, None when none does."""
    return max((each for each in told if each is not None), default=None)


def between(marks: Sequence[Mapping[str, float]]) -> float | None:
    """Return the CPU between the first mark and the last, None without two."""
    return marks[-1]["cpu_s"] - marks[0]["cpu_s"] if len(marks) > 1 else None
