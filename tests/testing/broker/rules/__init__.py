"""What the in-process broker does and does not do, as data with proofs.

`RULES` are sentences, each with the recorded conversations or the tests that hold it; `ABSENT` is
what a real broker has and this one has not. The page "What the in-process broker does and does not
do" is written out of both.
"""

from types import MappingProxyType
from typing import Final

from tests.testing.broker.rules.absent import ABSENT, Absence
from tests.testing.broker.rules.brokers import CONNECTIONS, MOVES
from tests.testing.broker.rules.consumer_groups import CONSUMER_GROUPS
from tests.testing.broker.rules.joining import JOINS, ROUNDS, STATIC
from tests.testing.broker.rules.membership import HEARTBEATS, LEAVES, SYNCS
from tests.testing.broker.rules.offsets import ADMINISTRATION, COMMITS, READS, TRANSACTIONS
from tests.testing.broker.rules.rule import Rule
from tests.testing.broker.rules.topics import FETCHES, LOGS, TOPICS

__all__ = ["ABSENT", "RULES", "SECTIONS", "Absence", "Rule"]

SECTIONS: Final = MappingProxyType(
    {
        "Joining a group": JOINS,
        "Rounds": ROUNDS,
        "Static members": STATIC,
        "SyncGroup": SYNCS,
        "Heartbeats and sessions": HEARTBEATS,
        "LeaveGroup": LEAVES,
        "Commits": COMMITS,
        "Reading committed offsets": READS,
        "Transactions of a group": TRANSACTIONS,
        "Groups of KIP-848": CONSUMER_GROUPS,
        "Administration and expiry": ADMINISTRATION,
        "Moves of the coordinator": MOVES,
        "Connections and versions": CONNECTIONS,
        "Topics and leaders": TOPICS,
        "Logs": LOGS,
        "Fetch": FETCHES,
    }
)
"""Heading -> its rules, in the order of the page."""

RULES: Final = tuple(rule for rules in SECTIONS.values() for rule in rules)
