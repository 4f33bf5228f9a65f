"""Where the verdict on a fleet differs from the audit's own.

Decides: what the sieve does not tell: rebalances, and the silences around them.
"""

import glob
import json
from collections.abc import Iterator, Mapping
from typing import Any

from kgroup.audit import Truth, audit, verdict_json
from kgroup.spark.audit.fleet import FleetVerdict, GroupVerdict


def local(group: GroupVerdict, truth: Truth | None = None) -> Any:
    """Return what the audit says of a group's logs, as far as the fleet's verdict says it."""
    logs = map(glob.escape, group.files)
    return said(group, verdict_json(audit(logs, truth, group=group.group)))


def said(group: GroupVerdict, verdict: Mapping[str, Any]) -> Any:
    """Return a verdict without what the sieve does not tell."""
    told = json.loads(json.dumps(verdict))
    if group.why is None:
        told.pop("rebalances")
        for row in (*told["partitions"], told["total"]):
            row.pop("silence_moved")
            row.pop("silence_stayed")
    return told


def differences(found: FleetVerdict) -> Iterator[str]:
    """Yield a line for each group that the audit judges in another way."""
    for group in found.groups:
        if (line := difference(group)) is not None:
            yield line


def difference(group: GroupVerdict) -> str | None:
    """Return a line when the audit judges a group in another way, None when it does not."""
    ours, right = said(group, group.verdict), local(group)
    if ours == right:
        return None
    names = [name for name in right if ours.get(name) != right[name]]
    return f"{group.group}: {', '.join(names)} differ; judged because {group.why}"
