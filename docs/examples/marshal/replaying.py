"""A group that reads some of it again: its positions set back, whether or not members run."""

from collections.abc import Mapping

from kgroup import MarshalAdmin
from kgroup.config import ConsumerConfig
from kgroup.types import TopicPartition


async def replay(
    config: ConsumerConfig, offsets: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, str]:
    admin = MarshalAdmin(config)
    before = await admin.positions(offsets)
    left = await admin.set_positions(offsets)
    return {tp: f"goes on at {before[tp]}: {reason}" for tp, reason in left.items()}
