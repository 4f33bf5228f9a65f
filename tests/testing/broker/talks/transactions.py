"""Conversations about transactions, from the first id to what is stored in the end."""

from kgroup.wire.compression import Codec
from kgroup.wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    ListOffsetsResponse,
    ProduceRequest,
)
from tests.testing.broker.talks.requests import END, NOBODY, batch, identity, init, offsets, produce
from tests.testing.broker.talks.talk import Talk


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


def begun(talk: Talk, transactional_id: str) -> tuple[int, int]:
    """Get an id for a transactional producer whose former transaction may still have to end."""
    answer = talk.wait("begins", init(transactional_id), 4)
    return identity(answer)


def settled(talk: Talk, label: str, topic: str, stable: int) -> None:
    """Wait until the marks are in the log; note where read_committed ends."""

    def is_stable(answer: ListOffsetsResponse) -> bool:
        return answer.topics[0].partitions[0].offset == stable

    talk.wait(label, offsets(topic, END, committed=1), 6, is_stable)


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
        talk.say(f"end at {committed}", offsets(topic, END, committed=committed), 6)
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
    for label, wrong in (("another id", (NOBODY, 0)), ("a future epoch", (now[0], 99))):
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
    talk.say("open", offsets(topic, END, committed=1), 6)
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
    data = batch(b"a", producer=(NOBODY, who[1]), transactional=True)
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
