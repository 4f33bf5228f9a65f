"""FindCoordinator: the broker that coordinates a group or a transaction (KIP-98, 699)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int8, Int16, Int32, String, Text, array, nullable, rows

__all__ = ["Coordinator", "FindCoordinatorRequest", "FindCoordinatorResponse"]

_VERSIONS: Final = range(7)


@message()
class Coordinator(Message):
    """The coordinator of one key (4+); node_id is -1 and host empty when there is an error."""

    key: str = wire(String, since=4)
    node_id: int = wire(Int32, since=4)
    host: str = wire(String, since=4)
    port: int = wire(Int32, since=4)
    error_code: int = wire(Int16, since=4, default=0)
    error_message: str | None = wire(nullable(Text), since=4, default=None, ignorable=True)


@message(versions=_VERSIONS, flexible=3)
class FindCoordinatorResponse(Message):
    """Where the coordinator is: one answer up to version 3, a row per key from 4 on (KIP-699).

    1 throttle_time_ms, error_message; 2 the client waits it out itself; 3 flexible.
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, until=3, default=0)
    error_message: str | None = wire(nullable(Text), since=1, until=3, default=None, ignorable=True)
    node_id: int = wire(Int32, until=3, default=0)
    host: str = wire(String, until=3, default="")
    port: int = wire(Int32, until=3, default=0)
    coordinators: tuple[Coordinator, ...] = wire(rows(Coordinator), since=4, default=())


@message(versions=_VERSIONS, flexible=3, api=ApiKey.FIND_COORDINATOR)
class FindCoordinatorRequest(Request[FindCoordinatorResponse]):
    """Ask for coordinators: key up to version 3, coordinator_keys from 4 on (KIP-699).

    key_type (1+) is 0 for groups, 1 for transactional ids, 2 for share groups (6, KIP-932). 3 is
    flexible; 5 lets the answer carry TRANSACTION_ABORTABLE (KIP-890).
    """

    key: str = wire(String, until=3, default="")
    key_type: int = wire(Int8, since=1, default=0)
    coordinator_keys: tuple[str, ...] = wire(array(String), since=4, default=())
