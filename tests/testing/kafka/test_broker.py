"""What `kgroup broker` remembers between commands."""

import json
import os
from pathlib import Path

import pytest

from kgroup.errors import ConfigError, IllegalStateError
from kgroup.testing.kafka import broker


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"KGROUP_CACHE": str(tmp_path), "PATH": ""}


def remember(environ: dict[str, str], folder: Path, *, mark: str) -> Path:
    """Write a state whose one process is this test run, known by `mark`."""
    folder.mkdir(exist_ok=True)
    state = {
        "version": "4.3.1",
        "brokers": 1,
        "bootstrap": "127.0.0.1:1",
        "folder": mark,
        "processes": [{"node_id": 1, "pid": os.getpid(), "log": "server.log"}],
    }
    path = Path(environ["KGROUP_CACHE"]) / "broker.json"
    path.write_text(json.dumps(state), encoding="utf-8")
    return path


def test_nothing_is_remembered_before_the_first_start(environ: dict[str, str]) -> None:
    assert broker.status(environ) is None
    assert broker.down(environ) is None


def test_a_running_broker_is_returned_and_not_started_again(
    environ: dict[str, str], tmp_path: Path
) -> None:
    remember(environ, tmp_path / "data", mark="python")
    assert broker.up("4.3.1", 1, environ=environ).bootstrap == "127.0.0.1:1"


@pytest.mark.parametrize(("version", "brokers"), [("3.9.1", 1), ("4.3.1", 3)])
def test_another_broker_is_not_started_beside_the_running_one(
    environ: dict[str, str], tmp_path: Path, version: str, brokers: int
) -> None:
    remember(environ, tmp_path / "data", mark="python")
    with pytest.raises(IllegalStateError, match="kgroup broker down"):
        broker.up(version, brokers, environ=environ)


def test_a_process_id_of_another_process_does_not_count_as_running(
    environ: dict[str, str], tmp_path: Path
) -> None:
    remember(environ, tmp_path / "data", mark=str(tmp_path / "data"))
    state = broker.status(environ)
    assert state is not None
    assert state.running == ()


def test_down_forgets_the_broker_and_removes_its_data(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "kgroup-kafka-x"
    path = remember(environ, folder, mark=str(folder))
    ended = broker.down(environ)
    assert ended is not None
    assert ended.version == "4.3.1"
    assert not folder.exists()
    assert not path.exists()


def test_a_folder_kgroup_did_not_make_is_never_removed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "precious"
    remember(environ, folder, mark=str(folder))
    broker.down(environ)
    assert folder.exists()


def test_an_unknown_version_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="version"):
        broker.up("1.0.0", environ=environ)
