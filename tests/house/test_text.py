"""What is committed says nothing of one machine and names no package index; locks hold hashes."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("demo.txt", "dev.txt", "bench.txt")

# Put together from pieces, so that this file passes its own test.
INDEX_HOSTS = re.compile(
    "|".join(
        (
            r"pypi" + r"\.org",
            r"python" + r"hosted\.org",
            r"repo1?" + r"\.maven",
            r"maven2" + r"/",
            r"--(extra-)?index" + r"-url",
            r"--find" + r"-links",
            r"registry" + r"\.npmjs",
        )
    )
)
MACHINE_PATHS = re.compile(
    r"(?<![\w.~}-])/(" + "|".join(("work", "root", "Users", r"home/\w+", "opt/wheels")) + r")/"
)


def tracked_texts() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    texts = {}
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path.suffix not in {".bin", ".gz", ".png"}:
            texts[name] = path.read_text(encoding="utf-8")
    return texts


def hits(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in tracked_texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_tracked_file_names_a_package_index() -> None:
    assert not hits(INDEX_HOSTS)


def test_no_tracked_file_names_a_folder_of_one_machine() -> None:
    assert not hits(MACHINE_PATHS)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pinned_package_of_a_lock_has_hashes(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z0-9][\w.-]*==)", "\n" + text)[1:]
    assert len(entries) > 10
    bare = [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry]
    assert not bare


def test_the_lock_of_the_demo_is_a_part_of_the_others() -> None:
    demo, *others = (pins(ROOT / "requirements" / lock) for lock in LOCKS)
    assert all(demo.items() <= other.items() for other in others)


def test_the_lock_of_the_benchmark_has_the_versions_of_the_tests() -> None:
    dev, bench = (pins(ROOT / "requirements" / lock) for lock in ("dev.txt", "bench.txt"))
    assert {name: dev.get(name, version) for name, version in bench.items()} == bench


def test_the_demo_is_locked_for_exactly_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {*project["dependencies"], *project["optional-dependencies"]["cli"]}
    lines = (ROOT / "requirements" / "demo.in").read_text(encoding="utf-8").splitlines()
    locked = {line for line in lines if line and not line.startswith("#")}
    assert {line for line in locked if not line.startswith("setuptools")} == asked


def pins(path: Path) -> dict[str, str]:
    found = re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(found)
