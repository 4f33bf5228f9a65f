"""`group_protocol` as an extra keyword of both drop-ins."""

from collections.abc import Callable
from typing import Any

import pytest

from kgroup.compat.aiokafka.options import read as read_aiokafka
from kgroup.compat.kafka_python.options import read as read_kafka_python
from kgroup.config import ConsumerConfig
from kgroup.types import GroupProtocol
from tests.assignors.peers_packages import AiokafkaRange, KafkaRange

Read = Callable[[dict[str, Any]], Any]

BOTH = pytest.mark.parametrize(
    "read", [read_aiokafka, read_kafka_python], ids=["aiokafka", "kafka-python"]
)


def config(read: Read, **keywords: Any) -> ConsumerConfig:
    found = read({"group_id": "g", **keywords}).config
    assert isinstance(found, ConsumerConfig)
    return found


@BOTH
def test_a_group_is_classic_unless_it_is_said(read: Read) -> None:
    assert config(read).group_protocol is GroupProtocol.CLASSIC


@BOTH
def test_defaults_of_the_other_client_say_nothing_of_what_the_broker_decides(read: Read) -> None:
    found = config(read, group_protocol="consumer", server_assignor="range")
    assert found.group_protocol is GroupProtocol.CONSUMER
    settings = found.consumer_group("id")
    assert (settings.server_assignor, settings.session_timeout) == ("range", None)


@BOTH
def test_a_heartbeat_interval_that_is_given_is_refused_by_its_name(read: Read) -> None:
    with pytest.raises(Exception, match=r"heartbeat_interval_ms.*group\.consumer\.heartbeat"):
        config(read, group_protocol="consumer", heartbeat_interval_ms=1000)


@BOTH
def test_assignors_that_are_given_are_refused_by_their_name(read: Read) -> None:
    with pytest.raises(Exception, match=r"partition_assignment_strategy.*server_assignor"):
        config(read, group_protocol="consumer", partition_assignment_strategy=_other(read))


@BOTH
def test_a_drop_in_does_not_choose(read: Read) -> None:
    with pytest.raises(Exception, match=r"group_protocol.*'classic' or 'consumer'"):
        config(read, group_protocol="auto")


def _other(read: Read) -> Any:
    return [AiokafkaRange if read is read_aiokafka else KafkaRange]
