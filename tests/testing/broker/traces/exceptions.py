"""What is known to come out otherwise than recorded, by name.

`LATE`: requests that the busy recording machine brought to the broker long after they were sent, or
behind one that was sent later on another connection. They are asked at the instant of their answer.
`LEFT_OUT`: requests that are not asked, since an answer that differs would change what follows.
`EXCEPTIONS`: exchanges that differ, each with the reason; one that does not differ any more fails.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_Key = tuple[str, str, int]
"""Trace, connection, correlation id."""

LATE: Final[Mapping[_Key, str]] = MappingProxyType(
    {
        ("broker_restart-4.3.1-r1", "fetch", 1): "0.3 s in a broker that has just started",
        ("broker_restart-4.3.1-r1", "hb g=3", 1): "0.3 s in a broker that has just started",
        ("coordinator_sigkill-3.9.1-c3", "A", 2): "the first record in a new offsets topic",
        ("coordinator_sigkill-3.9.1-c3", "A", 3): "the first record in a new offsets topic",
        ("coordinator_sigkill-3.9.1-c3", "A", 6): "0.5 s in a busy machine",
        ("coordinator_sigkill-3.9.1-c3", "again", 1): "0.4 s in a broker that has just started",
        ("coordinator_sigkill-3.9.1-c3", "commitA@2", 62): "fetch@2, sent as late, overtook it",
        ("coordinator_sigkill-4.3.1-c3", "find@1", 52): "sent while the brokers learnt of the move",
        ("kip848_flow-4.3.1", "A", 9): "0.3 s in a busy machine",
        ("kip848_flow-4.3.1", "A", 11): "0.1 s in a busy machine; the next target counts from it",
        ("kip848_flow-4.3.1", "B", 33): "0.3 s in a busy machine",
        ("poison_metadata-4.3.1", "A.2", 21): "0.4 s in a busy machine",
        ("static_absent-4.3.1", "B", 9): "0.4 s in a busy machine, as the README says",
        ("upgrade_downgrade-4.3.1", "A", 3): "0.4 s in a busy machine",
    }
)

_FALLBACK: Final = "the server answers it with 35 in version 0, above the core that is replayed"
_UNREADABLE: Final = "kgroup does not read version 0, which only the old broker served"

EXCEPTIONS: Final[Mapping[_Key, str]] = MappingProxyType(
    {
        ("versions-3.9.1", "V", 6): _FALLBACK,
        ("versions-4.3.1", "V", 6): _FALLBACK,
        ("versions-3.9.1", "badOffsetCommit0", 1): _UNREADABLE,
        ("versions-3.9.1", "badOffsetFetch0", 1): _UNREADABLE,
    }
)

_TRANSACTIONS: Final = "the topic of transactions was being made, and then loaded; ours is there"

LEFT_OUT: Final[Mapping[_Key, str]] = MappingProxyType(
    {
        **{
            ("offset_fetch-3.9.1", "A", number): _TRANSACTIONS for number in (17, *range(19, 32, 2))
        },
        **{
            ("offset_fetch-4.3.1", "A", number): _TRANSACTIONS for number in (17, *range(19, 38, 2))
        },
        ("upgrade_downgrade-4.3.1", "admin", 9): "that broker had the groups of other scenarios",
    }
)
