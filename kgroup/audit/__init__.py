"""What a group's event logs prove, set against the broker's truth.

Decides: lost, duplicated, out of order, delivered without owning, owned by two; and silences.
Never: takes part in a group, or asks a broker; end offsets are given by the caller.
"""

from kgroup.audit.findings import find_logs, merge_logs
from kgroup.audit.judging import audit, audit_entries
from kgroup.audit.table import render_verdict
from kgroup.audit.verdict import (
    PartitionVerdict,
    Problem,
    ProblemKind,
    Rebalance,
    Truth,
    Verdict,
    verdict_json,
)

__all__ = [
    "PartitionVerdict",
    "Problem",
    "ProblemKind",
    "Rebalance",
    "Truth",
    "Verdict",
    "audit",
    "audit_entries",
    "find_logs",
    "merge_logs",
    "render_verdict",
    "verdict_json",
]
