"""One process in which one mutant lives: it plays schedules until one of them finds it.

Decides: when a mutant is found: a promise is broken, or the product itself cries out.
Never: imports the product before the mutant is in its place, so this module imports none of it.

Reads an order as JSON from the standard input, writes what came of it to the standard output.
"""

import json
import logging
import sys
import time
from typing import Any

from tests.mutants import patching

__all__ = ["hunt"]

CRASH = "crash"
"""Stands for a rule when the product raised what it must not raise."""


def hunt(order: dict[str, Any]) -> dict[str, Any]:
    """Play schedules until one breaks a promise.

    Args:
        order: `module` and `changes` (None for the product as it is), `level`, `mode`, `backend`,
            `first` and `schedules` (seeds), `without` (names of oracles that are switched off).

    Returns:
        `seed` (None when all promises were kept), `rules`, `words`, `played`, `seconds`, and
        `loaded`: whether the changed module took part.
    """
    module = order["module"]
    if module is not None:
        patching.install(module, [(old, new) for old, new in order["changes"]])
    from tests.mutants.playing import Player  # noqa: PLC0415

    player = Player(order["level"], order["mode"], order["backend"], order["without"])
    began = time.perf_counter()
    found: dict[str, Any] = {"seed": None, "rules": [], "words": ""}
    played = 0
    for seed in range(order["first"], order["first"] + order["schedules"]):
        played += 1
        try:
            broken = player.play(seed)
        except Exception as error:  # noqa: BLE001 - whatever a fault makes the product raise
            broken = [(CRASH, f"{type(error).__name__}: {error}")]
        if broken:
            rules = list(dict.fromkeys(rule for rule, _ in broken))
            found = {"seed": seed, "rules": rules, "words": broken[0][1]}
            break
    loaded = module is None or patching.installed(module)
    return {
        **found,
        "played": played,
        "seconds": time.perf_counter() - began,
        "loaded": loaded,
    }


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    json.dump(hunt(json.load(sys.stdin)), sys.stdout)
