"""A real broker as one side of the conversations about logs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.testing.kafka import create_topic
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
)
from kgroup.wire.schema import Message, Request
from tests.testing.broker.talks.talk import has_code

R = TypeVar("R", bound=Message)

_PATIENCE: Final = 20.0
_TRANSACTIONS: Final = 1
_APART: Final = 0.002
"""Seconds between requests: two batches of one millisecond have one time stamp."""


@dataclass
class Real:
    """A real broker; a connection that it closes is opened again."""

    address: tuple[str, int]
    probe: Probe

    def ask(self, request: Request[R], version: int) -> R | None:
        time.sleep(_APART)
        try:
            return self.probe.ask(request, version=version)
        except ConnectionLostError:
            self.probe.__exit__(None, None, None)
            self.probe = Probe(self.address)
            self.probe.__enter__()
            return None

    def make_topic(self, name: str, partitions: int, configs: dict[str, str]) -> bytes:
        host, port = self.address
        create_topic(f"{host}:{port}", name, partitions, settings=configs)
        row = MetadataRequestTopic(name=name)
        described = self.probe.ask(MetadataRequest(topics=(row,), allow_auto_topic_creation=False))
        end = ListOffsetsPartition(partition_index=0, timestamp=-1)
        ends = ListOffsetsRequest(
            replica_id=-1, topics=(ListOffsetsTopic(name=name, partitions=(end,)),)
        )
        # For some milliseconds a broker that the metadata name as leader is none yet.
        _patiently(lambda: not has_code(self.probe.ask(ends), ErrorCode.NOT_LEADER_OR_FOLLOWER))
        return described.topics[0].topic_id


@contextmanager
def real(bootstrap: str) -> Iterator[Real]:
    """Connect to a real broker that coordinates transactions already."""
    address = parse_bootstrap(bootstrap)[0]
    with Probe(address) as probe:
        side = Real(address, probe)
        find = FindCoordinatorRequest(key_type=_TRANSACTIONS, coordinator_keys=("warm",))
        _patiently(lambda: all(not row.error_code for row in probe.ask(find).coordinators))
        init = InitProducerIdRequest(transactional_id="warm", transaction_timeout_ms=10_000)
        _patiently(lambda: not probe.ask(init).error_code)
        try:
            yield side
        finally:
            side.probe.__exit__(None, None, None)


def _patiently(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "the broker's transactions do not come up"
        time.sleep(0.05)
