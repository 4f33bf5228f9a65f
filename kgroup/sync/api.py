"""The consumer that scripts and threads program against: the native one, blocking.

Decides: how one is made, and what threads may do with it. Its calls stand in four classes by
subject, as the native consumer's do.
Never: holds logic of its own; nothing in the background refers to it.
KIPs: 62, 345, 429, 568.
"""

import weakref
from typing import TypeVar, Unpack, overload

from kgroup.config import ConsumerConfig, ConsumerOptions
from kgroup.consumer.api import Consumer as NativeConsumer
from kgroup.consumer.reads.record import Deserializer, raw
from kgroup.errors import ConfigError
from kgroup.sync.desk import Desk
from kgroup.sync.group_calls import GroupCalls
from kgroup.sync.listener import Listener, on_loop
from kgroup.sync.log_calls import LogCalls
from kgroup.sync.offset_calls import OffsetCalls
from kgroup.sync.reading_calls import ReadingCalls
from kgroup.types import DoneAt

__all__ = ["Consumer"]

K = TypeVar("K")
V = TypeVar("V")
_Bytes = bytes | None


class Consumer(ReadingCalls[K, V], OffsetCalls[K, V], LogCalls[K, V], GroupCalls[K, V]):
    """Reads topics, alone or in a group, for code that has no event loop.

        with Consumer("orders", group_id="billing") as consumer:
            for record in consumer:
                ...

    A thread of its own keeps the membership alive, fetches and commits. Any thread may call
    anything, several at once. Reading from several threads is sound when each reads other
    partitions (`getone(tp)`), or each has its own `batches()`: else the read of one thread says
    that what another one holds is done. `wakeup` and `close_soon` may be called in signal handlers.

    The listener, and callbacks of commits, run in a thread of yours that is inside a call: the
    listener in one that reads or closes. Nobody reads, nobody hears. They may make every call but
    reads; `close` inside only asks for it.

    Ctrl-C ends a blocked read, and what it would have returned is handed out next.

    Args:
        topics: topics to subscribe to; none to call `subscribe`, `follow` or `assign` later.
        config: options, None for the defaults.
        key: makes keys out of bytes (None for null).
        value: makes values out of bytes.
        listener: told when partitions come and go; its callbacks are plain, not `async`.
        options: set single options on top of `config`; see `ConsumerConfig`.

    Raises:
        ConfigError: an option is not known, or its value cannot be used; `done_at` among them,
            unless it is "next_read".
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
        settings, desk = ConsumerConfig.of(options, config), Desk()
        if settings.done_at is not DoneAt.NEXT_READ:
            expected = "'next_read': a loop over records fetches ahead; say batch.done() instead"
            raise ConfigError("done_at", "delivery", expected)
        carried = on_loop(listener, weakref.ref(self), desk)
        native = NativeConsumer(*topics, config=settings, key=key, value=value, listener=carried)
        super().__init__(native, desk, f"kgroup {settings.client_id}")
