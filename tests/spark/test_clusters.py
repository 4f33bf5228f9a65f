"""Clusters, each with a program as users write it: every record once, all committed, nothing left.

Decides: that kgroup comes from its built wheel, and reaches executors in the ways that
docs/spark.md tells.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kgroup.testing.kafka import RealKafka
from tests.conftest import REQUIRE_REAL
from tests.spark.ground import Reads, made, once, wait
from tests.spark.sites import PROGRAM, ROOT, Site, site

pytestmark = [pytest.mark.spark, pytest.mark.real]

CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"

SOURCES = (
    "CHANGELOG.md",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "pyproject.toml",
    "pyspark_kgroup.py",
    "setup.py",
)


def pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this project, built from a copy: building leaves files beside the sources."""
    if not REQUIRE_REAL:
        pytest.importorskip("pyspark", reason="it needs the extra kgroup[spark]")
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "sources"
    copied = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "kgroup", copy / "kgroup", ignore=copied)
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(copy))
    (built,) = folder.glob("kgroup-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A folder that the wheel is installed in."""
    folder = wheel.parent / "installed"
    pip("install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))
    return folder


@pytest.fixture
def reads(kafka: RealKafka, tmp_path: Path) -> Reads:
    found = made(None, kafka, tmp_path)
    found.fill(100)
    return found


def arguments(spark: Site, reads: Reads) -> list[str]:
    """Return the words that the program takes."""
    return [PROGRAM.name, reads.kafka.bootstrap, reads.ground.topic, reads.group, str(spark.data)]


def submitted(spark: Site, master: str, reads: Reads, sent: str = "") -> Any:
    """Have a cluster run the program; return what that has seen.

    Args:
        sent: name of a zip that is sent along, empty for none.
    """
    options = ["--master", master, *(["--py-files", sent] if sent else [])]
    return spark.start("spark-submit", *options, *arguments(spark, reads), sent).result()


def homes(seen: Any, reads: Reads) -> set[str]:
    """Check what the program has read, and what is committed; return where kgroup came from."""
    once(((partition, offset) for partition, offset in seen["sunk"]), reads.expected())
    assert reads.committed() == reads.ends()
    wait(lambda: reads.members() == 0, "the member has left")
    assert len(seen["homes"]) == len(reads.expected()), "rows of the batch read"
    return set(seen["homes"])


def executors(folder: Path) -> list[str]:
    """Return the names of the executors that ran below a folder of workers."""
    return sorted(each.name for each in folder.glob("**/app-*/*") if each.is_dir())


def test_a_local_cluster_reads_with_the_installed_wheel(
    installed: Path, reads: Reads, tmp_path: Path
) -> None:
    with site(tmp_path / "spark", installed) as spark:
        seen = submitted(spark, "local-cluster[2,1,1024]", reads)
        assert homes(seen, reads) == {str(installed / "kgroup" / "__init__.py")}
        assert executors(spark.home / "work") == ["0", "1"]


def test_a_standalone_cluster_reads_with_a_wheel_that_is_sent_along(
    wheel: Path, reads: Reads, tmp_path: Path
) -> None:
    with site(tmp_path / "spark") as spark:
        here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        size = ("--cores", "1", "--memory", "1g", "--work-dir")
        master = spark.start("spark-class", "org.apache.spark.deploy.master.Master", *here)
        url = master.says(r"Starting Spark master at (spark://\S+)")
        folders = [str(spark.folder / name) for name in ("first", "second")]
        worker = ("spark-class", "org.apache.spark.deploy.worker.Worker", *here, *size)
        for each in [spark.start(*worker, folder, url) for folder in folders]:
            assert each.says(r"registered with master (\S+)") == url
        shutil.copy(wheel, spark.data / "kgroup.zip")
        seen = submitted(spark, url, reads, "kgroup.zip")
        assert all("kgroup.zip" in home for home in homes(seen, reads))
        assert sorted(executors(Path(folder)) for folder in folders) == [["0"], ["1"]]


def test_a_connect_server_reads_with_the_installed_wheel(
    installed: Path, reads: Reads, tmp_path: Path
) -> None:
    with site(tmp_path / "spark", installed) as spark:
        server = spark.start("spark-submit", "--master", "local[2]", "--class", CONNECT)
        port = server.says(r"Spark Connect server started at: \S+:(\d+)")
        remote = {"SPARK_REMOTE": f"sc://127.0.0.1:{port}"}
        seen = spark.start(sys.executable, *arguments(spark, reads), extra=remote).result()
        assert homes(seen, reads) == {str(installed / "kgroup" / "__init__.py")}
