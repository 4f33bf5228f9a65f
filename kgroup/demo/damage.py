"""Damage to what a demo leaves, for a look at each check in red.

Decides: a row of what was handled is taken away, a delivery out of an event log, a commit goes
back, and a record that is no message is written among the claims.
Never: judges; each check finds its own.
"""

import time
from pathlib import Path
from typing import Final

import anyio

from kgroup.demo.runner import Setting, connected
from kgroup.errors import CommitFailedError
from kgroup.marshal.rules import MARSHAL_TOPIC
from kgroup.net.producer import Producer
from kgroup.sync import Consumer
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord

_LAST_SESSION: Final = 60.0
"""Seconds; more than any session of the demo lasts."""
_AGAIN: Final = 0.5


def damage(setting: Setting, handled: Path) -> None:
    """Damage something of each kind.

    Args:
        setting: of the run.
        handled: folder of the table of what was handled.
    """
    _take_a_row(handled)
    _take_a_delivery(setting.folder / "m2.jsonl")
    _commit_back(setting)
    anyio.run(_write_no_message, setting.bootstrap)


def _take_a_row(table: Path) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    path = max(table.glob("*.parquet"), key=lambda each: each.stat().st_size)
    parquet.write_table(parquet.read_table(path).slice(1), path)
    for sum_file in table.glob(".*.crc"):
        sum_file.unlink()


def _take_a_delivery(path: Path) -> None:
    lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    places = [n for n, line in enumerate(lines) if '"event":"deliver"' in line]
    del lines[places[len(places) // 2]]
    path.write_text("".join(lines), encoding="ascii")


def _commit_back(setting: Setting) -> None:
    """Commit from outside; a group refuses that until the session of its last member is over."""
    place = TopicPartition(setting.topic, 0)
    until = time.monotonic() + _LAST_SESSION
    with Consumer(
        bootstrap_servers=setting.bootstrap, group_id=setting.group, enable_auto_commit=False
    ) as one:
        one.assign([place])
        while not _accepted(one, place, last=time.monotonic() >= until):
            time.sleep(_AGAIN)


def _accepted(
    one: Consumer[bytes | None, bytes | None], place: TopicPartition, *, last: bool
) -> bool:
    try:
        one.commit({place: 1})
    except CommitFailedError:
        if last:
            raise
        return False
    return True


async def _write_no_message(bootstrap: str) -> None:
    async with connected(bootstrap) as cluster:
        record = NewRecord(key=None, value=b"no message")
        await Producer(cluster).send(TopicPartition(MARSHAL_TOPIC, 0), [record])
