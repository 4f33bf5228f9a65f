"""The folder of jars is whole or absent, fetched once, by the first tool that can."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kgroup.errors import ConfigError, UnsupportedError
from kgroup.testing.kafka.jars import Java, Resolver, Run, fetch_jars, find_resolvers, run_streaming

SERVER = "kafka_2.13-4.3.1.jar"
ALPHA = Resolver("Alpha", "alpha.xml", "<alpha {}>".format, ("alpha", "go"))
BETA = Resolver("Beta", "beta.xml", "<beta {}>".format, ("beta",))


class FakeTool:
    """Stands for Maven or Ivy: writes jars, prints lines, returns a code."""

    def __init__(self, *jars: str, code: int = 0, lines: Sequence[str] = ()) -> None:
        self.jars = jars
        self.code = code
        self.lines = lines
        self.calls: list[tuple[tuple[str, ...], dict[str, str]]] = []

    def __call__(self, command: Sequence[str], folder: Path, on_line: Callable[[str], None]) -> int:
        recipes = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        self.calls.append((tuple(command), recipes))
        for line in self.lines:
            on_line(line)
        (folder / "libs").mkdir()
        for jar in self.jars:
            (folder / "libs" / jar).touch()
        return self.code


def by_name(**tools: Run) -> Run:
    def run(command: Sequence[str], folder: Path, on_line: Callable[[str], None]) -> int:
        return tools[command[0]](command, folder, on_line)

    return run


def test_the_first_tool_that_succeeds_fills_the_cache(tmp_path: Path) -> None:
    tool = FakeTool(SERVER, "other.jar")
    folder = fetch_jars("4.3.1", tmp_path, [ALPHA, BETA], run=tool)
    assert sorted(path.name for path in folder.iterdir()) == [SERVER, "other.jar"]
    assert tool.calls == [(("alpha", "go"), {"alpha.xml": "<alpha 4.3.1>"})]


def test_jars_in_the_cache_are_not_fetched_again(tmp_path: Path) -> None:
    tool = FakeTool(SERVER)
    first = fetch_jars("4.3.1", tmp_path, [ALPHA], run=tool)
    assert fetch_jars("4.3.1", tmp_path, [], run=tool) == first
    assert len(tool.calls) == 1


def test_the_second_tool_is_tried_when_the_first_fails(tmp_path: Path) -> None:
    run = by_name(alpha=FakeTool(code=1), beta=FakeTool(SERVER))
    assert (fetch_jars("4.3.1", tmp_path, [ALPHA, BETA], run=run) / SERVER).is_file()


def test_a_failed_fetch_leaves_no_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError):
        fetch_jars("4.3.1", tmp_path, [ALPHA], run=FakeTool("half.jar", code=1))
    assert [path.name for path in (tmp_path / "kafka").iterdir()] == ["4.3.1.lock"]


def test_success_without_the_server_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="Alpha: exit code 0"):
        fetch_jars("4.3.1", tmp_path, [ALPHA], run=FakeTool("other.jar"))


def test_the_error_repeats_what_each_tool_complained_of(tmp_path: Path) -> None:
    lines = ["[INFO] scanning", "[ERROR] Connection refused", "[INFO] done"]
    run = by_name(alpha=FakeTool(code=1, lines=lines), beta=FakeTool(code=2, lines=["ended badly"]))
    with pytest.raises(UnsupportedError) as caught:
        fetch_jars("4.3.1", tmp_path, [ALPHA, BETA], run=run)
    assert "Alpha: exit code 1: [ERROR] Connection refused" in str(caught.value)
    assert "Beta: exit code 2: ended badly" in str(caught.value)


def test_an_unknown_certificate_leads_to_the_trust_store(tmp_path: Path) -> None:
    tool = FakeTool(code=1, lines=["Server access error: PKIX path building failed"])
    with pytest.raises(UnsupportedError, match=r"javax\.net\.ssl\.trustStore"):
        fetch_jars("4.3.1", tmp_path, [ALPHA], run=tool)


def test_a_tool_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    missing = Resolver("Gamma", "gamma.xml", str, (str(tmp_path / "gamma"),))
    with pytest.raises(UnsupportedError, match=r"Gamma: .*No such file"):
        fetch_jars("4.3.1", tmp_path, [missing])


def test_without_a_tool_the_error_says_which_would_do(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="neither Maven nor an installed pyspark"):
        fetch_jars("4.3.1", tmp_path, [])


def test_an_unknown_version_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'9\.9\.9', expected one of 4\.3\.1, 3\.9\.1"):
        fetch_jars("9.9.9", tmp_path, [ALPHA])


def test_a_second_logger_binding_is_left_out(tmp_path: Path) -> None:
    folder = fetch_jars(
        "4.3.1", tmp_path, [ALPHA], run=FakeTool(SERVER, "slf4j-reload4j-1.7.36.jar")
    )
    assert [path.name for path in folder.iterdir()] == [SERVER]


def test_progress_is_reported_while_files_arrive(tmp_path: Path) -> None:
    messages: list[str] = []
    maven = ["[INFO] Downloaded from here: a.jar"] * 20
    ivy = ["\t[SUCCESSFUL ] org.x#a;1!a.jar (3ms)"] * 20
    fetch_jars(
        "4.3.1",
        tmp_path,
        [ALPHA],
        run=FakeTool(SERVER, lines=maven + ivy),
        progress=messages.append,
    )
    assert messages == [
        "Kafka 4.3.1: fetching jars with Alpha, once",
        "Kafka 4.3.1: 20 files fetched",
        "Kafka 4.3.1: 40 files fetched",
    ]


def test_of_two_that_ask_at_once_only_one_fetches(tmp_path: Path) -> None:
    tool = FakeTool(SERVER)
    both_there = threading.Barrier(2)

    def ask() -> None:
        both_there.wait(5)
        fetch_jars("4.3.1", tmp_path, [ALPHA], run=tool)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(tool.calls) == 1


def test_maven_reads_a_recipe_with_the_server_and_its_tools(tmp_path: Path) -> None:
    tool = tmp_path / "mvn"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    resolvers = {one.name: one for one in find_resolvers(None, {"PATH": str(tmp_path)})}
    maven = resolvers["Maven"]
    assert maven.command[0] == str(tool)
    text = maven.text("4.3.1")
    for artifact in ("kafka_2.13", "kafka-tools"):
        assert f"<artifactId>{artifact}</artifactId><version>4.3.1</version>" in text


def test_ivy_is_no_way_without_a_java(tmp_path: Path) -> None:
    assert find_resolvers(None, {"PATH": str(tmp_path)}) == []


def test_ivy_of_an_installed_pyspark_is_the_second_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pyspark"
    (package / "jars").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "jars" / "ivy-2.5.3.jar").touch()
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = find_resolvers(Java("java", 17, "test"), {"PATH": str(tmp_path)})
    assert found.name == "the Ivy of pyspark"
    assert found.command[:3] == ("java", "-jar", str(package / "jars" / "ivy-2.5.3.jar"))
    assert '<dependency org="org.apache.kafka" name="kafka_2.13" rev="3.9.1"' in found.text("3.9.1")


def test_lines_of_a_command_arrive_one_by_one(tmp_path: Path) -> None:
    lines: list[str] = []
    assert (
        run_streaming(["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path, lines.append) == 3
    )
    assert lines == ["one", "two"]
