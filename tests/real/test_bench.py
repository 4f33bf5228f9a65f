"""`kgroup bench run` on a real broker: small, whole, and nothing stays behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from kgroup.bench.filling import connected
from kgroup.cli import main
from kgroup.errors import BrokerError
from kgroup.net.group_description import list_groups
from kgroup.testing.kafka import RealKafka, read_bounds

pytestmark = [pytest.mark.real, pytest.mark.slow]

SMALL = """
about = "A little of everything"
jobs = ["read", "join", "latency"]

[clients]
kgroup = ["LEVEL"]

[size]
runs = 1
records = 800
idle_s = 0.2
commits = 20

[group]
members = 1
partitions = 4
rate = 40
batch = 1
before = 0.5
after = 0.3

[[sizes]]
members = 3
partitions = 4
"""
PATIENCE = 90.0
INTERRUPTED = 130


def scenario(folder: Path, job: str, level: str) -> str:
    """Write a scenario of one job, and return its path."""
    text = SMALL.replace('["read", "join", "latency"]', f'["{job}"]').replace("LEVEL", level)
    path = folder / f"{job}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("job", "level"),
    [
        *(("read", "records"), ("latency", "range"), ("join", "cooperative-sticky")),
        *(("restart", "range"), ("commit", "")),
    ],
)
def test_every_record_is_counted_by_the_brokers_word(
    kafka: RealKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str, level: str
) -> None:
    words = ["bench", "run", scenario(tmp_path, job, level), "--bootstrap", kafka.bootstrap]
    ended = main([*words, "--out", str(tmp_path), "--json"])
    out = capsys.readouterr()
    assert ended == 0, out.err
    document = json.loads(out.out)
    [cell] = document["cells"]
    assert (cell["status"], cell["reason"]) == ("measured", "")
    [sample] = cell["samples"]
    match job:
        case "read":
            assert sample["result"]["passes"][0]["seen"]["records"] == cell["records"] == 800
        case "commit":
            assert (sample["committed"], sample["commits"]) == (220, 220)
        case _:
            assert (sample["lost"], sample["records"]) == (0, cell["records"])
            assert (sample["counted"] > 0, sample["uncommitted"]) == (True, 0)
    if job == "restart":
        assert {each["fate"] for each in sample["partitions"]} == {"back"}
    assert document["versions"]["kgroup"]
    assert (tmp_path / job / "result.json").exists()
    assert not groups_left(kafka)


def test_a_group_tells_its_rounds_by_the_coordinators_word(
    kafka: RealKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", "run", scenario(tmp_path, "scale", ""), "--bootstrap", kafka.bootstrap]
    ended = main([*words, "--out", str(tmp_path), "--json"])
    out = capsys.readouterr()
    assert ended == 0, out.err
    [cell] = json.loads(out.out)["cells"]
    assert (cell["status"], cell["size"]) == ("measured", [3, 4])
    [sample] = cell["samples"]
    assert 1 <= sample["rounds"] <= 3


def test_an_interrupted_run_keeps_what_was_finished_and_leaves_no_process_and_no_topic(
    kafka: RealKafka, tmp_path: Path
) -> None:
    path = Path(scenario(tmp_path, "read", "records"))
    path.write_text(path.read_text().replace("runs = 1", "runs = 100"), encoding="utf-8")
    words = [sys.executable, "-m", "kgroup.cli", "bench", "run", str(path)]
    words += ["--bootstrap", kafka.bootstrap, "--out", str(tmp_path)]
    marked = f"BENCH_OF={tmp_path}"
    process = subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "BENCH_OF": str(tmp_path)},
    )
    assert process.stderr is not None
    with process, process.stderr as lines:
        topic = ""
        for line in lines:
            topic = line.split()[1].rstrip(":") if line.startswith("filling") else topic
            if line.startswith("run 1:"):
                break
        os.kill(process.pid, signal.SIGINT)
        lines.read()
        assert process.wait(PATIENCE) == INTERRUPTED
    document = json.loads((tmp_path / "read" / "result.json").read_text(encoding="utf-8"))
    assert document["complete"] is False
    assert document["cells"][0]["samples"]
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC"):
        read_bounds(kafka.bootstrap, [topic])
    assert not groups_left(kafka)
    assert not [each for each in Path("/proc").glob("[0-9]*/environ") if marked in variables(each)]


def groups_left(kafka: RealKafka) -> list[str]:
    """Return the groups of benchmarks that are still there."""

    async def ask() -> list[str]:
        async with connected(kafka.bootstrap) as cluster:
            listing = await list_groups(cluster, timeout=PATIENCE)
            return [each.group_id for each in listing.groups if "-bench-" in each.group_id]

    return anyio.run(ask)


def variables(path: Path) -> list[str]:
    """Return the variables of a process, none when it has ended."""
    try:
        return path.read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
