"""Checks of a coordination topic before the first claim."""

import pytest

from kgroup.backends.marshal.topic_check import Concern, TopicCheck, check_topic
from kgroup.codes import ErrorCode
from kgroup.errors import CoordinationTopicError, KGroupError, UnauthorizedError
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import DescribeConfigsRequest, MetadataRequest
from tests.consumer.ground import hidden
from tests.consumer.marshal.stage import LOG, coordinated, running

pytestmark = pytest.mark.anyio

GOOD = {
    "message.timestamp.type": "LogAppendTime",
    "retention.ms": "86400000",
    "min.insync.replicas": "2",
    "compression.type": "uncompressed",
}


async def checked(broker: InProcessBroker) -> TopicCheck:
    found: TopicCheck | KGroupError
    async with running(broker) as cluster:
        try:
            found = await check_topic(cluster, LOG, timeout=20.0)
        except KGroupError as error:
            found = error  # raised outside of the tasks, which would wrap it
    if isinstance(found, KGroupError):
        raise found
    return found


async def test_a_topic_as_it_should_be_gives_no_warning() -> None:
    assert await checked(coordinated(5, nodes=3, configs=GOOD)) == TopicCheck(5, append_time=True)


@pytest.mark.parametrize(
    ("concern", "configs", "words"),
    [
        (Concern.RETENTION, {"retention.ms": "60000"}, "retention.ms is 60000"),
        (Concern.TIMESTAMPS, {"message.timestamp.type": "CreateTime"}, "LogAppendTime"),
        (Concern.COMPRESSION, {"compression.type": "zstd"}, "compression.type is zstd"),
        (Concern.COMPRESSION, {"compression.type": "lz4"}, "neither lz4 nor zstd"),
        (Concern.IN_SYNC, {"min.insync.replicas": "1"}, "min.insync.replicas is 1"),
        (Concern.UNCLEAN, {"unclean.leader.election.enable": "true"}, "is true"),
    ],
)
async def test_a_setting_that_loses_claims_is_warned_of(
    concern: Concern, configs: dict[str, str], words: str
) -> None:
    found = await checked(coordinated(nodes=3, configs=GOOD | configs))
    (warning,) = found.warnings
    assert warning.concern is concern
    assert words in warning.text
    assert LOG in warning.text


async def test_few_replicas_are_warned_of() -> None:
    (warning,) = (await checked(coordinated(nodes=1, configs=GOOD))).warnings
    assert (warning.concern, "1 replica" in warning.text) == (Concern.REPLICAS, True)


async def test_retention_without_an_end_is_no_concern() -> None:
    found = await checked(coordinated(nodes=3, configs=GOOD | {"retention.ms": "-1"}))
    assert found.warnings == ()


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
async def test_a_compacted_topic_is_refused(policy: str) -> None:
    with pytest.raises(CoordinationTopicError, match=r"cleanup.policy is .*compact.*'delete'"):
        await checked(coordinated(configs={"cleanup.policy": policy}))


async def test_a_missing_topic_names_the_command_that_makes_it() -> None:
    broker = coordinated()
    broker.delete_topic(LOG)
    with pytest.raises(CoordinationTopicError, match="there is none; `kgroup marshal init`"):
        await checked(broker)


async def test_a_broker_that_has_not_heard_of_the_topic_yet_is_asked_again() -> None:
    """1. The topic is made; 2. a broker is asked that does not know it yet."""
    broker, code = coordinated(4), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.answers.rewrite(MetadataRequest, lambda _, answer: hidden(LOG, code, answer), times=2)
    assert (await checked(broker)).partitions == 4


async def test_settings_that_may_not_be_seen_are_no_reason_to_refuse() -> None:
    broker = coordinated(4)
    broker.answers.error(DescribeConfigsRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    found = await checked(broker)
    assert (found.partitions, found.append_time) == (4, None)
    assert [each.concern for each in found.warnings] == [Concern.UNSEEN]


async def test_a_topic_that_may_not_be_seen_is_refused() -> None:
    broker = coordinated()
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker.answers.rewrite(MetadataRequest, lambda _, answer: hidden(LOG, code, answer), times=None)
    with pytest.raises(UnauthorizedError):
        await checked(broker)
