"""Members that stall, and who notices: a supervisor, the group, and the processor itself."""

import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.wire.consumer_protocol import decode_assignment
from tests.real.ground import Ground, describe, eventually, fresh, lay_ground
from tests.real.handling import Life, Orders, life
from tests.real.members import FAST

pytestmark = [pytest.mark.real, pytest.mark.faults]

PATIENCE = 90.0
SESSION = 120.0
"""Seconds; long, for on a busy machine a process may take a minute to begin."""


def static(kafka: RealKafka, group: str, name: str, client_id: str) -> dict[str, Any]:
    fixed = {"bootstrap_servers": kafka.bootstrap, "group_id": group, "client_id": client_id}
    long = {"session_timeout": SESSION, "max_poll_interval": 2 * SESSION}
    more = {"group_instance_id": name, "enable_auto_commit": False}
    return {**FAST, **long, **fixed, **more}


async def is_red(member: Life) -> bool:
    """Ask as a supervisor does: no answer is red, too."""

    def ask() -> bool:
        (port,) = member.lines("port")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/live", timeout=2.0):
                return False
        except urllib.error.HTTPError as error:
            return error.code == 503
        except OSError:
            return True

    return await anyio.to_thread.run_sync(ask)


async def until_red(member: Life) -> None:
    with anyio.fail_after(PATIENCE):
        while not await is_red(member):  # noqa: ASYNC110 - as a supervisor does
            await anyio.sleep(0.2)


async def settled(kafka: RealKafka, group: str, members: int) -> None:
    """Wait until so many members each have something."""

    def is_so() -> bool:
        found = describe(kafka, group)
        given = [decode_assignment(each.member_assignment).partitions for each in found.members]
        return found.group_state == "Stable" and len(given) == members and all(given)

    with anyio.fail_after(PATIENCE):
        while not await anyio.to_thread.run_sync(is_so):  # noqa: ASYNC110 - it tells nobody
            await anyio.sleep(0.1)


@pytest.mark.parametrize("stall", ["blocks", "frozen"])
async def test_a_stalled_static_member_is_replaced_when_red_and_its_group_does_not_notice(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str, stall: str
) -> None:
    ground, group = await lay_ground(kafka, 2), fresh("group")
    place = ground.topic, tmp_path, anyio_backend_name
    stalls = Orders(health=True, blocks_at=5 if stall == "blocks" else None)
    one_is, two_is = (static(kafka, group, name, name) for name in ("one", "two"))
    async with life(*place, stalls, **one_is) as one, life(*place, Orders(), **two_is) as two:
        await settled(kafka, group, 2)
        await ground.fill(5)
        await eventually(lambda: len(one.lines("end")) == 5, "one works", timeout=PATIENCE)
        await eventually(lambda: len(two.lines("end")) == 5, "two works", timeout=PATIENCE)
        assert not await is_red(one)
        before = heard(two)
        if stall == "frozen":
            one.send(signal.SIGSTOP)
        await ground.fill(5)
        await until_red(one)
        one.send(signal.SIGKILL)
        again_is = static(kafka, group, "one", "again")
        async with life(*place, Orders(health=True), **again_is) as again:
            await all_handled(ground, one, two, again)
            assert heard(two) == before  # no round, and nothing taken away
            assert not await is_red(again)
            for member in (two, again):
                member.send(signal.SIGTERM)
                assert await member.ended() == 0
    # What two handled since the stall, and all that the new member did, is of one generation.
    assert len({*two.lines("generation")[5:], *again.lines("generation")}) == 1


def heard(member: Life) -> list[list[int]]:
    """Return what a member's listener was told so far."""
    return [member.lines(word) for word in ("assigned", "revoked", "lost")]


async def all_handled(ground: Ground, *members: Life) -> None:
    """Wait until each record was handled; none may be handled by two."""
    wanted = sorted(p * 1000 + offset for p, sent in ground.sent.items() for offset in range(sent))

    def handled() -> list[int]:
        return sorted(number for member in members for number in member.lines("end"))

    await eventually(lambda: len(handled()) >= len(wanted), "all is handled", timeout=PATIENCE)
    assert handled() == wanted


@pytest.mark.parametrize(("semantics", "comes_again"), [("record", 5), ("auto", 0)])
async def test_a_handler_that_blocks_the_loop_beyond_the_session_is_told_that_it_is_too_late(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str, semantics: str, comes_again: int
) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill_in_one_batch(10)
    place = ground.topic, tmp_path, anyio_backend_name
    fixed = {"bootstrap_servers": kafka.bootstrap, "group_id": group}
    options: dict[str, Any] = {**FAST, **fixed, "enable_auto_commit": semantics == "auto"}
    never = {**options, "auto_commit_interval": 300.0}
    blocks = Orders(semantics=semantics, blocks_at=5)
    async with life(*place, blocks, client_id="one", **never) as one:
        await eventually(lambda: 5 in one.lines("begin"), "it blocks", timeout=PATIENCE)
        async with life(*place, Orders(semantics=semantics), client_id="heir", **options) as heir:
            await eventually(lambda: 9 in heir.lines("answered"), "others go on", timeout=PATIENCE)
            (tmp_path / "go").touch()
            await eventually(lambda: one.lines("late_in"), "it is told", timeout=PATIENCE)
    assert heir.lines("end") == list(range(comes_again, 10))
    assert one.lines("late") == [5]
    assert one.lines("late_in") == one.lines("generation")[-1:]  # the token it had the record under
    assert 5 not in one.lines("asked")
