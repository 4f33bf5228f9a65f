"""Documented uses, as a type checker sees them: never run, checked by mypy and pyright.

Each `assert_type` says what a user's editor shows at that place.
"""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, assert_never, assert_type

from kgroup import (
    Batch,
    Cause,
    ChangeKind,
    Claim,
    CommitFailedError,
    CommitOutcome,
    CommitStatus,
    Consumer,
    ConsumerConfig,
    ConsumerOptions,
    Generation,
    IsolationLevel,
    KGroupError,
    Leave,
    Listener,
    Membership,
    MemberState,
    NotOwnedError,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    OwnershipChange,
    PartitionOutcome,
    Record,
    Subscription,
    TopicPartition,
    raw,
)
from kgroup.assignors import (
    BUILT_IN,
    Assignor,
    GroupAssignment,
    GroupSubscription,
    RebalanceProtocol,
)
from kgroup.errors import DeserializationError

Raw = bytes | None


@dataclass
class Order:
    """What a service makes of a value."""

    number: int


def to_order(data: bytes | None) -> Order:
    return Order(int(json.loads(data or b"0")))


def to_name(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


# -- K and V follow the deserialisers ----------------------------------------------------------


def types_follow_the_deserialisers() -> None:
    assert_type(Consumer("orders", group_id="billing"), Consumer[Raw, Raw])
    assert_type(Consumer("orders", key=to_name), Consumer[str | None, Raw])
    assert_type(Consumer("orders", value=to_order), Consumer[Raw, Order])
    assert_type(Consumer("orders", key=to_name, value=to_order), Consumer[str | None, Order])
    assert_type(Consumer("orders", value=lambda data: len(data or b"")), Consumer[Raw, int])
    assert_type(Consumer("orders", key=raw, value=to_order), Consumer[Raw, Order])


def a_consumer_may_be_named_with_its_types() -> None:
    named: Consumer[str | None, Order] = Consumer("orders", key=to_name, value=to_order)
    anything: Consumer[Any, Any] = named
    assert_type(named, Consumer[str | None, Order])
    assert_type(anything, Consumer[Any, Any])


# -- options -----------------------------------------------------------------------------------


def options_as_keywords(assignor: Assignor) -> None:
    Consumer("a", "b", bootstrap_servers="one:9092, two:9092", group_id="g")
    Consumer("a", bootstrap_servers=["one:9092", "two:9092"], group_id="g")
    Consumer("a", group_id="g", group_instance_id="worker-1", session_timeout=30)
    Consumer("a", group_id="g", max_poll_interval=timedelta(minutes=10), fetch_max_wait=0.1)
    Consumer("a", group_id="g", auto_offset_reset="earliest", isolation_level="read_committed")
    Consumer("a", group_id="g", isolation_level=IsolationLevel.READ_UNCOMMITTED)
    Consumer("a", group_id="g", assignors=["cooperative-sticky"])
    Consumer("a", group_id="g", assignors=(assignor, BUILT_IN["range"], "roundrobin"))
    Consumer("a", group_id="g", max_poll_records=None, enable_auto_commit=False)
    Consumer("a", group_id="g", journal=Path("events.jsonl"))
    Consumer("a", group_id="g", auto_offset_reset=timedelta(hours=1))
    Consumer("a", group_id="g", value=to_order, on_deserialize_error="skip")


def options_of_security(context: ssl.SSLContext) -> None:
    Consumer("a", security_protocol="SSL", ssl_context=context)
    Consumer("a", security_protocol="SSL", ssl_cafile=Path("ca.pem"), ssl_check_hostname=False)
    Consumer(
        "a",
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="reader",
        sasl_password="secret",
    )

    async def fetch_token() -> str:
        return "token"

    oauth = ConsumerConfig(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token=fetch_token,
        sasl_oauth_extensions={"pool": "a"},
    )
    assert_type(Consumer("a", config=oauth), Consumer[Raw, Raw])
    Consumer("a", sasl_mechanism="OAUTHBEARER", sasl_oauth_token=lambda: "token")


def options_as_one_value() -> None:
    config = ConsumerConfig(group_id="g", session_timeout=timedelta(seconds=30))
    assert_type(Consumer("a", config=config), Consumer[Raw, Raw])
    assert_type(Consumer("a", config=config, client_id="other"), Consumer[Raw, Raw])
    shared: ConsumerOptions = {"group_id": "g", "auto_offset_reset": "earliest"}
    assert_type(Consumer("a", value=to_order, **shared), Consumer[Raw, Order])


# -- reading -----------------------------------------------------------------------------------


async def batches() -> None:
    async with Consumer("orders", group_id="g", key=to_name, value=to_order) as consumer:
        assert_type(consumer, Consumer[str | None, Order])
        async for batch in consumer.batches():
            assert_type(batch, Batch[str | None, Order])
            assert_type(batch.partition, TopicPartition)
            assert_type(batch.claim, Claim)
            assert_type(batch.token, Generation | None)
            assert_type((batch.first, batch.next_offset, len(batch)), tuple[int, int, int])
            assert_type(batch.values(), list[Order])
            for record in batch:
                assert_type(record, Record[str | None, Order])
                batch.done(upto=record.offset + 1)
            async with batch as held:
                assert_type(held, Batch[str | None, Order])
            batch.release()
            assert_type(batch.in_hand, bool)


async def records() -> None:
    async with Consumer("orders", group_id="g", value=to_order) as consumer:
        async for record in consumer:
            assert_type(record, Record[Raw, Order])
            assert_type((record.key, record.value), tuple[Raw, Order])
            assert_type((record.topic, record.partition), tuple[str, int])
            assert_type((record.offset, record.timestamp), tuple[int, int])
            assert_type(record.headers, tuple[tuple[str, bytes | None], ...])
            assert_type(record.leader_epoch, int | None)
            assert_type(record.tp, TopicPartition)
            assert_type(record.claim, Claim | None)
            assert_type(record.error, DeserializationError | None)
            assert_type(await consumer.commit(record), CommitOutcome)


async def many_and_one(consumer: Consumer[str | None, Order], tp: TopicPartition) -> None:
    found = await consumer.getmany(tp, max_records=100, timeout=1.0)
    assert_type(found, dict[TopicPartition, Batch[str | None, Order]])
    for where, batch in found.items():
        assert_type((where, batch.values()), tuple[TopicPartition, list[Order]])
    assert_type(await consumer.getone(), Record[str | None, Order])
    assert_type(await consumer.getone(tp, timeout=1.0), Record[str | None, Order])
    for batch in found.values():
        assert_type(await consumer.commit(batch), CommitOutcome)


# -- offsets -----------------------------------------------------------------------------------


async def commits(consumer: Consumer[Raw, Raw], tp: TopicPartition) -> None:
    assert_type(await consumer.commit(), CommitOutcome)
    assert_type(await consumer.commit({tp: 17}), CommitOutcome)
    offset = OffsetAndMetadata(17, "by hand", leader_epoch=3)
    outcome = await consumer.commit({tp: offset})
    assert_type(outcome.ok, bool)
    assert_type(outcome.partitions, Mapping[TopicPartition, PartitionOutcome])
    found = await consumer.committed(tp)
    assert_type(found, Mapping[TopicPartition, OffsetAndMetadata | None])


def tell(outcome: CommitOutcome) -> None:
    assert_type(outcome.ok, bool)


async def tell_later(outcome: CommitOutcome) -> None:
    assert_type(outcome.failed(), dict[TopicPartition, PartitionOutcome])


def commits_without_waiting(
    consumer: Consumer[Raw, Order], batch: Batch[Raw, Order], record: Record[Raw, Order]
) -> None:
    consumer.commit_soon()
    consumer.commit_soon(batch, tell)
    consumer.commit_soon(record, callback=tell_later)
    consumer.commit_soon({batch.partition: batch.next_offset}, lambda outcome: None)


async def a_failed_commit_tells_each_partition(consumer: Consumer[Raw, Raw]) -> None:
    try:
        await consumer.commit()
    except CommitFailedError as error:
        for result in error.outcome.failed().values():
            match result.status:
                case CommitStatus.COMMITTED | CommitStatus.REFUSED:
                    assert_type(result.code, int | None)
                case CommitStatus.UNKNOWN:
                    assert_type(result.offset, OffsetAndMetadata)
                case _:
                    assert_never(result.status)
    except NotOwnedError as error:
        assert_type(error.partitions, tuple[TopicPartition, ...])
    except KGroupError as error:
        assert_type(error.args, tuple[Any, ...])


async def positions(consumer: Consumer[Raw, Raw], tp: TopicPartition) -> None:
    assert_type(await consumer.position(tp, timeout=1.0), int)
    consumer.seek(tp, 0)
    consumer.seek(tp, OffsetAndMetadata(5, leader_epoch=1))
    assert_type(await consumer.seek_to_beginning(tp), dict[TopicPartition, int])
    assert_type(await consumer.seek_to_end(), dict[TopicPartition, int])
    back = await consumer.seek_to_committed()
    assert_type(back, Mapping[TopicPartition, OffsetAndMetadata | None])
    consumer.pause(tp)
    consumer.resume(tp)
    assert_type(consumer.paused(), frozenset[TopicPartition])


async def logs(consumer: Consumer[Raw, Raw], tp: TopicPartition) -> None:
    assert_type(await consumer.beginning_offsets(tp), dict[TopicPartition, int])
    assert_type(await consumer.end_offsets(tp), dict[TopicPartition, int])
    found = await consumer.offsets_for_times({tp: datetime(2026, 1, 1, tzinfo=UTC)})
    assert_type(found, dict[TopicPartition, OffsetAndTimestamp | None])
    assert_type(
        await consumer.offsets_for_times({tp: 0}), dict[TopicPartition, OffsetAndTimestamp | None]
    )
    assert_type(await consumer.topics(), frozenset[str])
    assert_type(consumer.partitions_for_topic("orders"), frozenset[int] | None)
    assert_type(consumer.highwater(tp), int | None)
    assert_type(consumer.last_stable_offset(tp), int | None)
    assert_type(consumer.lag(tp), int | None)


# -- the group ---------------------------------------------------------------------------------


async def the_group(consumer: Consumer[Raw, Raw], tp: TopicPartition) -> None:
    consumer.subscribe("orders", "refunds")
    consumer.subscribe(pattern="orders-.*", exclude=".*-test")
    consumer.unsubscribe()
    consumer.assign([tp])
    consumer.assign({tp})
    assert_type(consumer.assignment(), frozenset[TopicPartition])
    assert_type(consumer.owns(tp), bool)
    assert_type(consumer.subscription(), Subscription | None)
    assert_type(consumer.group_metadata(), Generation | None)
    assert_type(consumer.membership, Membership)
    assert_type(consumer.membership.state, MemberState)
    assert_type(consumer.membership.cause, Cause | None)
    assert_type(consumer.rebalances, int)
    assert_type(consumer.failure, Exception | None)
    async for membership in consumer.membership_changes():
        assert_type(membership, Membership)
    consumer.enforce_rebalance("partitions are uneven")
    consumer.close_soon(leave=Leave.LEAVE)
    await consumer.close(timeout=10.0, leave=Leave.REMAIN, commit=False)


# -- listeners ---------------------------------------------------------------------------------


class Plain:
    """All callbacks, none of them async."""

    def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        assert_type(change.kind, ChangeKind)
        assert_type(change.added, tuple[Claim, ...])
        assert_type(change.cause, Cause)
        for claim in change.added:
            consumer.seek(claim.tp, 0)

    def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        assert_type(change.removed, tuple[Claim, ...])
        assert_type(consumer.assignment(), frozenset[TopicPartition])

    def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        assert_type(change.generation, Generation | None)
        assert_type(consumer.rebalances, int)


class Mixed:
    """Some of the callbacks, one of them async; it names the types of its consumer."""

    async def on_revoked(
        self, consumer: Consumer[str | None, Order], change: OwnershipChange
    ) -> None:
        assert_type(await consumer.commit(), CommitOutcome)
        assert_type(change.serial, int)

    def on_lost(self, consumer: Consumer[str | None, Order], change: OwnershipChange) -> None:
        assert_type(consumer.owns(change.removed[0].tp), bool)


class OnlyLost:
    """One callback."""

    async def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange, /) -> None:
        assert_type(change.kept, tuple[Claim, ...])
        assert_type(consumer.membership, Membership)


def listeners() -> None:
    Consumer("orders", group_id="g", listener=Plain())
    Consumer("orders", group_id="g", key=to_name, value=to_order, listener=Mixed())
    consumer = Consumer("orders", group_id="g")
    consumer.subscribe("orders", listener=OnlyLost())
    several: list[Listener] = [Plain(), Mixed(), OnlyLost()]
    consumer.subscribe("orders", listener=several[0])


# -- an assignor of one's own ------------------------------------------------------------------


class Alone:
    """Gives everything to one member."""

    name: Literal["alone"] = "alone"
    supported_protocols = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        draft = group.draft()
        for partition in group.partitions:
            draft.give(partition, to=group.subscribers(partition.topic)[0])
        return draft.freeze()


def an_assignor_needs_no_base_class() -> None:
    Consumer("orders", group_id="g", assignors=[Alone()])
