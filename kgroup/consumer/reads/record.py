"""One record as the application sees it, and how bytes become keys and values.

Decides: the shape of a record; that a deserialiser's error names the record it failed on, and
what such a record looks like when it is wanted all the same.
Never: makes records before they are asked for: a batch makes them while it is iterated. Never
decides where reading goes on after an error; the reader does.
"""

from collections.abc import Callable, Iterable
from dataclasses import field, fields, replace
from typing import Any, Final, Generic, Literal, TypeVar

from kgroup.errors import ArgumentError, DeserializationError
from kgroup.types import Claim, DeserializeErrorPolicy, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import Headers, RecordFields, TimestampType

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

Deserializer = Callable[[bytes | None], T]
"""Bytes, None for a null, to what the application wants."""


def raw(data: bytes | None) -> bytes | None:
    """Return bytes as they are. This is the deserialiser when you give none."""
    return data


@dataclass(frozen=True, slots=True)
class _Refused:
    """Where a record is from that could not be deserialised."""

    claim: Claim
    error: DeserializationError


@dataclass
class Record(RecordFields, Generic[K, V]):
    """One record; yours to keep and to change. It remembers the claim it was handed out under.

    Args:
        topic: name of the topic.
        partition: number of the partition.
        offset: place in the partition.
        timestamp: milliseconds since the epoch, -1 when the record has none.
        timestamp_type: whether the producer or the broker set it.
        key: deserialised key.
        value: deserialised value.
        headers: name and value of each, in order; a name may occur again.
        leader_epoch: epoch of the leader that took it, None when not known (KIP-101).
    """

    __slots__ = ()  # they are those of `RecordFields`, which compiled code fills

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: K
    value: V
    headers: Headers = ()
    leader_epoch: int | None = None
    # One slot for what only a few ask for: a record is made for each that is read.
    _origin: Claim | _Refused | None = field(default=None, repr=False, compare=False)

    @property
    def claim(self) -> Claim | None:
        """The period of ownership it was handed out in; None for one that you made."""
        return self._origin.claim if isinstance(self._origin, _Refused) else self._origin

    @property
    def error(self) -> DeserializationError | None:
        """Why the key or the value is still bytes; set only with `on_deserialize_error="raw"`,
        and only on records that a deserialiser refused."""
        return self._origin.error if isinstance(self._origin, _Refused) else None

    @property
    def tp(self) -> TopicPartition:
        """Topic and partition together."""
        return TopicPartition(self.topic, self.partition)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Let copies and pickles be made by the constructor."""
        return type(self), tuple(getattr(self, each.name) for each in fields(self))


for _name in ("headers", "leader_epoch", "_origin"):
    delattr(Record, _name)  # a default that stays on the class would hide the slot

RECORD: Final = (Record, "==ot=kvh==", tuple(each.name for each in fields(Record)))
"""How `RecordColumns.records` makes records; constants are those of `Segment.records`."""


@dataclass(frozen=True, slots=True)
class Formats(Generic[K, V]):
    """The two deserialisers of a consumer.

    Args:
        key: of keys.
        value: of values.
        policy: what becomes of a record that one of them refuses.

    Raises:
        ArgumentError: one of them cannot be called.
    """

    key: Deserializer[K]
    value: Deserializer[V]
    policy: DeserializeErrorPolicy = DeserializeErrorPolicy.RAISE

    def __post_init__(self) -> None:
        for name, given in (("key", self.key), ("value", self.value)):
            if not callable(given):
                raise ArgumentError(name, given, "a function of bytes, None for a null")

    @property
    def skips(self) -> bool:
        """Whether records that are refused are skipped."""
        return self.policy is DeserializeErrorPolicy.SKIP

    @property
    def are_raw(self) -> bool:
        """Whether both leave bytes as they are."""
        return self.key is raw and self.value is raw

    def made(self, record: Record[Any, Any]) -> Record[K, V]:
        """Put what the deserialisers make in place of a record's bytes.

        Args:
            record: with key and value as bytes, and a claim. One that is refused keeps them.

        Raises:
            DeserializationError: a deserialiser refused it, and the policy is not RAW.
        """
        where: Literal["key", "value"] = "key"
        try:
            # A call that changes nothing costs as much as a record.
            key = record.key if self.key is raw else self.key(record.key)
            where = "value"
            value = record.value if self.value is raw else self.value(record.value)
        except Exception as cause:  # noqa: BLE001 - whatever it is, it is about this record
            return self._refused(record, _refusal(record, where, cause))
        record.key, record.value = key, value
        return record

    def values(
        self, records: Iterable[Record[Any, Any]]
    ) -> tuple[list[V], list[DeserializationError]]:
        """Return values, and the errors of those refused; under RAW refused ones stay bytes."""
        made: list[V] = []
        errors: list[DeserializationError] = []
        for record in records:
            try:
                made.append(self.value(record.value))
            except Exception as cause:  # noqa: BLE001 - as above
                if self.policy is DeserializeErrorPolicy.RAW:
                    made.append(record.value)
                else:
                    errors.append(_refusal(record, "value", cause))
        return made, errors

    def _refused(self, record: Record[Any, Any], error: DeserializationError) -> Record[K, V]:
        """Return the record with what could not be deserialised left as it is, or raise."""
        if self.policy is not DeserializeErrorPolicy.RAW:
            try:
                raise error
            finally:
                # The error holds this frame: a cycle would keep the reader's handout out of reach.
                del error
        assert record.claim is not None
        return replace(
            record,
            key=_or_raw(self.key, record.key),
            value=_or_raw(self.value, record.value),
            _origin=_Refused(record.claim, error),
        )


def _or_raw(make: Deserializer[T], data: bytes | None) -> T | bytes | None:
    try:
        return make(data)
    except Exception:  # noqa: BLE001 - the record carries the first error already
        return data


def _refusal(
    record: Record[Any, Any], where: Literal["key", "value"], cause: Exception
) -> DeserializationError:
    error = DeserializationError(
        record.tp, record.offset, where, key=record.key, value=record.value
    )
    error.__cause__ = cause
    return error
