"""The same requests, asked of a real broker and of one in the process.

Decides: what of an answer has to be equal: everything but ids, words and the hour.
Never: knows an expected answer; the real broker has it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from kgroup.codes import ErrorCode
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Outbox
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.mint import Mint
from kgroup.testing.broker.releases import release_named
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from kgroup.wire.records import BatchView, LogBatch, iter_batches
from kgroup.wire.schema import Message, Request, decode, encode, replace
from tests.testing.broker.driver import CALENDAR_START, Raw

R = TypeVar("R", bound=Message)

Said = list[list[object]]
"""Label and essence of each answer, in order, as JSON could hold it."""

_PATIENCE: Final = 5.0
_FETCH: Final = 12
_STEP: Final = 0.002
_NOT_COMPARED: Final = frozenset(
    {
        "throttle_time_ms",
        "error_message",
        "batch_index_error_message",
        "topic_id",
        "node_endpoints",
    }
)
# Old timestamps neither remove records nor begin another file, at which every read ends.
_ONE_SEGMENT: Final = {"retention.ms": "-1", "segment.ms": str((1 << 63) - 1)}
_CALENDAR: Final = 1_000_000_000_000


class Side(Protocol):
    """One of the two brokers."""

    def ask(self, request: Request[R], version: int) -> R | None:
        """Ask; None = the connection was closed instead."""

    def make_topic(self, name: str, partitions: int, configs: dict[str, str]) -> bytes:
        """Make a topic; returns its id."""


@dataclass
class Pure:
    """A broker in the process."""

    raw: Raw

    def ask(self, request: Request[R], version: int) -> R | None:
        self.raw.run(_STEP)
        call = self.raw.ask(1, request, version=version)
        if call.parked:
            self.raw.run(_PATIENCE)
        assert not call.parked, f"no answer to {request} in {_PATIENCE:g} s"
        if call.answer is None:
            return None
        return decode(type(call.answer), version, encode(call.answer, version))

    def make_topic(self, name: str, partitions: int, configs: dict[str, str]) -> bytes:
        topic = self.raw.core.cluster.create_topic(name, partitions, configs=configs)
        return topic.topic_id


def pure(release: str) -> Pure:
    """Make a broker in the process that passes for a release."""
    known = release_named(release)
    context = Context(
        Agenda(), Outbox(), BrokerSettings(), known, known.coordinator, Mint(0), CALENDAR_START
    )
    return Pure(Raw(Core(context, 1)))


@dataclass
class Talk:
    """One conversation with one side.

    Args:
        side: the side that is asked.
        newest: whether the release is one of 4.x.
        tag: makes names of topics and transactions unique.
    """

    side: Side
    newest: bool
    tag: str
    said: Said = field(default_factory=list)
    topics: dict[str, bytes] = field(default_factory=dict)
    _producers: dict[int, str] = field(default_factory=dict)

    def topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        """Make a topic; returns its whole name."""
        full = f"{name}-{self.tag}"
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        self.topics[full] = self.side.make_topic(full, partitions, {**_ONE_SEGMENT, **settings})
        return full

    def say(self, label: str, request: Request[R], version: int) -> R | None:
        """Ask, and note the answer for the comparison."""
        answer = self.side.ask(request, version)
        self.said.append([label, self._essence(answer)])
        return answer

    def read(self, label: str, topic: str, offset: int, *, committed: int = 0) -> None:
        """Fetch from an offset on; note every batch and record that comes."""
        row = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            isolation_level=committed,
            topics=(FetchTopic(topic=topic, partitions=(row,)),),
        )
        answer = self.side.ask(request, _FETCH)
        assert answer is not None, "a fetch is never hung up on"
        fetched = answer.responses[0].partitions[0]
        batches = [_shown(batch) for batch in iter_batches(fetched.records or b"")]
        self.said.append([label, [self._essence(replace(fetched, records=None)), batches]])

    def wait(
        self,
        label: str,
        request: Request[R],
        version: int,
        is_so: Callable[[R], bool] | None = None,
    ) -> R:
        """Ask until transactions have ended (51), or something else holds; note the last answer."""
        fits = is_so or (lambda answer: not has_code(answer, ErrorCode.CONCURRENT_TRANSACTIONS))
        deadline = time.monotonic() + _PATIENCE
        while True:
            answer = self.side.ask(request, version)
            if answer is not None and (fits(answer) or time.monotonic() > deadline):
                self.said.append([label, self._essence(answer)])
                return answer
            time.sleep(0.01)

    def _essence(self, value: Any, name: str = "") -> object:
        if isinstance(value, Message):
            return {
                each: self._essence(getattr(value, each), each)
                for each in value.FIELDS
                if each not in _NOT_COMPARED
            }
        if isinstance(value, tuple):
            # Brokers list partitions in the order of a hash.
            return sorted((self._essence(each) for each in value), key=repr)
        if name == "producer_id" and value >= 0:
            return self._producers.setdefault(value, f"producer {len(self._producers)}")
        if isinstance(value, int) and value > _CALENDAR:
            return "now"
        if isinstance(value, str):
            return value.removesuffix(f"-{self.tag}")
        return value


def _shown(batch: LogBatch) -> object:
    assert isinstance(batch, BatchView), "both write magic 2"
    batch.verify()
    header = batch.header._replace(crc=0, producer_id=0)
    times = {header.base_timestamp, header.max_timestamp}
    if max(times) > _CALENDAR:
        header = header._replace(base_timestamp=0, max_timestamp=0)
    rows = [(row[0], *row[2:]) for row in batch.columns()]
    return [repr(header), repr(rows), max(times) > _CALENDAR]


def has_code(answer: object, code: int) -> bool:
    """Whether an error code stands anywhere in an answer."""
    if isinstance(answer, Message):
        return any(
            getattr(answer, each) == code
            if each.endswith("error_code")
            else has_code(getattr(answer, each), code)
            for each in answer.FIELDS
        )
    return isinstance(answer, tuple) and any(has_code(each, code) for each in answer)
