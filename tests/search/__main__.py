"""`make search ARGS="simulate --schedules 10000"`: one of the searches.

Decides: which word starts which search; what follows the word belongs to that search.
Never: searches itself.
"""

import runpy
import sys
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

SEARCHES: Final = MappingProxyType(
    {
        "simulate": "tests.search.simulation",
        "stateful": "tests.search.simulation.stateful",
        "exhaustive": "tests.search.exhaustive",
        "fuzz": "tests.search.fuzz",
        "mutants": "tests.search.mutants",
    }
)


def main(arguments: Sequence[str]) -> int:
    """Start the search that the first word names; return 2 when no search has that name."""
    name = arguments[0] if arguments else ""
    if name not in SEARCHES:
        known = ", ".join(SEARCHES)
        sys.stderr.write(f"{name!r} is not a search; the searches are {known}\n")
        return 2
    sys.argv = [f"search {name}", *arguments[1:]]
    runpy.run_module(SEARCHES[name], run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
