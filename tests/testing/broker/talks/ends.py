"""Conversations about where logs and epochs begin and end."""

from kgroup.wire.messages import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kgroup.wire.schema import replace
from tests.testing.broker.talks.requests import END, batch, offsets, produce
from tests.testing.broker.talks.talk import Talk


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
        talk.say(f"epoch {epoch}", offsets(topic, END, epoch=epoch), 6)
    talk.say("unknown partition", offsets(topic, END, number=7), 6)
    talk.say("unknown topic", offsets(f"none-{talk.tag}", END), 6)
    once = offsets(topic, END).topics[0]
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
