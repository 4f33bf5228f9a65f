"""T10: what is known of the cluster, after any answers in any order.

Decides: an input is a tape for up to four answers, each either of random fields out of few names
and numbers, or any message the declarations allow, or bytes that are read first. What is believed
can be true, brokers and partitions that cannot are skipped, an epoch does not go back while
the topic is the same, and an answer that is refused as a whole leaves everything as it was.
"""

import itertools
from typing import Final

from kgroup.errors import DecodeError
from kgroup.net.metadata import (
    EMPTY_VIEW,
    ClusterView,
    Lack,
    address_fault,
    lacking,
    merge_brokers,
    merge_metadata,
)
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kgroup.wire.schema import decode
from tests.search.fuzz.making import make, number
from tests.search.fuzz.recorded import of_brokers, of_java
from tests.search.fuzz.target import Tape, Target, sure

_ANSWERS: Final = 4
_METADATA: Final = 3
_NODES: Final = (1, 2, 3, 0, -1, -2, 1, 2**31 - 1)
_HOSTS: Final = ("a", "b", "a", "b", "a", "", "é", "x" * 300)
_PORTS: Final = (*(9092, 9093) * 4, 0, -1, 65535, 65536, 2**31 - 1)
_NAMES: Final = ("t", "u", "", None, "__consumer_offsets", "t")
_CODES: Final = (0, 0, 0, 0, 3, 5, 9, 17, 29, 87, 100, 129, -1, 999)
_EPOCHS: Final = (-1, 0, 1, 2, 3, -5, 2**31 - 1)
_IDS: Final = (bytes(16), b"1" * 16, b"2" * 16)
_FIELDS, _ANYTHING, _BYTES = 0, 1, 2
_KINDS: Final = (_FIELDS, _ANYTHING, _BYTES, _FIELDS, _FIELDS, _BYTES, _FIELDS, _BYTES)


def check(data: bytes) -> bool:
    tape = Tape(data)
    view, believed = EMPTY_VIEW, False
    for _ in range(_ANSWERS):
        if not tape.left:
            break
        answer = _answer(tape)
        asked = None if tape.chance(3) else frozenset(tape.pick(("t", "u", "w")) for _ in range(2))
        if answer is None:
            continue
        try:
            merged, rejected = merge_metadata(view, answer, asked)
        except DecodeError:
            continue
        believed = True
        _sound(merged)
        _forward(view, merged)
        sure(merged is view or merged != view, "nothing new is the old view", merged)
        sure(merge_metadata(merged, answer, asked)[0] == merged, "the same answer changes nothing")
        _asked(merged, asked, rejected)
        sure(merge_brokers(view, merged).brokers == merged.brokers, "brokers are taken over")
        view = merged
    return believed


def _answer(tape: Tape) -> MetadataResponse | None:
    kind = tape.pick(_KINDS)
    if kind == _FIELDS:
        return _of_fields(tape)
    version = tape.pick(MetadataResponse.VERSIONS)
    if kind == _ANYTHING:
        made = make(MetadataResponse, version, tape)
        assert isinstance(made, MetadataResponse)
        return made
    try:
        return decode(MetadataResponse, version, tape.take(2 + tape.below(1 << 16)))
    except DecodeError:
        return None


def _of_fields(tape: Tape) -> MetadataResponse:
    return MetadataResponse(
        brokers=tuple(_broker(tape) for _ in range(tape.below(5))),
        cluster_id=tape.pick(("c", None, "", "d")),
        controller_id=tape.pick(_NODES),
        topics=tuple(_topic(tape) for _ in range(tape.below(4))),
    )


def _broker(tape: Tape) -> MetadataResponseBroker:
    return MetadataResponseBroker(
        node_id=tape.pick(_NODES),
        host=tape.pick(_HOSTS),
        port=tape.pick(_PORTS),
        rack=tape.pick((None, "r", "")),
    )


def _topic(tape: Tape) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=tape.pick(_CODES),
        name=tape.pick(_NAMES),
        topic_id=tape.pick(_IDS),
        is_internal=bool(tape.below(2)),
        partitions=tuple(_partition(tape) for _ in range(tape.below(5))),
    )


def _partition(tape: Tape) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=tape.pick(_CODES),
        partition_index=tape.below(4) or number(32, tape),
        leader_id=tape.pick(_NODES),
        leader_epoch=tape.pick(_EPOCHS),
        replica_nodes=tuple(tape.pick(_NODES) for _ in range(tape.below(4))),
        isr_nodes=tuple(tape.pick(_NODES) for _ in range(tape.below(3))),
        offline_replicas=tuple(tape.pick(_NODES) for _ in range(tape.below(2))),
    )


# -- what must hold ------------------------------------------------------------------------------


def _sound(view: ClusterView) -> None:
    """N12: nothing is in a view that cannot be true."""
    sure(view.brokers, "there is a broker to ask")
    for node_id, broker in view.brokers.items():
        sure(node_id >= 0 and broker.endpoint.node_id == node_id, "a node is its id", broker)
        fault = address_fault(broker.endpoint.host, broker.endpoint.port)
        sure(fault is None, "a broker can be called", broker, fault)
    for name, topic in view.topics.items():
        numbers = list(topic.partitions)
        sure(
            numbers == sorted(set(numbers)) and min(numbers, default=0) >= 0, "partitions", numbers
        )
        sure(topic.topic_id != bytes(16), "no id is None", topic)
        for partition in numbers:
            _sound_partition(view, TopicPartition(name, partition))
        sure(not (topic.is_gone and numbers), "a topic that is gone has no partitions", topic)
        _ = (topic.is_uncertain, topic.is_refused, view.topic_id(name), view.partitions_of(name))
    sure(view.topic_named(b"9" * 16) is None, "an id that nobody has")
    sure(view.controller is None or view.controller >= 0, "the controller is a node")


def _sound_partition(view: ClusterView, tp: TopicPartition) -> None:
    known = view.partition(tp)
    assert known is not None
    sure(known.leader is None or known.leader >= 0, "a leader is a node", known)
    sure(known.leader_epoch is None or known.leader_epoch >= 0, "an epoch is not below 0", known)
    leader = view.leader(tp)
    sure(leader is None or leader in view.brokers, "a leader can be asked", leader)
    racks = {broker.rack for broker in view.brokers.values()}
    sure(view.replica_racks(tp) <= racks, "replicas are in racks of brokers")
    sure(leader is None or not view.serves(tp, -1), "no node below 0 serves")
    sure(not view.is_gone(tp) or view.topics[tp.topic].is_gone, "what is there is not gone", tp)


def _forward(old: ClusterView, new: ClusterView) -> None:
    """KIP-320: an epoch does not go back, unless the topic, or the cluster, is another one."""
    if old.cluster_id and new.cluster_id and old.cluster_id != new.cluster_id:
        return
    for name, topic in new.topics.items():
        before = old.topics.get(name)
        if before is None or (
            before.topic_id and topic.topic_id and before.topic_id != topic.topic_id
        ):
            continue
        for partition, known in topic.partitions.items():
            was = before.partitions.get(partition)
            if was is None or was.leader_epoch is None or known.leader_epoch is None:
                continue
            sure(known.leader_epoch >= was.leader_epoch, "an epoch does not go back", was, known)


def _asked(view: ClusterView, asked: frozenset[str] | None, rejected: tuple[str, ...]) -> None:
    lack = lacking(view, asked, rejected)
    sure(isinstance(lack, Lack), "what is lacking has a name")
    missing = asked is not None and asked - view.topics.keys()
    sure(
        not missing or lack in (Lack.TOPIC, Lack.LEADER), "a topic that is missing is lacking", lack
    )
    sure(not rejected or lack is not Lack.NOTHING, "what is not believed is asked for again", lack)


def read(data: bytes) -> object:
    return check(data)


def corpus() -> list[bytes]:
    """Answers of brokers and of Java as bytes, and tapes of random fields."""
    versions = MetadataResponse.VERSIONS
    bodies = [
        (version, body)
        for key, version, is_request, body in of_java()
        if key == _METADATA and not is_request
    ]
    bodies += [
        (sent.version, sent.frame[5 if sent.version >= 9 else 4 :])
        for sent in of_brokers()
        if sent.key == _METADATA and not sent.is_request
    ]
    read_first = [
        bytes((2, version - versions[0])) + (max(len(body) - 2, 0)).to_bytes(2, "big") + body
        for version, body in bodies
    ]
    twice = [one + b"\0" + other for one, other in itertools.pairwise(read_first)]
    tapes = [
        bytes((kind,)) + bytes((seed * 7 + at * at * (1 + seed % 5)) % 256 for at in range(120))
        for seed in range(300)
        for kind in (_FIELDS, _ANYTHING)
    ]
    return [*read_first, *twice, *tapes]


METADATA: Final = Target(
    name="T10",
    about="of any answers about the cluster only what can be true is believed",
    corpus=corpus,
    check=check,
    read=read,
    room=lambda data: 16 * len(data) + (4 << 20),
)
