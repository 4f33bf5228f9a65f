"""What a campaign has found, for people and for the ledger."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from kgroup.wire.messages import DescribeGroupsRequest
from tests.search.simulation.campaign import commit
from tests.testing.differential.campaign import Tally
from tests.testing.differential.judging import Difference
from tests.testing.differential.replay import Turn
from tests.testing.differential.script import Setting

LEDGER = Path(__file__).parent / "ledger.json"

_SHOWN_BEFORE = 12


def document_of(tallies: dict[Setting, Tally], seed: int) -> dict[str, Any]:
    """Return the figures of one version, all settings together."""
    coverage: dict[str, dict[str, int]] = {}
    every = list(tallies.values())
    for tally in every:
        for (phase, request, result), count in tally.coverage.items():
            row = coverage.setdefault(f"{phase}: {request}", {})
            row[result] = row.get(result, 0) + count
    return {
        "commit": commit(),
        "seed": seed,
        "scripts": sum(tally.scripts for tally in every),
        "settings": {
            f"delay {setting.delay:g} s, at most {setting.max_size or 'any number of'} members": (
                tally.scripts
            )
            for setting, tally in tallies.items()
        },
        "requests": sum(tally.requests for tally in every),
        "discarded": {
            "a step was late": sum(tally.late for tally in every),
            "the broker was late": sum(tally.stalled for tally in every),
        },
        "given up": sum(tally.given_up for tally in every),
        "differences": sum(len(tally.differences) for tally in every),
        "explained": dict(sorted(sum((t.explained for t in every), Counter()).items())),
        "load average": round(os.getloadavg()[1], 2),
        "cells reached": sum(len(row) for row in coverage.values()),
        "coverage": {key: dict(sorted(coverage[key].items())) for key in sorted(coverage)},
    }


def write_ledger(version: str, document: dict[str, Any]) -> None:
    """Put the figures of a version in the place of its former ones."""
    known = json.loads(LEDGER.read_text(encoding="utf-8")) if LEDGER.exists() else {}
    known[version] = document
    text = json.dumps(dict(sorted(known.items())), indent=1)
    LEDGER.write_text(f"{text}\n", encoding="utf-8")


def describe(difference: Difference) -> str:
    """Say in words and in hex where the two sides part, with what came before."""
    script = difference.played.trace.script
    version = difference.played.trace.version
    lines = [f"{version}, seed {script.seed}, {script.setting}: {difference.signature}"]
    turns = [
        turn
        for turn in difference.played.turns[: difference.number]
        if not isinstance(turn.real.request, DescribeGroupsRequest)
    ]
    for turn in turns[-_SHOWN_BEFORE:]:
        lines += [f"  {line}" for line in _turn_lines(turn)]
    lines += [f"> {line}" for line in _turn_lines(difference.turn)]
    lines.append(f"> core {difference.turn.answered_at} {difference.turn.answer}")
    lines += [f"> {name}: {real!r}, core {core!r}" for name, real, core in difference.fields]
    lines.append(f"> request {difference.turn.real.frame.hex()}")
    lines.append(f"> answer  {difference.turn.real.answer_frame.hex()}")
    return "\n".join(lines)


def _turn_lines(turn: Turn) -> list[str]:
    real = turn.real
    answered = "never" if real.answered_at is None else f"{real.answered_at:.3f}"
    version = real.header.api_version
    return [
        f"{real.sent_at:.3f} {real.connection} ({turn.phase}) v{version} {real.request}",
        f"    {answered} {real.answer}",
    ]
