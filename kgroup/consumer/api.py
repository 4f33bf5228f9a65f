"""The consumer people program against.

Decides: how one is made. Its calls stand in four classes by subject, which add nothing to each
other: `reading_calls`, `offset_calls`, `log_calls` and `group_calls`, all on `life`.
Never: holds logic of its own. Nothing in the background refers to it, so a consumer that is
dropped is collected.
KIPs: 62, 345, 429, 568.
"""

from typing import Self, TypeVar, Unpack, overload

from kgroup.backends.choice import Coordination
from kgroup.config import ConsumerConfig, ConsumerOptions
from kgroup.consumer.calls.group_calls import GroupCalls
from kgroup.consumer.calls.log_calls import LogCalls
from kgroup.consumer.calls.offset_calls import OffsetCalls
from kgroup.consumer.calls.reading_calls import ReadingCalls
from kgroup.consumer.calls.subscribing import to_topics
from kgroup.consumer.listener import Listener
from kgroup.consumer.reads.record import Deserializer, Formats, raw

__all__ = ["Consumer"]

K = TypeVar("K")
V = TypeVar("V")
_Bytes = bytes | None


class Consumer(ReadingCalls[K, V], OffsetCalls, LogCalls, GroupCalls):
    """Reads topics, alone or in a group.

        async with Consumer("orders", group_id="billing") as consumer:
            async for batch in consumer.batches():
                for record in batch:
                    ...

    Entering waits for a broker, not for the group. `commit`, `seek`, `pause`, `position` and
    `close` work inside listeners too.

    Args:
        topics: topics to subscribe to; none to call `subscribe` or `assign` later.
        config: options, None for the defaults.
        key: makes keys out of bytes (None for null).
        value: makes values out of bytes.
        listener: told when partitions come and go.
        options: set single options on top of `config`; see `ConsumerConfig`.

    Raises:
        ConfigError: an option is not known, or its value cannot be used.
        ArgumentError: a topic, a deserialiser or the listener is none.
    """

    @overload
    def __init__(
        self: "Consumer[_Bytes, _Bytes]",
        *topics: str,
        config: ConsumerConfig | None = None,
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: "Consumer[K, _Bytes]",
        *topics: str,
        config: ConsumerConfig | None = None,
        key: Deserializer[K],
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: "Consumer[_Bytes, V]",
        *topics: str,
        config: ConsumerConfig | None = None,
        value: Deserializer[V],
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *topics: str,
        config: ConsumerConfig | None = None,
        key: Deserializer[K],
        value: Deserializer[V],
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    def __init__(
        self,
        *topics: str,
        config: ConsumerConfig | None = None,
        key: Deserializer[K] = raw,  # type: ignore[assignment]  # then K is bytes | None
        value: Deserializer[V] = raw,  # type: ignore[assignment]  # then V is bytes | None
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        settings = ConsumerConfig.of(options, config)
        subscription = to_topics(topics, None, None) if topics else None
        if subscription is not None:
            settings.group()
        super().__init__(
            settings, subscription, listener, Formats(key, value, settings.deserialize_errors)
        )

    def coordinate_by(self, coordination: Coordination) -> Self:
        """Have the group coordinated by another backend than the classic one; before entering."""
        self._coordination = coordination
        return self
