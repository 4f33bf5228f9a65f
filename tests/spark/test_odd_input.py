"""Coordination logs as they may be too: odd names, a head that is gone, no right to read them."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from confluent_kafka import TopicPartition as LibrdkafkaPartition
from confluent_kafka.admin import AdminClient

from kgroup.cli import main
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.kept import Kept
from kgroup.spark.coordination.page import page
from kgroup.spark.coordination.report import report
from kgroup.spark.coordination.store import Progress, Store
from kgroup.spark.coordination.tables import arrow_of
from kgroup.sync import Consumer
from kgroup.testing.kafka import Acl, AclOperation, AclResource, RealKafka, add_acls
from tests.real.claiming import claiming, lay_log
from tests.spark.coordinator import Log, Rows, groups_of, silver_of
from tests.spark.ground import Reads, made, wait

GROUP = "a/b\0c<b>é"
TOPIC = "t-1/../\n"
METADATA = "m" * 4096 + "\0"


def odd() -> Rows:
    log = Log()
    log.generation(1, {"<i>\0": [(TOPIC, 0)]}, group=GROUP, instances={"<i>\0": "../x"})
    log.commit(9, group=GROUP, topic=TOPIC, metadata=METADATA)
    log.commit(4, group=GROUP, topic=TOPIC)
    silver = silver_of(log.records)
    return silver | groups_of(silver)


def test_names_with_slashes_and_nuls_and_long_metadata_are_kept_as_they_are(
    tmp_path: Path,
) -> None:
    store = Store(None, tmp_path)
    for name, rows in odd().items():
        if rows:
            store.append(d.TABLES[name], arrow_of(d.TABLES[name], rows), 0)
    store.put(Progress(batch=0))
    kept = Kept(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"_kgroup", *d.TABLES}
    assert kept.groups(d.GENERATION) == {GROUP}
    commits = kept.rows(d.COMMIT_LOG, GROUP)
    assert [(row["topic"], row["metadata"]) for row in commits] == [(TOPIC, METADATA), (TOPIC, "")]
    (owned,) = kept.rows(d.OWNERSHIP, GROUP)
    assert (owned["owner"], owned["instance"]) == ("<i>\0", "../x")


def test_a_report_shows_such_names_as_text() -> None:
    shown = page(report(GROUP, odd()))
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert "committed 4 after 9" in shown


def test_a_report_on_tables_of_a_newer_version_names_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store(None, tmp_path).put(Progress(batch=0))
    progress = tmp_path / "_kgroup" / "progress.json"
    progress.write_text(progress.read_text().replace('"version": 1', '"version": 2'))
    out = tmp_path / "page.html"
    assert main(["spark", "report", str(tmp_path), "--group", "g", "--out", str(out)]) == 2
    assert "a newer kgroup wrote them" in capsys.readouterr().err
    assert not out.exists()


# -- real brokers ----------------------------------------------------------------------------------


@pytest.fixture
def reads(spark: Any, kafka: RealKafka, tmp_path: Path) -> Reads:
    return made(spark, kafka, tmp_path)


def tables(reads: Reads, topic: str, capsys: pytest.CaptureFixture[str]) -> Any:
    words = ["--bootstrap", reads.kafka.bootstrap, "--out", str(reads.folder / "out"), "--json"]
    capsys.readouterr()
    assert main(["spark", "coordination", *words, "--coordination-topic", topic]) == 0
    return json.loads(capsys.readouterr().out)


def claimed(reads: Reads, options: Any, name: str) -> None:
    """Have a member claim all, and leave."""
    with Consumer(client_id=name, auto_offset_reset="earliest", **options) as one:
        one.subscribe(reads.ground.topic)

        def has_all() -> bool:
            one.getmany(timeout=0.1)
            return len(one.assignment()) == 3

        wait(has_all, f"{name} has claimed all")


@pytest.mark.spark
@pytest.mark.real
def test_a_head_that_is_deleted_while_the_log_is_tailed_is_a_row_that_says_from_when_on(
    reads: Reads, capsys: pytest.CaptureFixture[str]
) -> None:
    log = anyio.run(lay_log, reads.kafka)
    options = claiming(log, bootstrap_servers=reads.kafka.bootstrap, group_id=reads.group)
    claimed(reads, options, "one")
    first = tables(reads, log.topic, capsys)
    (end,) = first["marshal"]
    claimed(reads, options, "two")
    gone = end["next_offset"] + 2
    admin = AdminClient({"bootstrap.servers": reads.kafka.bootstrap})
    for done in admin.delete_records([LibrdkafkaPartition(log.topic, 0, gone)]).values():
        done.result(20)
    found = [row for row in tables(reads, log.topic, capsys)["history"] if row["src"] == log.topic]
    assert [(row["lost_from"], row["whole_from"]) for row in found] == [(end["next_offset"], gone)]
    offsets = {row["log_offset"] for row in Kept(reads.folder / "out").rows(d.MARSHAL_MSG)}
    assert {end["next_offset"] - 1, gone} <= offsets
    assert not offsets & {gone - 2, gone - 1}


@pytest.mark.spark
@pytest.mark.real
@pytest.mark.parametrize("denied", [AclOperation.READ, AclOperation.DESCRIBE])
def test_a_log_that_may_not_be_read_is_named_with_the_right_it_takes(
    spark: Any,
    kafka_secure: RealKafka,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    denied: AclOperation,
) -> None:
    assert spark is not None
    log = anyio.run(lay_log, kafka_secure)
    reads = made(spark, kafka_secure, tmp_path)
    options = claiming(log, bootstrap_servers=kafka_secure.bootstrap, group_id=reads.group)
    claimed(reads, options, "one")
    add_acls(kafka_secure.bootstrap, Acl("alice", AclResource.TOPIC, log.topic, denied, False))
    secured = kafka_secure.access.options("SASL_SSL", "SCRAM-SHA-512")
    config = tmp_path / "options"
    config.write_text("".join(f"{name} = {value}\n" for name, value in secured.items()))
    words = ["--config", str(config), "--out", str(tmp_path / "out")]
    code = main(["spark", "coordination", *words, "--coordination-topic", log.topic])
    said = capsys.readouterr().err
    assert code == 1
    assert log.topic in said
    assert "the right to describe and to read" in said
