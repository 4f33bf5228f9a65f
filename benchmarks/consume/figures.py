"""From raw samples to figures: what is divided by what, then median, lowest and highest.

Decides: that CPU is told twice: `cpu_us` from before the consumer is built to the last record, and
`cpu_us_whole` of the process from its start to its end, imports and closing included. Of a client
that reads twice the first reading counts for the whole process, the second for the rest.
Never: rounds what is kept raw.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

UNITS = {
    "cpu_us": "µs",
    "cpu_us_whole": "µs",
    "records_per_s": "/s",
    "mb_per_s": "MB/s",
    "rss_mb": "MB",
    "first_record_s": "s",
    "start_cpu_s": "s",
    "import_s": "s",
    "p50_ms": "ms",
    "p99_ms": "ms",
    "form_s": "s",
    "form_cpu_s": "s",
    "idle_ms_per_s": "ms/s",
    "instructions": "",
}

Sample = Mapping[str, Any]


def summary(
    job: str, samples: Sequence[Sample], size: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    """Return figure -> median, lowest and highest of all runs.

    Args:
        job: of the cell.
        samples: raw.
        size: `value_bytes` of one record, `members` of a group.
    """
    rows = [of_sample(job, sample, size) for sample in samples]
    if not rows:
        return {}
    return {
        name: {
            "median": _short(median(row[name] for row in rows)),
            "low": _short(min(row[name] for row in rows)),
            "high": _short(max(row[name] for row in rows)),
        }
        for name in rows[0]
    }


def of_sample(job: str, sample: Sample, size: Mapping[str, int]) -> dict[str, float]:
    """Return the figures of one run."""
    result = sample["result"]
    match job:
        case "read":
            return _of_reading(sample, size["value_bytes"])
        case "start":
            first = result["passes"][0]["first_at"] - sample["spawned_at"]
            return {
                "first_record_s": first,
                "start_cpu_s": sample["process_cpu_s"],
                "rss_mb": result["rss_bytes"] / 1e6,
            }
        case "import":
            return {"import_s": result["import_s"]}
        case "commit":
            return {
                "cpu_us": result["cpu_s"] / result["commits"] * 1e6,
                "p50_ms": result["p50_s"] * 1e3,
                "p99_ms": result["p99_s"] * 1e3,
            }
        case "members":
            idle = result["idle_cpu_s"] / result["idle_s"] / size["members"]
            return {
                "form_s": result["form_s"],
                "form_cpu_s": result["form_cpu_s"],
                "idle_ms_per_s": idle * 1e3,
                "rss_mb": result["rss_bytes"] / 1e6,
            }
    (few, many), (less, more) = result["records"], result["instructions"]
    return {"instructions": (more - less) / (many - few)}


def _of_reading(sample: Sample, value_bytes: int) -> dict[str, float]:
    passes = sample["result"]["passes"]
    first, last = passes[0], passes[-1]
    records = last["seen"]["records"]
    again = last["ended"]["cpu_s"] - first["ended"]["cpu_s"]
    # What came together at first had its time before; a topic that came at once has no speed.
    later = records - last["first_records"]
    since = last["first_at"] if later else last["began"]["at"]
    speed = (later or records) / (last["ended"]["at"] - since)
    return {
        "cpu_us": (last["ended"]["cpu_s"] - last["began"]["cpu_s"]) / records * 1e6,
        "cpu_us_whole": (sample["process_cpu_s"] - again) / records * 1e6,
        "records_per_s": speed,
        "mb_per_s": speed * value_bytes / 1e6,
        "rss_mb": sample["result"]["rss_bytes"] / 1e6,
        "first_record_s": first["first_at"] - sample["spawned_at"],
    }


def _short(figure: float) -> float:
    """Keep four digits that count."""
    return float(f"{figure:.4g}")
