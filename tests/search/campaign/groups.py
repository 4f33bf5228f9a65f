"""A sitting with simulated groups: the next seeds of one level and mode.

Decides: what of a campaign is written down, and how often; that each failing schedule is kept, so
that `make search ARGS="simulate --replay"` plays it.
Never: plays in another way than `make search ARGS="simulate --keep-going"` does.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.search.campaign.ledger import Ledger, Sitting
from tests.search.simulation.campaign import Campaign, Found, run_campaign
from tests.search.simulation.campaign_chunk import Failure
from tests.search.simulation.campaign_ledger import circumstances
from tests.search.simulation.coverage import ENOUGH, cell_named

__all__ = ["kind_of", "sit_with_groups"]

_SAVED_EVERY: Final = 60.0
"""Seconds: so much is lost when the machine is switched off."""


def kind_of(campaign: Campaign) -> str:
    """Name what is searched: level, mode, and the backend where there is one."""
    backend = (campaign.backend,) if campaign.level.value in "BC" else ()
    return " ".join((campaign.level.value, campaign.mode.value, *backend))


def sit_with_groups(
    campaign: Campaign, ledger: Ledger, folder: Path, say: Callable[[str], object]
) -> Found:
    """Play a campaign to its end or to Ctrl-C, and write down what was done.

    Args:
        campaign: what to play.
        ledger: where it is written down.
        folder: where failing schedules are kept.
        say: is told how it goes.
    """
    notes = _Notes(campaign, ledger)

    def tell(found: Found) -> None:
        if notes.due():
            notes.save(found)
            say(_told(campaign, found))

    found = run_campaign(campaign, tell=tell)
    notes.save(found)
    say(_told(campaign, found))
    for failure in found.failures:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{kind_of(campaign)} {failure.schedule.seed}".replace(" ", "-").replace("'", "b")
        failure.schedule.save(folder / f"{name.lower()}.json")
    return found


def _picks(failures: Sequence[Failure]) -> dict[str, tuple[int, str]]:
    """Return what plays the first failure of each promise again: of a mutation no seed does.

    Returns:
        Promise -> seed, and the picks as JSON in one line.
    """
    first: dict[str, tuple[int, str]] = {}
    for failure in failures:
        plain = failure.schedule.to_json()["picks"]
        for rule in failure.rules:
            first.setdefault(rule, (failure.schedule.seed, json.dumps(plain)))
    return first


def _told(campaign: Campaign, found: Found) -> str:
    broken = ", ".join(f"{rule} {count}" for rule, count in sorted(found.tally.broken.items()))
    return (
        f"{kind_of(campaign)}: {found.tally.runs:,} of {campaign.schedules:,} groups from seed "
        f"{campaign.seed:,}, {found.rate:.1f}/s, broken: {broken or 'nothing'}"
    )


class _Notes:
    """What a sitting writes down, now and then.

    Args:
        campaign: that is played.
        ledger: where to.
    """

    def __init__(self, campaign: Campaign, ledger: Ledger) -> None:
        self._campaign = campaign
        self._ledger = ledger
        self._made = circumstances()
        self._saved_at = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._saved_at >= _SAVED_EVERY

    def save(self, found: Found) -> None:
        """Write down what was found so far; nothing as long as nothing was played."""
        self._saved_at = time.monotonic()
        if not found.tally.runs:
            return
        self._ledger.put(self._sitting(found))

    def _sitting(self, found: Found) -> Sitting:
        tally = found.tally.to_json()
        coverage = found.coverage
        return {
            "kind": kind_of(self._campaign),
            "first": self._campaign.seed,
            "count": found.tally.runs,
            "processes": self._campaign.processes,
            "seconds": round(found.seconds, 1),
            "per_second": round(found.rate, 1),
            **{name: tally[name] for name in ("mutants", "events", "virtual_hours", "broken")},
            "failures": [[each.schedule.seed, *each.rules] for each in found.failures],
            "picks": _picks(found.failures),
            "played_twice": found.checked,
            "not_the_same": [each.schedule.seed for each in found.mismatches],
            "cells_met": coverage.legal_cells_met(),
            "cells_met_ten_times": coverage.legal_cells_met(ENOUGH),
            "impossible_cells_met": list(coverage.impossible_cells_met()),
            "cells": {
                cell_named(number): coverage.cells[number] for number in sorted(coverage.cells)
            },
            **self._made,
        }
