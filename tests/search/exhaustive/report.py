"""What is kept of a search: plain values for JSON.

Decides: names. Figures are those of this run on this machine.
"""

from typing import Any

from kgroup.membership.ending_rows import ROWS
from tests.search.exhaustive.search import Found

__all__ = ["as_json"]


def as_json(found: Found) -> dict[str, Any]:
    """Return what a search found, without the story."""
    scope, progress = found.scope, found.progress
    return {
        "mode": scope.mode.value,
        "members": scope.members,
        "partitions": scope.partitions,
        "faults": scope.faults,
        "kinds": sorted(kind.value for kind in scope.kinds),
        "closes": scope.closes,
        "session_ticks": scope.session,
        "rebalance_ticks": scope.rebalance,
        "patience": scope.patience,
        "late_requests": scope.late_requests,
        "complete": found.complete,
        "states": progress.states,
        "expanded": progress.expanded,
        "transitions": progress.transitions,
        "depth": progress.depth,
        "seconds": round(progress.seconds, 1),
        "broken": found.broken,
        "ticks_to_rest": found.rest_ticks,
        "processes": found.processes,
        "coordinators": found.coordinators,
        "rows_fired": len(found.rows),
        "rows": len(ROWS.rows),
        "cells_fired": found.cells,
        "cells": len({(row.at, row.on) for row in ROWS.rows}),
    }
