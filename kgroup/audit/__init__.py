"""What a group's event logs prove, set against the broker's truth.

Decides: lost, duplicated, out of order, delivered without owning, owned by two; and silences.
Never: takes part in a group, or asks a broker; end offsets are given by the caller.

- `oracles`: The promises of a consumer group that an audit judges, each as an oracle over the
  event log
- `deliveries`: The account of each partition: what was delivered, lost, repeated and out of order
- `drawing`: Pieces of a page that needs nothing besides itself: bars in time, lines, tables
- `findings`: Single findings, gathered into problems
- `judging`: The audit: event logs and the broker's truth go in, a verdict comes out
- `shares`: A run judged in shares: some judges see a share of the partitions each, one sees all the
  rest
- `silence`: How long partitions were silent, in each rebalance and over the run
- `table`: A verdict as plain text for a person
- `verdict`: What an audit says: numbers per partition, problems with their proof, and whether all
  is well
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
