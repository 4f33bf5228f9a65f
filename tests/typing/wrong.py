"""Wrong uses that type checkers must refuse: never run, checked by mypy and pyright.

Each wrong line carries the error of both checkers. A comment that hides no error is an error
itself, so a wrong use that becomes acceptable fails the test.
"""

import json
from typing import Any

from kgroup import (
    Batch,
    CommitOutcome,
    Consumer,
    ConsumerConfig,
    OwnershipChange,
    Record,
    TopicPartition,
)

Raw = bytes | None


def only_bytes(data: bytes) -> str:
    return data.decode()


def to_int(data: bytes | None) -> int:
    return int(data or b"0")


# -- making one --------------------------------------------------------------------------------


def an_option_nobody_knows() -> None:
    Consumer("orders", grop_id="billing")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def an_option_in_kafkas_spelling() -> None:
    Consumer("orders", session_timeout_ms=10_000)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def a_policy_nobody_knows() -> None:
    Consumer("orders", auto_offset_reset="smallest")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def an_isolation_level_nobody_knows() -> None:
    Consumer("orders", isolation_level="committed")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def a_time_as_text() -> None:
    Consumer("orders", session_timeout="10s")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def a_protocol_in_small_letters() -> None:
    Consumer("orders", security_protocol="ssl")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def a_mechanism_that_is_not_there() -> None:
    Consumer("orders", sasl_mechanism="GSSAPI")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def a_way_with_bad_records_nobody_knows() -> None:
    Consumer("orders", on_deserialize_error="ignore")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def topics_in_a_list() -> None:
    Consumer(["orders"])  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def a_deserialiser_that_cannot_take_a_null() -> None:
    Consumer("orders", value=only_bytes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_library_function_that_cannot_take_a_null() -> None:
    Consumer("orders", value=json.loads)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_config_that_is_a_dict() -> None:
    Consumer("orders", config={"group_id": "g"})  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def an_option_of_a_config_that_nobody_knows() -> None:
    ConsumerConfig(group="g")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def an_assignor_as_a_class() -> None:
    class Assignor:
        """Lacks everything."""

    Consumer("orders", assignors=[Assignor])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


# -- the types of records ----------------------------------------------------------------------


async def a_value_of_another_type() -> None:
    async with Consumer("orders", group_id="g", value=to_int) as consumer:
        async for record in consumer:
            record.value.decode()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def a_value_that_may_be_null() -> None:
    async with Consumer("orders", group_id="g") as consumer:
        async for record in consumer:
            record.value.decode()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def a_consumer_of_other_types() -> Consumer[str, int]:
    return Consumer("orders", value=to_int)  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def a_batch_of_other_records(batch: Batch[Raw, int]) -> list[Record[Raw, str]]:
    return list(batch)  # type: ignore[arg-type]  # pyright: ignore[reportReturnType]


async def batches_taken_for_lists(consumer: Consumer[Raw, int], tp: TopicPartition) -> None:
    found = await consumer.getmany(timeout=1.0)
    found[tp][0]  # type: ignore[index]  # pyright: ignore[reportIndexIssue]


# -- calls -------------------------------------------------------------------------------------


async def a_commit_by_topic_name(consumer: Consumer[Raw, Raw]) -> None:
    await consumer.commit({"orders": 5})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]


async def a_commit_of_a_pair(consumer: Consumer[Raw, Raw], tp: TopicPartition) -> None:
    await consumer.commit({tp: (5, "metadata")})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]


async def a_commit_of_values(consumer: Consumer[Raw, int], batch: Batch[Raw, int]) -> None:
    await consumer.commit(batch.values())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def a_commit_in_the_background_that_is_awaited(consumer: Consumer[Raw, Raw]) -> None:
    await consumer.commit_soon()  # type: ignore[func-returns-value, misc]  # pyright: ignore[reportGeneralTypeIssues]


def a_callback_that_takes_offsets_and_an_error(consumer: Consumer[Raw, Raw]) -> None:
    def called(offsets: dict[TopicPartition, int], error: Exception | None) -> None: ...

    consumer.commit_soon(callback=called)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def a_commit_that_is_not_awaited(consumer: Consumer[Raw, Raw]) -> CommitOutcome:
    return consumer.commit()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def a_seek_to_a_text(consumer: Consumer[Raw, Raw], tp: TopicPartition) -> None:
    consumer.seek(tp, "5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def a_seek_that_is_awaited(consumer: Consumer[Raw, Raw], tp: TopicPartition) -> None:
    await consumer.seek(tp, 5)  # type: ignore[func-returns-value, misc]  # pyright: ignore[reportGeneralTypeIssues]


async def a_time_out_by_position(consumer: Consumer[Raw, Raw]) -> None:
    await consumer.getmany(1000)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def a_time_out_in_milliseconds(consumer: Consumer[Raw, Raw]) -> None:
    await consumer.getmany(timeout_ms=1000)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def topics_of_a_subscription_in_a_list(consumer: Consumer[Raw, Raw]) -> None:
    consumer.subscribe(["orders"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def partitions_by_number(consumer: Consumer[Raw, Raw]) -> None:
    consumer.assign([0, 1])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


async def leaving_said_with_a_flag(consumer: Consumer[Raw, Raw]) -> None:
    await consumer.close(leave=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_membership_that_is_written_to(consumer: Consumer[Raw, Raw]) -> None:
    consumer.membership.rebalances = 0  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


# -- listeners ---------------------------------------------------------------------------------


class Nothing:
    """None of the callbacks."""


class PeersNames:
    """Callbacks as another library calls them."""

    def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None: ...


class TooFew:
    """A callback that does not take the consumer."""

    def on_revoked(self, change: OwnershipChange) -> None: ...


class TooCurious:
    """A callback that wants what nobody passes."""

    def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange, why: str) -> None: ...


def a_listener_without_callbacks() -> None:
    Consumer("orders", group_id="g", listener=Nothing())  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def a_listener_of_another_library(consumer: Consumer[Raw, Raw]) -> None:
    consumer.subscribe("orders", listener=PeersNames())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_listener_that_does_not_take_the_consumer(consumer: Consumer[Raw, Raw]) -> None:
    consumer.subscribe("orders", listener=TooFew())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_listener_that_wants_more(consumer: Consumer[Raw, Raw]) -> None:
    consumer.subscribe("orders", listener=TooCurious())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_listener_that_is_a_class(consumer: Consumer[Raw, Raw]) -> None:
    consumer.subscribe("orders", listener=TooFew)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
