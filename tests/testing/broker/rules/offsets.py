"""Rules of committed offsets, of what transactions do to them, and of administration."""

from typing import Final

from kgroup.testing.broker.releases import CoordinatorKind
from tests.testing.broker.rules.rule import Rule

_OLD: Final = CoordinatorKind.OLD
_NEW: Final = CoordinatorKind.NEW

COMMITS: Final = (
    Rule(
        "commit.order",
        "Refusals come in this order: the partition is unknown (3, each by itself), instance (82), "
        "member (25), generation (22), state (27); too much metadata (12) comes last.",
        "E1, R12",
        ("commit_states", "fencing_order"),
    ),
    Rule(
        "commit.states",
        "With the right member and generation it is accepted in Stable and while a round runs, "
        "answered 27 while the leader's SyncGroup is awaited, and 25 in an empty group.",
        "E2, R13",
        ("commit_states",),
    ),
    Rule(
        "commit.newcomer",
        "A newcomer may commit under the generation that ends.",
        "E2",
        ("commit_states",),
    ),
    Rule(
        "commit.simple",
        "Without a generation it is accepted by an empty or a new group, with any member id, and "
        "refused (25, or 22 with a member's id) by a group with members.",
        "E3, R13",
        ("commit_states",),
    ),
    Rule(
        "commit.no-group-old",
        "A generation in a group that does not exist is answered 22.",
        "A2",
        ("commit_states",),
        _OLD,
    ),
    Rule(
        "commit.no-group-new",
        "A generation in a group that does not exist is answered 69 from version 9 on, 22 before.",
        "A2",
        ("commit_states",),
        _NEW,
    ),
    Rule(
        "commit.values",
        "Offsets may go back and below zero; null metadata reads back as empty; the empty group id "
        "is a group for commits without a generation.",
        "E4, R13",
        ("commit_states",),
    ),
)

READS: Final = (
    Rule(
        "read.unknown",
        "A group, topic or partition without a commit is no error: offset -1.",
        "E5",
        ("offset_fetch",),
    ),
    Rule(
        "read.all",
        "Without a list of topics all commits of a group are answered.",
        "E5",
        ("offset_fetch",),
    ),
    Rule(
        "read.member-ignored",
        "Member id and epoch of version 9 do not matter for a classic group.",
        "E5",
        ("offset_fetch",),
    ),
    Rule(
        "read.unstable",
        "With require_stable, a partition that an open transaction has committed is answered 88 by "
        "itself, until its markers are written.",
        "E6, KIP-447",
        ("offset_fetch",),
    ),
)

TRANSACTIONS: Final = (
    Rule(
        "transaction.plain-wins",
        "A commit over a pending one is accepted, and wins when the transaction commits.",
        "E6",
        ("offset_fetch",),
    ),
    Rule(
        "transaction.lax",
        "TxnOffsetCommit is accepted in every state with the right member and generation, and with "
        "neither; a wrong generation is 22, a wrong member 25.",
        "E7",
        ("txn_commit_states",),
    ),
    Rule(
        "transaction.no-group-old",
        "A generation in a group that does not exist is answered 25.",
        "A3",
        ("txn_commit_states",),
        _OLD,
    ),
    Rule(
        "transaction.no-group-new",
        "A generation in a group that does not exist is answered 22.",
        "A3",
        ("txn_commit_states",),
        _NEW,
    ),
)

ADMINISTRATION: Final = (
    Rule(
        "expiry.empty",
        "Offsets of a group without members go at the first check after the retention time, "
        "counted from when it became empty, or from the commit where there never were members.",
        "E8, R19, KIP-211",
        ("offset_expiry",),
    ),
    Rule(
        "expiry.members",
        "A group with members keeps its offsets.",
        "E8, R19",
        ("offset_expiry",),
    ),
    Rule(
        "expiry.no-commits",
        "An empty group without commits goes at the next check.",
        "E8",
        ("offset_expiry",),
    ),
    Rule(
        "delete.group",
        "DeleteGroups: 0 for an empty group, also one of commits or pending ids alone, 68 for a "
        "group with members, 69 for an unknown one; members are unknown afterwards.",
        "G3, R19",
        ("delete_states",),
    ),
    Rule(
        "delete.offsets",
        "OffsetDelete: 86 for topics that members subscribe to, 69 for an unknown group.",
        "G3, R19, KIP-496",
        ("delete_states",),
    ),
    Rule(
        "describe.states",
        "DescribeGroups tells the phase, the members in hash order, and in Stable the assignor, "
        "the subscriptions and the assignments; an unknown group is Dead.",
        "W",
        ("heartbeat_states", "static_restart_stable", "commit_states"),
    ),
)
