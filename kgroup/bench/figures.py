"""From raw samples to figures: what is divided by what, then median, lowest and highest.

Decides: that CPU is told twice: `cpu_us` from before the consumer is built to the last record, and
`cpu_us_whole` of the process from its start to its end, imports and closing included. Of a client
that reads twice the first reading counts for the whole process, the second for the rest.
Never: rounds what is kept raw.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

from kgroup.bench.cells import EVENTS
from kgroup.bench.deliveries import Fate
from kgroup.bench.histogram import percentiles

UNITS: Final[Mapping[str, str]] = {
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
    "p999_ms": "ms",
    "max_ms": "ms",
    "lag_ms": "ms",
    "moved": "",
    "moved_ms": "ms",
    "moved_max_ms": "ms",
    "stay_ms": "ms",
    "stay_max_ms": "ms",
    "back_ms": "ms",
    "back_max_ms": "ms",
    "wait_ms": "ms",
    "uncommitted": "",
    "recover_s": "s",
    "repeated": "",
    "form_s": "s",
    "form_cpu_s": "s",
    "idle_ms_per_s": "ms/s",
    "rounds": "",
    "requests": "/min",
    "assign_ms": "ms",
    "again_ms": "ms",
    "apart": "",
    "p90_ms": "ms",
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
    return {
        name: {
            "median": _short(median(series)),
            "low": _short(min(series)),
            "high": _short(max(series)),
        }
        for name, series in each_run(job, samples, size).items()
    }


def each_run(
    job: str, samples: Sequence[Sample], size: Mapping[str, int]
) -> dict[str, list[float]]:
    """Return figure -> what it is in each run that has it.

    Args:
        job: of the cell.
        samples: raw.
        size: `value_bytes` of one record, `members` of a group.
    """
    found: dict[str, list[float]] = {}
    for sample in samples:
        for name, figure in of_sample(job, sample, size).items():
            found.setdefault(name, []).append(figure)
    return found


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
        case "members" | "scale":
            return _of_crowd(sample, size["members"])
        case "assign":
            return {
                "assign_ms": min(result["first"]["times_s"]) * 1e3,
                "again_ms": min(result["again"]["times_s"]) * 1e3,
                **{name: float(sample["judged"][name]) for name in ("apart", "moved")},
            }
        case "claim":
            times = sorted(result["claims_s"])
            places = {"p50_ms": len(times) // 2, "p90_ms": len(times) * 9 // 10, "max_ms": -1}
            return {name: times[place] * 1e3 for name, place in places.items()}
        case "latency":
            return _of_latency(sample)
        case job if job in EVENTS:
            return _of_event(sample)
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


def _of_crowd(sample: Sample, members: int) -> dict[str, float]:
    result = sample["result"]
    rounds = {"rounds": float(sample["rounds"])} if sample.get("rounds") else {}
    more = {}
    if result.get("requests") is not None:
        more["requests"] = result["requests"] / result["idle_s"] / members * 60
    return {
        "form_s": result["form_s"],
        **rounds,
        **more,
        "form_cpu_s": result["form_cpu_s"],
        "idle_ms_per_s": result["idle_cpu_s"] / result["idle_s"] / members * 1e3,
        "rss_mb": result["rss_bytes"] / 1e6,
    }


def _of_latency(sample: Sample) -> dict[str, float]:
    found = percentiles([sample["waits"]], (50.0, 99.0, 99.9, 100.0))
    names = ("p50_ms", "p99_ms", "p999_ms", "max_ms")
    figures = {name: each * 1e3 for name, each in zip(names, found, strict=True)}
    if sample["cpu_s"] is not None:
        figures["cpu_us"] = sample["cpu_s"] / sample["counted"] * 1e6
    if sample["result"].get("lag_p99_s") is not None:
        figures["lag_ms"] = sample["result"]["lag_p99_s"] * 1e3
    figures["repeated"] = float(sample["repeated"])
    return {**figures, "rss_mb": sample["result"]["rss_bytes"] / 1e6}


def _of_event(sample: Sample) -> dict[str, float]:
    """Return how long nothing new came of partitions that moved, came back, and stayed."""
    figures = {
        "recover_s": sample["recover_s"],
        "repeated": float(sample["repeated"]),
        "wait_ms": max(each["wait_s"] for each in sample["partitions"]) * 1e3,
    }
    if sample["uncommitted"] is not None:
        figures["uncommitted"] = float(sample["uncommitted"])
    silences: dict[str, list[float]] = {fate: [] for fate in Fate}
    for each in sample["partitions"]:
        began, ended = each["silence"]
        silences[each["fate"]].append((ended - began) * 1e3)
    for fate, series in silences.items():
        if series:
            figures |= {f"{fate}_ms": median(series), f"{fate}_max_ms": max(series)}
    return {**figures, "moved": float(len(silences[Fate.MOVED]))}


def _short(figure: float) -> float:
    """Keep four digits that count."""
    return float(f"{figure:.4g}")
