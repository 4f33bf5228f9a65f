"""Each target notices a planted defect and wasted memory, and agrees with other clients."""

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords

from kgroup.assignors import leader
from kgroup.codes import ApiKey
from kgroup.errors import CorruptRecordError, DecodeError
from kgroup.marshal import messages as marshal
from kgroup.membership import translate
from kgroup.membership.value import GroupMember
from kgroup.net import metadata
from kgroup.types import TopicPartition
from kgroup.wire import schema
from kgroup.wire.compression import Codec, compress, decompress
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request, request_class
from kgroup.wire.records import BatchView, batches, iter_batches
from kgroup.wire.records.scan import scan
from kgroup.wire.schema import Message, decode, encode
from kgroup.wire.source import Step, layout_of
from kgroup.wire.user_data import StickyUserData, decode_sticky_user_data
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm
from tests.search.fuzz.kafka_python import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    MemoryRecords,
    class_of,
    codec,
    differences,
    speaks,
)
from tests.search.fuzz.loop import run
from tests.search.fuzz.making import keys
from tests.search.fuzz.recorded import drawn, lines, of_java, record_data
from tests.search.fuzz.targets import TARGETS

ENOUGH = 4000

Planted = tuple[str, str, Any]
"""Where, which name there, and what takes its place."""


class Forgetful(FrameSplitter):
    """Returns the first frame of each feed only."""

    def feed(self, data: Any) -> list[memoryview]:
        return super().feed(data)[:1]


def without_throttle(request: Any, version: int, frame: Any) -> Any:
    correlation_id, answer = decode_response(request, version, frame)
    if "throttle_time_ms" in answer.FIELDS:
        answer = schema.replace(answer, throttle_time_ms=0)
    return correlation_id, answer


def strict(request: Any, version: int, frame: Any) -> Any:
    correlation_id, answer = decode_response(request, version, frame)
    if version > 3 and len(frame) % 5 == 0:
        raise DecodeError("answer", "not today")
    return correlation_id, answer


def nameless(message: Any, version: int, correlation_id: int, _: str | None) -> bytes:
    return encode_request(message, version, correlation_id, None)


def late(*given: Any) -> Any:
    offsets, timestamps, bounds = scan(*given)
    return offsets, [each + 1 for each in timestamps], bounds


def unbounded(codec: Any, data: Any, *, max_output: int) -> bytes:
    return decompress(codec, data, max_output=max_output + 100)


def timid(codec: Any, data: Any, *, max_output: int) -> bytes:
    if codec is not Codec.NONE:
        raise CorruptRecordError("compressed data", "not today")
    return decompress(codec, data, max_output=max_output)


def rackless(data: Any, names: Any = None) -> Any:
    return replace(decode_subscription(data, names), rack=None)


def aged(data: Any, names: Any = None) -> Any:
    read = decode_sticky_user_data(data, names)
    return StickyUserData(read.partitions, 7)


def lenient(value: Any) -> Any:
    return marshal.decode(value and value.replace(b" ", b"").replace(b"\xff", b""))


def generous(*given: Any) -> Any:
    assignment = leader.divide(*given)
    first = next(iter(assignment.partitions.values()))
    return replace(assignment, partitions=dict.fromkeys(assignment.partitions, first))


def deaf(_turn: Any, _event: Any) -> None:
    """A failure that is not reported."""


IN = "tests.search.fuzz.targets"
DEFECTS: dict[str, tuple[str, Planted]] = {
    "a splitter loses frames": ("T1", (f"{IN}.frames", "FrameSplitter", Forgetful)),
    "a field is not read": (
        "T2", (f"{IN}.responses", "decode_response", without_throttle),
    ),
    "sound answers are refused": ("T2", (f"{IN}.responses", "decode_response", strict)),
    "the client id is lost": ("T3", (f"{IN}.requests", "encode_request", nameless)),
    "timestamps are off by one": ("T4", (batches.__name__, "scan", late)),
    "too much is inflated": ("T5", (f"{IN}.compressed", "decompress", unbounded)),
    "nothing is inflated": ("T5", (f"{IN}.compressed", "decompress", timid)),
    "the rack is lost": ("T6", (f"{IN}.embedded", "decode_subscription", rackless)),
    "spaces count as digits": ("T7", (f"{IN}.coordination", "decode", lenient)),
    "a failure wedges (L2)": ("T9", (translate.__name__, "hear_failure", deaf)),
    "addresses are not checked": ("T10", (metadata.__name__, "address_fault", lambda *_: None)),
    "a generation is made up": ("T11", (f"{IN}.user_data", "decode_sticky_user_data", aged)),
    "all get the same (S1)": ("T12", (f"{IN}.assigning", "divide", generous)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, (module, attribute, wrong) = DEFECTS[defect]
    monkeypatch.setattr(f"{module}.{attribute}", wrong)
    assert run(TARGETS[name], ENOUGH // TARGETS[name].costs, 1).kinds


def always(*_: Any) -> bool:
    return True


MEMBER_DEFECTS: dict[str, tuple[str, Callable[..., bool]]] = {
    "S6": ("may_deliver", GroupMember.owns),
    "C2": ("may_commit", always),
}


@pytest.mark.slow
@pytest.mark.parametrize("promise", MEMBER_DEFECTS)
def test_a_member_that_does_what_it_may_not_is_found(
    promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attribute, wrong = MEMBER_DEFECTS[promise]

    def may(self: GroupMember, *given: Any) -> bool:
        return wrong(self, *given[:1])

    monkeypatch.setattr(GroupMember, attribute, may)
    assert run(TARGETS["T9"], 300, 1).kinds


# -- test memory -----------------------------------------------------------------------------------


WORST = 34
"""Bytes of memory for each byte of a frame, at most."""

ROWS = 1000


def least(form: Form, version: int) -> Any:
    """The shortest value; a number is large all the same, for small ones cost nothing."""
    match form:
        case ScalarForm("?", _):
            return False
        case ScalarForm("16s", size):
            return bytes(size)
        case ScalarForm(_, size):
            return 1 << (8 * size - 2)
        case RowForm(cls):
            return shortest(cls, version)
        case ArrayForm():
            return ()
        case BlobForm():
            return b""
        case _:
            return ""


def shortest(cls: type[Message], version: int, **given: Any) -> Message:
    values = {
        step.name: None if step.nullable else least(step.form, version)
        for step in layout_of(cls, version).present
    }
    return cls(**{**values, **given})


def arrays(cls: type[Message], version: int) -> Iterator[tuple[Step, ...]]:
    """Yield the way to each array of a message, however deep."""
    layout = layout_of(cls, version)
    for step in layout.present + layout.tagged:
        inner = step.form.item if isinstance(step.form, ArrayForm) else step.form
        if isinstance(step.form, ArrayForm):
            yield (step,)
        if isinstance(inner, RowForm):
            yield from ((step, *rest) for rest in arrays(inner.cls, version))


def full(cls: type[Message], version: int, way: tuple[Step, ...]) -> Message:
    """A message whose array at the end of a way is full of the shortest items."""
    step, *rest = way
    inner = step.form.item if isinstance(step.form, ArrayForm) else step.form
    if not rest:
        return shortest(cls, version, **{step.name: (least(inner, version),) * ROWS})
    assert isinstance(inner, RowForm)
    value: Any = full(inner.cls, version, tuple(rest))
    return shortest(
        cls, version, **{step.name: (value,) if isinstance(step.form, ArrayForm) else value}
    )


def cost(cls: type[Message], version: int, data: bytes) -> float:
    decode(cls, version, data)  # compiles the decoder
    tracemalloc.start(1)
    try:
        kept = decode(cls, version, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept is not None
    return peak / len(data)


def frames() -> Iterator[tuple[type[Message], int, tuple[Step, ...]]]:
    """Yield every array of every message, in its oldest and its newest version."""
    for key in keys():
        request = request_class(key)
        for cls in (request, request.RESPONSE):
            for version in {cls.VERSIONS[0], cls.VERSIONS[-1]}:
                yield from ((cls, version, way) for way in arrays(cls, version))


@pytest.mark.slow
def test_no_frame_costs_more_than_so_many_times_its_size() -> None:
    costs = {}
    for cls, version, way in frames():
        name = f"{cls.__name__} v{version} {'.'.join(step.name for step in way)}"
        costs[name] = cost(cls, version, encode(full(cls, version, way), version))
    assert len(costs) > 150
    over = {name: factor for name, factor in costs.items() if factor > WORST}
    assert not over, over


# -- test independent ------------------------------------------------------------------------------


# kafka-python 3.0 fails on tagged fields inside the rows of these.
TAGS_FAIL = ("FetchRequest", "FetchResponse", "ProduceResponse")


def written() -> Iterator[tuple[type[Message], int, bytes]]:
    """What Java wrote, and what the strategies draw."""
    for key, version, is_request, body in of_java():
        request = request_class(ApiKey(key))
        yield (request if is_request else request.RESPONSE), version, body
    for kind in ("request", "response"):
        for _, version, message in drawn(kind):
            yield type(message), version, encode(message, version)


def theirs_of(cls: Any, version: int, body: bytes) -> Any:
    """Return their reading, None when they are known not to manage."""
    try:
        return class_of(cls).decode(body, version=version)
    except AssertionError:
        assert cls.__name__ in TAGS_FAIL
        return None


@pytest.mark.slow
def test_kafka_python_reads_the_same_in_messages() -> None:
    compared: set[type[Message]] = set()
    for cls, version, body in written():
        theirs = theirs_of(cls, version, body) if speaks(cls, version) else None
        if theirs is None:
            continue
        found = list(differences(decode(cls, version, body), theirs, version))
        assert not found, f"{cls.__name__} v{version} {body.hex()}: {found[:3]}"
        compared.add(cls)
    assert len(compared) > 1.8 * (len(keys()) - 4), "nearly all requests and responses"


def their_rows(records: Any) -> Iterator[tuple[Any, ...]]:
    while records.has_next():
        batch = records.next_batch()
        yield from ((r.offset, r.key, r.value, tuple(r.headers)) for r in batch)


def our_rows(data: bytes) -> Iterator[tuple[Any, ...]]:
    for batch in iter_batches(data):
        for offset, _, key, value, headers in batch.columns():
            yield offset, key, value, headers


@pytest.mark.slow
@pytest.mark.parametrize("others", [MemoryRecords, AiokafkaRecords], ids=["kafka", "aiokafka"])
def test_others_read_the_same_records(others: Any) -> None:
    compared = 0
    for data in record_data():
        try:
            ours = list(our_rows(data))
            theirs = list(their_rows(others(data)))
        except Exception:  # noqa: BLE001 - damaged on purpose, or of a kind they do not know
            continue
        assert ours == theirs
        compared += 1
    assert compared > 100


# For the other two codecs the library of others is the one that is used here.
@pytest.mark.parametrize(
    ("kind", "undo"), [(Codec.GZIP, codec.gzip_decode), (Codec.LZ4, codec.lz4_decode)],
    ids=["gzip", "lz4"],
)  # fmt: skip
def test_kafka_python_inflates_the_same(kind: Codec, undo: Any) -> None:
    packed = [
        bytes(batch.data[61:])
        for data in record_data()
        for batch in iter_batches(data)
        if isinstance(batch, BatchView) and batch.codec is kind and batch.count
    ]
    packed += [compress(kind, text) for text in (b"a", b"kgroup" * 999, bytes(70_000))]
    assert len(packed) > 3
    for one in packed:
        assert undo(one) == decompress(kind, one)


def test_aiokafka_reads_the_same_subscriptions_and_assignments() -> None:
    for data in lines("consumer_protocol/subscription", "hex"):
        ours, theirs = decode_subscription(data), ConsumerProtocolMemberMetadata.decode(data)
        assert list(ours.topics) == theirs.subscription
        assert (ours.user_data or b"") == (theirs.user_data or b"")
    for data in lines("consumer_protocol/assignment", "hex"):
        assigned, other = decode_assignment(data), ConsumerProtocolMemberAssignment.decode(data)
        assert list(assigned.partitions) == [TopicPartition(*tp) for tp in other.partitions()]


def test_kafka_python_reads_the_same_subscriptions_and_assignments() -> None:
    for data in lines("consumer_protocol/subscription", "hex"):
        ours, theirs = decode_subscription(data), ConsumerProtocolSubscription.decode(data)
        assert list(ours.topics) == theirs.topics
        assert ours.user_data == theirs.user_data
    for data in lines("consumer_protocol/assignment", "hex"):
        assigned, other = decode_assignment(data), ConsumerProtocolAssignment.decode(data)
        assert list(assigned.partitions) == [TopicPartition(*tp) for tp in other.partitions()]
        assert assigned.user_data == other.user_data
