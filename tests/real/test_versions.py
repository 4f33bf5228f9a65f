"""A basic group on every version of Kafka that is claimed to be supported."""

from pathlib import Path

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.ground import committed, describe, lay_ground
from tests.real.members import group_on

pytestmark = pytest.mark.real


@pytest.fixture(params=["kafka_391", "kafka"])
def broker(request: pytest.FixtureRequest) -> RealKafka:
    """One node of each version: the old and the new group coordinator."""
    found: RealKafka = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
async def test_two_members_join_consume_commit_hand_over_and_close(
    broker: RealKafka, tmp_path: Path, assignor: str
) -> None:
    ground = await lay_ground(broker, 4)
    await ground.fill(25)
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        first = await group.join("first")
        await group.settled(4)
        second = await group.join("second")
        await group.settled(2, 2)
        await ground.fill(25)
        await group.all_read()
        await first.commit_reads()
        await group.leave(first)
        await group.settled(4)
        await ground.fill(25)
        await group.all_read(first)
        await group.end()
    assert await anyio.to_thread.run_sync(committed, broker, group.name) == ground.sent
    assert (await anyio.to_thread.run_sync(describe, broker, group.name)).group_state == "Empty"
    assert len(second.heard(ChangeKind.ASSIGNED)) == 4
    verdict = await group.verdict()
    assert verdict.total.duplicated == 0
