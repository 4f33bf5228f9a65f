"""Results that were never measured, as a contest would leave them."""

from kgroup.bench.cells import Cell, Plan
from kgroup.bench.contest import Entry
from kgroup.bench.histogram import encoded
from kgroup.bench.result import build

PLAN = Plan(runs=5)


def read_sample(cpu, records=1000):
    """A reading that took so many CPU seconds."""
    found = {
        "began": {"at": 10.0, "cpu_s": 0.0},
        "first_at": 10.5,
        "first_records": 1,
        "ended": {"at": 11.0, "cpu_s": cpu},
        "seen": {"records": records},
    }
    result = {"passes": [found], "rss_bytes": 50_000_000, "compiled": None, "versions": {"x": "1"}}
    return {"load": 0.1, "spawned_at": 9.0, "process_cpu_s": cpu + 0.1, "result": result}


def join_sample(moved, stay):
    """A join after which partition 0 moved and partition 1 stayed; waits in seconds."""
    rows = [
        {
            "partition": 0,
            "before": ["m0"],
            "after": ["m1"],
            "fate": "moved",
            "wait_s": moved,
            "silence": [-0.1, moved - 0.1],
        },
        {
            "partition": 1,
            "before": ["m0"],
            "after": ["m0"],
            "fate": "stay",
            "wait_s": stay,
            "silence": [0.2, stay + 0.2],
        },
    ]
    return {
        "load": 0.1, "records": 100, "lost": 0, "repeated": 2, "uncommitted": 0,
        "waits": encoded([moved, stay]), "counted": 2, "cpu_s": None,
        "usual_s": 0.01, "recover_s": moved, "partitions": rows,
        "spans": [[0, "m0", -1.0, 0.0], [0, "m1", 0.5, 1.0], [1, "m0", -1.0, 1.0]],
        "result": {"compiled": True, "versions": {"x": "1"}, "rss_bytes": 1_000_000},
    }  # fmt: skip


def grown(client, size):
    """A group of a size, formed five times, a second for ten members."""
    found = {
        "held": size.partitions, "form_s": size.members / 10, "form_cpu_s": 0.1, "idle_s": 5.0,
        "idle_cpu_s": 0.1, "rss_bytes": 1_000_000, "versions": {},
    }  # fmt: skip
    samples = [{"load": 0.1, "result": found, "rounds": 2}] * 5
    return Entry(Cell("scale", client, "", "asyncio", size=size), samples=samples)


def counted_sample(instructions):
    """Two readings, of which the second one had 100 records more."""
    return {
        "load": 0.1, "result": {"records": [100, 200], "instructions": [0, 100 * instructions]},
    }  # fmt: skip


def latency_sample(*waits):
    """Records that waited so many seconds."""
    return {
        **join_sample(0.1, 0.1), "waits": encoded(waits), "counted": len(waits), "cpu_s": 0.5,
        "spans": [],
    }  # fmt: skip


def entry(client, level, samples, job="read", **more):
    """A cell and its samples."""
    loop = "asyncio" if client in {"kgroup", "aiokafka"} else ""
    return Entry(Cell(job, client, level, loop), samples=samples, **more)


def reading(client, level, *cpu):
    """A cell that was read once for each CPU time."""
    return entry(client, level, [read_sample(each) for each in cpu])


def document(*entries, plan=PLAN, **more):
    """Results of these cells."""
    return build(plan, "Kafka 4.3.1", entries, scenario="mine", **more)


FAST = (0.10, 0.11, 0.12, 0.105, 0.115)
SLOW = (0.20, 0.21, 0.22, 0.205, 0.215)


def two(ours=FAST, theirs=SLOW):
    """Results of kgroup beside aiokafka."""
    return document(
        reading("kgroup", "records", *ours),
        reading("aiokafka", "getmany", *theirs),
        entry("java", "poll", [], status="absent", reason="no Java"),
    )
