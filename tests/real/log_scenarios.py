"""Conversations about logs and transactions, for a real broker and one in the process.

Decides: what is asked.
Never: knows an answer.
"""

from collections.abc import Callable
from typing import Final

from kgroup.wire.compression import Codec
from kgroup.wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kgroup.wire.records import BatchHeader, NewRecord, encode_batch
from kgroup.wire.records import header as layout
from kgroup.wire.records.encode import seal
from kgroup.wire.schema import replace
from kgroup.wire.vocabulary import ZERO_UUID
from tests.real.log_talks import Talk

__all__ = ["SCENARIOS"]

_BY_ID_SINCE: Final = 13
_NOBODY: Final = (1 << 40) + 7
_END: Final = -1


def batch(
    *values: bytes,
    key: bytes | None = b"k",
    timestamp: int = 1000,
    codec: Codec = Codec.NONE,
    producer: tuple[int, int] | None = None,
    sequence: int = 0,
    transactional: bool = False,
) -> bytes:
    records = [NewRecord(key, value, (), timestamp + place) for place, value in enumerate(values)]
    if producer is None:
        return encode_batch(records, codec=codec)
    return encode_batch(
        records,
        codec=codec,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        transactional=transactional,
    )


def rewritten(data: bytes, change: Callable[[BatchHeader], BatchHeader]) -> bytes:
    """Change figures of a batch's header; the checksum is right again."""
    header = layout.unpack_header(memoryview(data), 0)
    return seal(change(header), data[layout.HEADER_SIZE :])


def produce(
    talk: Talk,
    topic: str,
    *batches: bytes | None,
    version: int = 9,
    transactional_id: str | None = None,
    acks: int = -1,
) -> ProduceRequest:
    """Write a request with one batch for each partition from 0 on."""
    by_id = version >= _BY_ID_SINCE
    rows = tuple(
        PartitionProduceData(index=number, records=data) for number, data in enumerate(batches)
    )
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=3000,
        topic_data=(
            TopicProduceData(
                name="" if by_id else topic,
                topic_id=talk.topics.get(topic, b"\x01" * 16) if by_id else ZERO_UUID,
                partition_data=rows,
            ),
        ),
    )


def offsets(
    topic: str, timestamp: int, *, committed: int = 0, epoch: int = -1, number: int = 0
) -> ListOffsetsRequest:
    row = ListOffsetsPartition(
        partition_index=number, timestamp=timestamp, current_leader_epoch=epoch
    )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=committed,
        topics=(ListOffsetsTopic(name=topic, partitions=(row,)),),
    )


def init(
    transactional_id: str | None, had: tuple[int, int] = (-1, -1), timeout_ms: int = 60_000
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=had[0],
        producer_epoch=had[1],
    )


def add(
    transactional_id: str, had: tuple[int, int], topic: str, *numbers: int
) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=had[0],
        v3_and_below_producer_epoch=had[1],
        v3_and_below_topics=(AddPartitionsToTxnTopic(name=topic, partitions=numbers),),
    )


def end(transactional_id: str, had: tuple[int, int], *, committed: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=had[0],
        producer_epoch=had[1],
        committed=committed,
    )


def identity(answer: InitProducerIdResponse | EndTxnResponse | None) -> tuple[int, int]:
    assert answer is not None, "hung up"
    return answer.producer_id, answer.producer_epoch


def begun(talk: Talk, transactional_id: str) -> tuple[int, int]:
    """Get an id for a transactional producer whose former transaction may still have to end."""
    answer = talk.wait("begins", init(transactional_id), 4)
    return identity(answer)


def settled(talk: Talk, label: str, topic: str, stable: int) -> None:
    """Wait until the marks are in the log; note where read_committed ends."""

    def is_stable(answer: ListOffsetsResponse) -> bool:
        return answer.topics[0].partitions[0].offset == stable

    talk.wait(label, offsets(topic, _END, committed=1), 6, is_stable)


# -- producing -----------------------------------------------------------------------------------


def plain(talk: Talk) -> None:
    topic = talk.topic("plain", 2)
    versions = range(3, 14 if talk.newest else 12)
    for version in versions:
        talk.say(f"v{version}", produce(talk, topic, batch(b"a", b"b"), version=version), version)
    for codec in Codec:
        talk.say(codec.name, produce(talk, topic, batch(b"a" * 99, b"b", codec=codec)), 9)
    zstd = batch(b"a" * 99, codec=Codec.ZSTD)
    talk.say("zstd too early", produce(talk, topic, zstd, version=6), 6)
    talk.say("acks 1", produce(talk, topic, batch(b"a"), acks=1), 9)
    talk.say("acks 2", produce(talk, topic, batch(b"a"), acks=2), 9)
    talk.say("acks 0, wrong", produce(talk, topic, b"", acks=0), 9)
    talk.say("two partitions", produce(talk, topic, batch(b"a"), batch(b"b")), 9)
    talk.say("one unknown", produce(talk, topic, batch(b"a"), batch(b"b"), batch(b"c")), 9)
    talk.say("unknown topic", produce(talk, f"none-{talk.tag}", batch(b"a")), 9)
    if talk.newest:
        talk.say("unknown id", produce(talk, "none", batch(b"a"), version=13), 13)
    talk.say("internal", produce(talk, "__consumer_offsets", batch(b"a")), 9)
    talk.say("ends", offsets(topic, _END), 6)


def damaged(talk: Talk) -> None:
    topic = talk.topic("damaged")
    good = batch(b"a", b"b")
    cases = {
        "empty": b"",
        "cut": good[:-1],
        "two batches": good + good,
        "one byte flipped": good[:-1] + bytes([good[-1] ^ 1]),
        "base offset 5": rewritten(good, lambda it: it._replace(base_offset=5)),
        "leader epoch 9": rewritten(good, lambda it: it._replace(partition_leader_epoch=9)),
        "count 1 of 2": rewritten(good, lambda it: it._replace(record_count=1)),
        "count 3 of 2": rewritten(
            good, lambda it: it._replace(record_count=3, last_offset_delta=2)
        ),
        "count 0": rewritten(good, lambda it: it._replace(record_count=0)),
        "last delta 5": rewritten(good, lambda it: it._replace(last_offset_delta=5)),
        "last delta -1": rewritten(good, lambda it: it._replace(last_offset_delta=-1)),
        "control": rewritten(good, lambda it: it._replace(attributes=layout.CONTROL)),
        "log append time": rewritten(
            good, lambda it: it._replace(attributes=layout.LOG_APPEND_TIME)
        ),
        "wrong maximum": rewritten(good, lambda it: it._replace(max_timestamp=77_777)),
        "codec 7": rewritten(good, lambda it: it._replace(attributes=7)),
        "codec that it is not": rewritten(good, lambda it: it._replace(attributes=1)),
        "id without sequence": batch(b"a", producer=(_NOBODY, 0), sequence=-1),
    }
    for label, data in cases.items():
        talk.say(label, produce(talk, topic, data), 9)
    talk.say("end", offsets(topic, _END), 6)
    talk.say("maximum", offsets(topic, -3), 7)


def magics(talk: Talk) -> None:
    topic = talk.topic("magics")
    for magic in (0, 1, 3):
        data = bytearray(batch(b"a", b"b"))
        data[16] = magic
        talk.say(f"magic {magic}", produce(talk, topic, bytes(data)), 9)


def configured(talk: Talk) -> None:
    small = talk.topic("small", max_message_bytes="200")
    talk.say("small", produce(talk, small, batch(b"a" * 99)), 9)
    talk.say("too large", produce(talk, small, batch(b"a" * 200)), 9)
    compacted = talk.topic("compacted", cleanup_policy="compact")
    talk.say("keyed", produce(talk, compacted, batch(b"a")), 9)
    talk.say("without key", produce(talk, compacted, batch(b"a", b"b", key=None)), 9)
    talk.say("without key, old", produce(talk, compacted, batch(b"a", key=None), version=7), 7)
    rows = (DeleteRecordsPartition(partition_index=0, offset=1),)
    delete = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=compacted, partitions=rows),), timeout_ms=3000
    )
    talk.say("delete", delete, 2)
    stamped = talk.topic("stamped", message_timestamp_type="LogAppendTime")
    talk.say("stamped", produce(talk, stamped, batch(b"a", b"b", b"c")), 9)
    talk.say("stamped, packed", produce(talk, stamped, batch(b"a", b"b", codec=Codec.GZIP)), 9)
    talk.say("latest time", offsets(stamped, -3), 7)
    talk.say("time 5", offsets(stamped, 5), 6)
    strict = talk.topic("strict", message_timestamp_before_max_ms="1000")
    talk.say("too old", produce(talk, strict, batch(b"a", b"b")), 9)
    # One broker: a topic is never asked for more replicas than it has.
    safe = talk.topic("safe", min_insync_replicas="2")
    talk.say("too few replicas", produce(talk, safe, batch(b"a")), 9)
    talk.say("too few replicas, acks 1", produce(talk, safe, batch(b"a"), acks=1), 9)


def idempotent(talk: Talk) -> None:
    topic = talk.topic("idempotent")

    def send(label: str, sequence: int, *values: bytes, epoch: int = 0) -> None:
        data = batch(*values, producer=(had[0], epoch), sequence=sequence)
        talk.say(label, produce(talk, topic, data), 9)

    had = identity(talk.say("id", init(None), 4))
    send("first", 0, b"a", b"b")
    send("second", 2, b"c")
    send("first again", 0, b"a", b"b")
    send("second again", 2, b"c")
    send("part of the first", 0, b"a")
    send("gap", 4, b"d")
    for sequence in range(3, 8):
        send(f"sequence {sequence}", sequence, b"e")
    send("six back", 2, b"c")
    send("five back", 3, b"e")
    send("new epoch, not from 0", 8, b"f", epoch=1)
    send("new epoch", 0, b"f", epoch=1)
    send("new epoch again", 0, b"f", epoch=1)
    send("old epoch", 8, b"g")
    send("second of the epoch", 1, b"h", epoch=1)
    other = identity(talk.say("another id", init(None), 4))
    data = batch(b"i", producer=other, sequence=100)
    talk.say("unknown, not from 0", produce(talk, topic, data), 9)
    data = batch(b"i", producer=other, sequence=0)
    talk.say("then from 0", produce(talk, topic, data), 9)
    last = (1 << 31) - 1
    third = identity(talk.say("a third id", init(None), 4))
    for label, sequence in (("near the end", last - 1), ("after the end", 0), ("then", 1)):
        values = (b"x", b"y") if sequence > 1 else (b"x",)
        data = batch(*values, producer=third, sequence=sequence)
        talk.say(label, produce(talk, topic, data), 9)
    talk.say("half an identity", init(None, (5, -1)), 4)
    talk.say("end", offsets(topic, _END), 6)


# -- ends ----------------------------------------------------------------------------------------


def ends(talk: Talk) -> None:
    topic = talk.topic("ends")
    highest = 11 if talk.newest else 9
    for version in (1, 4, 7, highest):
        for special in range(-1, -7 if version == highest else -4, -1):
            talk.say(f"empty, v{version} {special}", offsets(topic, special), version)
    for timestamp in (1000, 3000, 2000, 3000):
        talk.say(f"at {timestamp}", produce(talk, topic, batch(b"a", b"b", timestamp=timestamp)), 9)
    for special in range(-1, -9, -1):
        talk.say(f"v{highest} {special}", offsets(topic, special), highest)
    for timestamp in (0, 999, 1000, 1001, 1002, 2000, 3001, 3002, 99_999):
        talk.say(f"time {timestamp}", offsets(topic, timestamp), 6)
    for epoch in (-1, 0, 1):
        talk.say(f"epoch {epoch}", offsets(topic, _END, epoch=epoch), 6)
    talk.say("unknown partition", offsets(topic, _END, number=7), 6)
    talk.say("unknown topic", offsets(f"none-{talk.tag}", _END), 6)
    once = offsets(topic, _END).topics[0]
    twice = replace(once, partitions=once.partitions * 2)
    talk.say("twice", ListOffsetsRequest(replica_id=-1, topics=(twice,)), 6)
    for asked in (-1, 0, 1, 5):
        talk.say(f"end of {asked}", epoch_end(topic, asked), 4)
    for present in (0, 1):
        talk.say(f"end of 0 in {present}", epoch_end(topic, 0, present), 4)
    talk.say("end in an unknown one", epoch_end(f"none-{talk.tag}", 0), 4)


def epoch_end(topic: str, asked: int, present: int = -1) -> OffsetForLeaderEpochRequest:
    row = OffsetForLeaderPartition(partition=0, leader_epoch=asked, current_leader_epoch=present)
    wanted = OffsetForLeaderTopic(topic=topic, partitions=(row,))
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=(wanted,))


def deleting(talk: Talk) -> None:
    topic = talk.topic("deleting")
    talk.say("written", produce(talk, topic, batch(b"a", b"b", b"c")), 9)
    talk.say("more", produce(talk, topic, batch(b"d", timestamp=2000)), 9)

    def delete(label: str, offset: int, number: int = 0, name: str = topic) -> None:
        row = DeleteRecordsPartition(partition_index=number, offset=offset)
        rows = (DeleteRecordsTopic(name=name, partitions=(row,)),)
        talk.say(label, DeleteRecordsRequest(topics=rows, timeout_ms=3000), 2)
        for special in (-2, -1, 0, 1001):
            talk.say(f"{label}: {special}", offsets(topic, special), 6)

    delete("in a batch", 1)
    delete("back", 0)
    delete("beyond", 5)
    delete("negative", -2)
    delete("unknown", 0, number=5)
    delete("internal", 0, name="__consumer_offsets")
    talk.say("epochs", epoch_end(topic, 0), 4)
    delete("everything", -1)
    talk.say("then", produce(talk, topic, batch(b"e")), 9)
    talk.say("epochs then", epoch_end(topic, 0), 4)


# -- transactions --------------------------------------------------------------------------------


def transactions(talk: Talk) -> None:
    topic, name = talk.topic("transactions", 2), f"one-{talk.tag}"
    had = begun(talk, name)

    def write(label: str, sequence: int, version: int = 9, as_: str | None = name) -> None:
        data = batch(b"a", producer=had, sequence=sequence, transactional=True)
        request = produce(talk, topic, data, version=version, transactional_id=as_)
        talk.say(label, request, version)

    write("not added, v9", 0)
    write("not added, v11", 0, 11)
    write("without name", 0, 9, None)
    write("other name", 0, 9, f"none-{talk.tag}")
    talk.say("ended before it began", end(name, had, committed=True), 3)
    talk.say("aborted before it began", end(name, had, committed=False), 3)
    talk.say("added", add(name, had, topic, 0), 3)
    talk.say("added again", add(name, had, topic, 0), 3)
    talk.say("one unknown", add(name, had, topic, 1, 9), 3)
    write("written", 0)
    write("written again", 0)
    write("without name, open", 1, 9, None)
    write("more", 1)
    plain_batch = batch(b"p", producer=had, sequence=2)
    talk.say("not transactional", produce(talk, topic, plain_batch), 9)
    talk.say("between", produce(talk, topic, batch(b"z")), 9)
    for committed in (0, 1):
        talk.say(f"end at {committed}", offsets(topic, _END, committed=committed), 6)
        talk.say(f"time at {committed}", offsets(topic, 1000, committed=committed), 6)
        talk.say(f"maximum at {committed}", offsets(topic, -3, committed=committed), 7)
    talk.say("aborted", end(name, had, committed=False), 3)
    settled(talk, "stable", topic, 4)
    talk.wait("aborted again", end(name, had, committed=False), 3)
    talk.say("then committed", end(name, had, committed=True), 3)
    talk.say("time of the mark", offsets(topic, 2000), 6)
    talk.say("second", add(name, had, topic, 0), 3)
    write("written in the second", 2)
    talk.say("committed", end(name, had, committed=True), 3)
    settled(talk, "stable again", topic, 6)
    talk.wait("committed again", end(name, had, committed=True), 3)


def fencing(talk: Talk) -> None:
    topic, name = talk.topic("fencing"), f"two-{talk.tag}"
    had = begun(talk, name)
    talk.say("added", add(name, had, topic, 0), 3)
    data = batch(b"a", producer=had, transactional=True)
    talk.say("written", produce(talk, topic, data, transactional_id=name), 9)
    talk.say("fenced by another", init(name), 4)
    now = begun(talk, name)
    settled(talk, "aborted", topic, 2)
    for version in (1, 3):
        talk.say(f"add, v{version}", add(name, had, topic, 0), version)
        talk.say(f"end, v{version}", end(name, had, committed=True), version)
    offers = AddOffsetsToTxnRequest(
        transactional_id=name, producer_id=had[0], producer_epoch=had[1], group_id="g"
    )
    talk.say("offsets, v1", offers, 1)
    talk.say("offsets, v3", offers, 3)
    late = batch(b"b", producer=had, sequence=1, transactional=True)
    talk.say("late", produce(talk, topic, late, transactional_id=name), 9)
    talk.say("late, v11", produce(talk, topic, late, version=11, transactional_id=name), 11)
    talk.say("going on with the old one", init(name, had), 4)
    talk.say("going on with the old one, v3", init(name, had), 3)
    went = identity(talk.say("going on", init(name, now), 4))
    talk.say("going on, asked twice", init(name, now), 4)
    talk.say("going on from there", init(name, went), 4)
    for label, wrong in (("another id", (_NOBODY, 0)), ("a future epoch", (now[0], 99))):
        talk.say(f"{label} goes on", init(name, wrong), 4)
        talk.say(f"{label} adds", add(name, wrong, topic, 0), 3)
        talk.say(f"{label} ends", end(name, wrong, committed=True), 3)
    talk.say("nobody adds", add(f"none-{talk.tag}", now, topic, 0), 3)
    talk.say("nobody ends", end(f"none-{talk.tag}", now, committed=True), 3)
    talk.say("no name", init(""), 4)
    talk.say("no name adds", add("", now, topic, 0), 3)
    talk.say("no name ends", end("", now, committed=True), 3)
    talk.say("no time", init(name, timeout_ms=0), 4)
    talk.say("too much time", init(name, timeout_ms=1_000_000), 4)
    renamed = begun(talk, name)
    talk.say("nothing to end", end(name, renamed, committed=True), 3)


def rising(talk: Talk) -> None:
    """KIP-890: partitions join by being written to, and each end raises the epoch."""
    if not talk.newest:
        return
    topic, name = talk.topic("rising"), f"three-{talk.tag}"
    had = begun(talk, name)

    def write(label: str, who: tuple[int, int], sequence: int = 0) -> None:
        data = batch(b"a", producer=who, sequence=sequence, transactional=True)
        request = produce(talk, topic, data, version=12, transactional_id=name)
        talk.wait(label, request, 12)

    talk.say("committed without anything", end(name, had, committed=True), 5)
    empty = identity(talk.say("aborted without anything", end(name, had, committed=False), 5))
    talk.wait("aborted without anything, again", end(name, had, committed=False), 5)
    write("joined", empty)
    write("more", empty, 1)
    talk.say("open", offsets(topic, _END, committed=1), 6)
    second = identity(talk.say("committed", end(name, empty, committed=True), 5))
    settled(talk, "stable", topic, 3)
    talk.wait("committed again", end(name, empty, committed=True), 5)
    talk.say("aborted instead", end(name, empty, committed=False), 5)
    write("late", empty, 2)
    write("joined again", second)
    talk.say("the first ends late", end(name, empty, committed=True), 5)
    third = identity(talk.say("aborted", end(name, second, committed=False), 5))
    settled(talk, "stable again", topic, 5)
    talk.wait("aborted again", end(name, second, committed=False), 5)
    talk.wait("nothing, committed", end(name, third, committed=True), 5)
    fourth = identity(talk.wait("nothing, aborted", end(name, third, committed=False), 5))
    write("not from 0", fourth, 5)
    write("from 0", fourth)
    talk.say("ended by the old rules", end(name, fourth, committed=True), 3)
    settled(talk, "stable at last", topic, 7)
    talk.wait("ended by the old rules again", end(name, fourth, committed=True), 3)
    write("goes on", fourth, 1)
    talk.say("another", init(name), 5)
    begun(talk, name)
    settled(talk, "fenced", topic, 9)
    write("fenced writes", fourth, 2)
    talk.say("unknown name", produce_as(talk, topic, f"none-{talk.tag}", fourth), 12)


def produce_as(talk: Talk, topic: str, name: str, who: tuple[int, int]) -> ProduceRequest:
    data = batch(b"a", producer=(_NOBODY, who[1]), transactional=True)
    return produce(talk, topic, data, version=12, transactional_id=name)


def stored(talk: Talk) -> None:
    """What is in the log in the end, marks included."""
    topic, name = talk.topic("stored"), f"four-{talk.tag}"
    stamped = talk.topic("appended", message_timestamp_type="LogAppendTime")
    had = begun(talk, name)
    for version, committed in ((9, True), (9, False)):
        talk.wait("added", add(name, had, topic, 0), 3)
        data = batch(b"a", b"b", producer=had, sequence=0 if committed else 2, transactional=True)
        talk.say("written", produce(talk, topic, data, transactional_id=name), version)
        talk.wait("ended", end(name, had, committed=committed), 3)
        settled(talk, "settled", topic, 3 if committed else 6)
    talk.say("plain", produce(talk, topic, batch(b"c", codec=Codec.GZIP)), 9)
    talk.say("appended", produce(talk, stamped, batch(b"c")), 9)
    if talk.newest:
        data = batch(b"d", producer=had, sequence=4, transactional=True)
        request = produce(talk, topic, data, version=12, transactional_id=name)
        talk.wait("joined", request, 12)
        talk.say("raised", end(name, had, committed=False), 5)
        settled(talk, "settled", topic, 9)
    for isolation in (0, 1):
        for offset in range(10 if talk.newest else 8):
            talk.read(f"{offset} at {isolation}", topic, offset, committed=isolation)
    talk.read("appended", stamped, 0)


SCENARIOS: Final[tuple[Callable[[Talk], None], ...]] = (
    plain,
    damaged,
    magics,
    configured,
    idempotent,
    ends,
    deleting,
    transactions,
    fencing,
    rising,
    stored,
)
