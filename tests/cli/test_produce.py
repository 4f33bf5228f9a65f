"""`kgroup produce`: what a line means, where it goes, and what is stored."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from aiokafka.partitioner import murmur2 as theirs

from kgroup.cli.app import run
from kgroup.cli.produce import Line, murmur2, read_line, send_lines
from kgroup.errors import ArgumentError
from kgroup.net.cluster import Cluster
from kgroup.net.settings import NetSettings
from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.wire.records import NewRecord


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        (b"plain text", None, Line(NewRecord(None, b"plain text"))),
        (b"", "k", Line(NewRecord(b"k", b""))),
    ],
)
def test_a_line_is_the_value_and_the_key_is_that_of_all(
    line: bytes, key: str | None, expected: Line
) -> None:
    assert read_line(line, 1, key=key, json_lines=False) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"value": "v"}', Line(NewRecord(b"given", b"v"))),
        (b'{"key": null, "value": null}', Line(NewRecord(None, None))),
        (b'{"key": "k", "value": {"a": 1}}', Line(NewRecord(b"k", b'{"a": 1}'))),
        (
            b'{"key": "k", "value": "v", "headers": [["h", "1"]], "partition": 1, "timestamp": 5}',
            Line(NewRecord(b"k", b"v", (("h", b"1"),), 5), partition=1),
        ),
    ],
)
def test_a_json_line_is_what_consume_prints(line: bytes, expected: Line) -> None:
    assert read_line(line, 1, key="given", json_lines=True) == expected


@pytest.mark.parametrize(
    "line", [b"not json", b"[1]", b'{"key": "k"}', b'{"value": 1, "headers": 3}']
)
def test_a_line_that_is_no_such_object_is_named_with_its_number(line: bytes) -> None:
    with pytest.raises(ArgumentError, match="line 7"):
        read_line(line, 7, key=None, json_lines=True)


@pytest.mark.parametrize("length", range(12))
def test_keys_are_hashed_as_javas_producer_does(length: int) -> None:
    key = bytes(range(250 - length, 250))
    assert murmur2(key) == theirs(key) & 0xFFFFFFFF


async def sent(broker: InProcessBroker, lines: Sequence[Line], rate: float | None = None) -> int:
    ports = virtual_ports(dial=broker.dial)
    cluster = Cluster(NetSettings(bootstrap=broker.bootstrap), ports)
    send, receive = anyio.create_memory_object_stream[Line](len(lines))
    for line in lines:
        send.send_nowait(line)
    send.close()
    async with anyio.create_task_group() as tasks:
        await tasks.start(cluster.run)
        await cluster.bootstrap(10)
        with receive:
            stored = await send_lines(cluster, "t", 2, receive, rate)
        tasks.cancel_scope.cancel()
    return stored


def values(broker: InProcessBroker, partition: int) -> list[bytes | None]:
    return [record.value for record in broker.partition("t", partition).records()]


async def test_records_with_a_key_go_to_its_partition_and_others_take_turns() -> None:
    broker = InProcessBroker(topics={"t": 2})
    keyed = [Line(NewRecord(b"same", str(n).encode())) for n in range(3)]
    plain = [Line(NewRecord(None, b"a")), Line(NewRecord(None, b"b"))]
    assert await sent(broker, [*keyed, *plain, Line(NewRecord(None, b"here"), partition=1)]) == 6
    found = [values(broker, 0), values(broker, 1)]
    assert [b"0", b"1", b"2"] in [[v for v in each if v in {b"0", b"1", b"2"}] for each in found]
    assert (b"a" in found[0], b"b" in found[1], found[1][-1]) == (True, True, b"here")


async def test_a_rate_is_kept() -> None:
    broker = InProcessBroker(topics={"t": 2})
    began = anyio.current_time()
    await sent(broker, [Line(NewRecord(None, b"x"))] * 10, rate=5.0)
    assert anyio.current_time() - began == pytest.approx(2.0, abs=0.2)


def test_the_command_writes_standard_input_and_says_how_much(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = InProcessBroker(topics={"t": 1})
    with broker.serve() as served:
        lines = SimpleNamespace(buffer=io.BytesIO(b"one\ntwo\r\nthree"))
        monkeypatch.setattr(sys, "stdin", lines)
        assert run(["produce", "t", "--count", "2", "--bootstrap", served.bootstrap]) == 0
        assert values(broker, 0) == [b"one", b"two"]
    assert "stored 2 records in t" in capsys.readouterr().err


def test_a_missing_topic_is_made_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = InProcessBroker(settings=BrokerSettings(auto_create_topics=False))
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    with broker.serve() as served:
        assert run(["produce", "new", "--file", str(lines), "--bootstrap", served.bootstrap]) == 0
    assert [record.value for record in broker.partition("new", 0).records()] == [b"one"]
    assert "made topic new, which was missing" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with InProcessBroker(topics={"t": 1}).serve() as served:
        missing = str(tmp_path / "none")
        assert run(["produce", "t", "--file", missing, "--bootstrap", served.bootstrap]) == 2
    assert "a readable file" in capsys.readouterr().err
