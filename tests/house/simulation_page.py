"""The tables of the page about simulation: what happens, what is judged, which cells there are.

Decides: what the tables say.
Never: says what the code does not.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kgroup.audit.oracles import Oracle
from kgroup.audit.oracles.sets import simulation_oracles
from tests.house.parts import filled
from tests.house.reference import cell, table
from tests.search.simulation.coverage import CELLS, CellClass, classify
from tests.search.simulation.perturbation import Kind

__all__ = ["NAME", "render"]

NAME: Final = "simulation.md"

_PAGE: Final = Path(__file__).parents[2] / "docs" / NAME
_SUBJECTS: Final = ("the ", "a topic", "`number` records")


def render() -> str:
    """Return the page with its tables written anew."""
    return filled(_PAGE, _PARTS)


def _kinds() -> str:
    return table(("kind", "what happens"), [(f"`{kind.name}`", _sentence(kind)) for kind in Kind])


def _sentence(kind: Kind) -> str:
    whole = kind.value.startswith(_SUBJECTS)
    return cell(kind.value if whole else f"a member {kind.value}")


def _oracles() -> str:
    oracles = simulation_oracles().items()
    rows = [(f"`{name}`", _judges(oracle)) for name, oracle in oracles]
    return table(("oracle", "what it judges"), rows)


def _judges(oracle: Oracle) -> str:
    first, *_ = (type(oracle).__doc__ or "").strip().split("\n\n")
    return cell(" ".join(first.split()))


def _cells() -> str:
    counts = Counter((verdict.kind, verdict.why) for verdict in (classify(*c) for c in CELLS))
    rows = [
        (str(counts[kind, why]), kind.value, cell(why or "the table has a row, or several"))
        for kind in CellClass
        for why in sorted(why for each, why in counts if each is kind)
    ]
    return table(("cells", "class", "why"), rows)


_PARTS: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {"kinds": _kinds, "oracles": _oracles, "cells": _cells}
)
