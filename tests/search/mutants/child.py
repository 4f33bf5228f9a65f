"""One process in which one mutant lives: it plays schedules until one of them finds it.

Decides: when a mutant is found: a promise is broken, or the product itself cries out.
Never: imports the product before the mutant is in its place, so this module imports none of it.

Reads an order as JSON from the standard input, writes what came of it to the standard output.
"""

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.search.mutants import patching

LOGS = "log model"
"""The stage on which logs of claims are played."""

ROOMS = "rooms of members"
"""The stage on which members are played over such a log; others are groups."""

CRASH = "crash"
"""Stands for rule and oracle when the product raised what it must not raise."""


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """Play schedules until one breaks a promise, or all of them.

    Args:
        order: `module` and `changes` (None for the product as it is), `stage`, `level`, `mode`,
            `plan`, `seeds`, `without` (names of oracles that are switched off), `only` (name of
            the one oracle that is asked, "" for all), `seconds` after which no other schedule
            begins; `picks` if saved choices (site, index, value) are replayed, not a seed's.

    Returns:
        `found`: for each schedule that broke a promise `seed`, `rules`, `oracles`, `words`;
        `played`, `seconds`, and `loaded`: whether the changed module took part.
    """
    module = order["module"]
    if module is not None:
        patching.install(module, [(old, new) for old, new in order["changes"]])
    play = _player(order)
    began = time.perf_counter()
    found: list[dict[str, Any]] = []
    played = 0
    for seed in order["seeds"]:
        played += 1
        try:
            broken = play(seed)
        except Exception as error:  # noqa: BLE001 - whatever a fault makes the product raise
            broken = [(CRASH, CRASH, f"{type(error).__name__}: {error}")]
        if broken:
            rules = list(dict.fromkeys(rule for rule, _, _ in broken))
            oracles = list(dict.fromkeys(oracle for _, oracle, _ in broken))
            words = broken[0][2]
            found.append({"seed": seed, "rules": rules, "oracles": oracles, "words": words})
            break
        if time.perf_counter() - began > order["seconds"]:
            break
    return {
        "found": found,
        "played": played,
        "seconds": time.perf_counter() - began,
        "loaded": module is None or patching.installed(module),
    }


def _player(order: dict[str, Any]) -> Callable[[int], list[tuple[str, str, str]]]:
    """Return what plays a seed and says rule, oracle and words of each promise it broke."""
    if order["stage"] == LOGS:
        from tests.search.mutants.logs import play_log  # noqa: PLC0415

        return play_log
    if order["stage"] == ROOMS:
        from tests.search.mutants.logs import play_room  # noqa: PLC0415

        return play_room
    from tests.search.mutants.playing import Player  # noqa: PLC0415
    from tests.search.simulation.choices import Pick  # noqa: PLC0415

    saved = order.get("picks")
    picks = None if saved is None else tuple(Pick(*each) for each in saved)
    kind = order["level"], order["mode"], order["plan"]
    return Player(*kind, order["without"], order["only"], picks).play


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    json.dump(carry_out(json.load(sys.stdin)), sys.stdout)
