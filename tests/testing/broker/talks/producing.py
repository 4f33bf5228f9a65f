"""Conversations about what a broker takes from producers."""

from kgroup.wire.compression import Codec
from kgroup.wire.messages import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kgroup.wire.records import header as layout
from tests.testing.broker.talks.requests import (
    END,
    NOBODY,
    batch,
    identity,
    init,
    offsets,
    produce,
    rewritten,
)
from tests.testing.broker.talks.talk import Talk


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
    talk.say("ends", offsets(topic, END), 6)


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
        "id without sequence": batch(b"a", producer=(NOBODY, 0), sequence=-1),
    }
    for label, data in cases.items():
        talk.say(label, produce(talk, topic, data), 9)
    talk.say("end", offsets(topic, END), 6)
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
    talk.say("end", offsets(topic, END), 6)
