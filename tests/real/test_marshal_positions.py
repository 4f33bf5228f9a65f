"""Positions of a group are set while its members read: they go on from there, and nowhere else."""

import json
from collections import Counter
from functools import partial
from pathlib import Path

import anyio
import pytest

from kgroup.audit import audit
from kgroup.cli import main
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind, TopicPartition
from tests.real.claiming import all_owned, claiming, lay_log
from tests.real.ground import eventually, lay_ground
from tests.real.members import CROSSED, Member, group_on

pytestmark = pytest.mark.real

RECORDS = 30
TARGETS = {0: 10, 2: 25}


@CROSSED
async def test_members_go_on_where_they_are_told_from_outside(
    kafka: RealKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The members release for it, and claim again: what is set is read again, nothing else is."""
    monkeypatch.setenv("KGROUP_BOOTSTRAP", kafka.bootstrap)
    ground, log = await lay_ground(kafka, 4), await lay_log(kafka)
    await ground.fill(RECORDS)
    options = claiming(log, max_claims=2, enable_auto_commit=False)
    async with group_on(ground, tmp_path, **options) as group:
        members = [await group.join(name, group_instance_id=name) for name in ("m1", "m2")]
        await all_owned(group)
        await group.all_read()
        for member in members:
            await member.commit_reads()
        words = [f"{ground.topic}-{number}={offset}" for number, offset in TARGETS.items()]
        line = ["marshal", "set-positions", "--group", group.name, "--json"]
        line += ["--coordination-topic", log.topic, *(f"--to={word}" for word in words)]
        assert await anyio.to_thread.run_sync(partial(main, line)) == 0
        rows = json.loads(capsys.readouterr().out)
        told = {(row["former"], row["target"], row["result"]) for row in rows}
        assert told == {(RECORDS, offset, "set") for offset in TARGETS.values()}
        again = {
            (ground.tp(number), offset)
            for number, target in TARGETS.items()
            for offset in range(target, RECORDS)
        }
        total = 4 * RECORDS + len(again)
        await eventually(lambda: len(reads(members)) >= total, "they read again")
        assert [member.took(ChangeKind.LOST) for member in members] == [[], []]
        await group.end()
    assert {place for place, times in Counter(reads(members)).items() if times == 2} == again
    found = audit([tmp_path / "*.jsonl"], clean_handover=False).total
    assert (found.two_owners, found.not_owned, found.records) == (0, 0, total)


def reads(members: list[Member]) -> list[tuple[TopicPartition, int]]:
    """Return every record that anybody read, as often as that was."""
    return [place for member in members for place in member.seen]
