"""`kgroup marshal` on a real Kafka: its topic, live members, groups that move over and back."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Consumer, GroupError, MarshalAdmin
from kgroup.audit import audit
from kgroup.cli import main
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind, TopicPartition
from tests.real.claiming import all_owned, claiming, lay_log
from tests.real.ground import Ground, committed, eventually, fresh, lay_ground
from tests.real.members import CROSSED, Member, group_on

pytestmark = pytest.mark.real


INTERVAL = 5

Shown = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def broker(kafka: RealKafka, monkeypatch: pytest.MonkeyPatch) -> RealKafka:
    """Have every verb find the broker of this run."""
    monkeypatch.setenv("KGROUP_BOOTSTRAP", kafka.bootstrap)
    return kafka


class Site:
    """A topic with records, a log of claims that a verb made, and a group.

    Args:
        ground: the topic.
        shown: what verbs print.
    """

    def __init__(self, ground: Ground, shown: Shown) -> None:
        self.ground = ground
        self.group = fresh("group")
        self._log = fresh("claims")
        self._shown = shown

    async def answer(self, *words: str) -> Any:
        """Run a verb that must work, and return its JSON."""
        self._shown.readouterr()
        line = ["marshal", *words, "--json", "--coordination-topic", self._log]
        code = await anyio.to_thread.run_sync(partial(main, line))
        said = self._shown.readouterr()
        assert code == 0, said.err
        return json.loads(said.out)

    def consumer(self, **options: Any) -> Consumer[bytes | None, bytes | None]:
        given = {
            "bootstrap_servers": self.ground.kafka.bootstrap,
            "group_id": self.group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            **options,
        }
        return Consumer(self.ground.topic, **given)

    def admin(self) -> MarshalAdmin:
        return MarshalAdmin(
            bootstrap_servers=self.ground.kafka.bootstrap,
            group_id=self.group,
            coordination_topic=self._log,
        )

    async def paused_partitions(self) -> list[int]:
        """Return the coordination partitions in which the group is paused."""
        groups = (await self.answer("state", self.group))["groups"]
        return [each["coordination_partition"] for row in groups for each in row["pauses"]]

    def claiming(self) -> Consumer[bytes | None, bytes | None]:
        return self.consumer(
            backend="marshal",
            coordination_topic=self._log,
            marshal_heartbeat_interval=INTERVAL,
        )


async def read(consumer: Consumer[bytes | None, bytes | None], records: int) -> list[int]:
    """Read at least so many records, and commit what was read; their offsets."""
    seen: list[int] = []
    with anyio.fail_after(60):
        while len(seen) < records:
            for batch in (await consumer.getmany(timeout=1.0, max_records=records)).values():
                seen += [record.offset for record in batch]
        await consumer.commit()
    return seen


async def laid(
    kafka: RealKafka, shown: Shown, records: int, *, coordination_partitions: int = 2
) -> Site:
    ground = await lay_ground(kafka, 1)
    await ground.fill(records)
    site = Site(ground, shown)
    made = await site.answer("init", "--partitions", str(coordination_partitions))
    assert (made["created"], made["partitions"]) == (True, coordination_partitions)
    assert [each["concern"] for each in made["warnings"]] == ["replicas", "in-sync replicas"]
    return site


async def test_a_live_member_is_moved_and_reads_on_from_there(
    kafka: RealKafka, capsys: Shown
) -> None:
    site = await laid(kafka, capsys, 30)
    key = f"{site.ground.topic}-0"
    async with site.claiming() as consumer:
        assert await read(consumer, 30) == list(range(30))
        seen: list[int] = []

        async def read_on() -> None:
            seen.extend(await read(consumer, 5))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_on)
            (row,) = await site.answer("set-positions", site.group, "--to", f"{key}=25")
            assert (row["former"], row["target"], row["result"]) == (30, 25, "set")
        assert seen == list(range(25, 30))
        (state,) = (await site.answer("state", site.group))["groups"]
        assert (state["keys"][0]["state"], state["keys"][0]["offset"]) == ("owned", 30)
        assert state["pauses"] == []


async def test_a_group_moves_from_the_coordinator_to_the_log_and_back(
    kafka: RealKafka, capsys: Shown
) -> None:
    site = await laid(kafka, capsys, 40)
    total: list[int] = []
    for _ in range(2):
        async with site.claiming() as consumer:
            total += await read(consumer, 10)
        async with site.consumer() as consumer:
            total += await read(consumer, 10)
        (row,) = await site.answer("set-positions", site.group, "--from-committed")
        assert row["result"] == "set"
    assert total == list(range(40))
    await eventually(lambda: committed(kafka, site.group) == {0: 40}, "all is committed")


async def test_a_pause_that_is_ended_while_it_begins_stands_wholly_or_not_at_all(
    kafka: RealKafka, capsys: Shown
) -> None:
    site = await laid(kafka, capsys, 1, coordination_partitions=8)
    outcomes: list[tuple[bool, bool]] = []

    async def pause() -> bool:
        try:
            await site.admin().pause(600)
        except GroupError:
            return False
        return True

    async def try_once(later: float) -> tuple[bool, bool]:
        done: dict[str, bool] = {}

        async def note(name: str, call: Callable[[], Awaitable[bool]], after: float) -> None:
            await anyio.sleep(after)
            done[name] = await call()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(note, "paused", pause, 0.0)
            tasks.start_soon(note, "resumed", site.admin().resume, later)
        return done["paused"], done["resumed"]

    began = anyio.current_time()
    assert await pause()
    whole = anyio.current_time() - began
    await site.admin().resume()
    for step in range(24):
        paused, resumed = await try_once(whole * step / 16)
        stands = await site.paused_partitions()
        assert len(stands) == (8 if paused and not resumed else 0), (step, paused, resumed)
        outcomes.append((paused, resumed))
        await site.admin().resume()
    assert len(set(outcomes)) > 1, "the one was before, and after, the other"


# -- marshal positions ----------------------------------------------------------------------------
#
# Positions of a group are set while its members read: they go on from there, and nowhere else.


RECORDS = 30
TARGETS = {0: 10, 2: 25}


@CROSSED
async def test_members_go_on_at_positions_that_were_set_from_outside(
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
        line = ["marshal", "set-positions", group.name, "--json"]
        line += ["--coordination-topic", log.topic, *(f"--to={word}" for word in words)]
        assert await anyio.to_thread.run_sync(partial(main, line)) == 0
        rows = json.loads(capsys.readouterr().out)
        results = {(row["former"], row["target"], row["result"]) for row in rows}
        assert results == {(RECORDS, offset, "set") for offset in TARGETS.values()}
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
