"""Each target notices a defect of what it feeds: one is planted, and soon there is a finding."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kgroup.assignors import leader
from kgroup.errors import CorruptRecordError, DecodeError
from kgroup.marshal import messages as marshal
from kgroup.membership import translate
from kgroup.membership.value import GroupMember
from kgroup.net import metadata
from kgroup.wire import schema
from kgroup.wire.compression import Codec, decompress
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.records import batches
from kgroup.wire.records.scan import scan
from kgroup.wire.user_data import StickyUserData, decode_sticky_user_data
from tests.search.fuzz.loop import run
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
    """A failure that nobody hears of."""


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
