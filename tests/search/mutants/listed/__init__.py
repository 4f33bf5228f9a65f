"""All planted mutants, by what they are about."""

from tests.search.mutants.listed.commits import COMMITS, ROUNDS
from tests.search.mutants.listed.identity import IDENTITY, OWNERSHIP, PROOF
from tests.search.mutants.listed.lone import LONE, LOOKS
from tests.search.mutants.listed.shell import MARSHAL, SHELL

__all__ = ["ALL", "ELUSIVE", "MUTANTS"]

ALL = (*ROUNDS, *IDENTITY, *PROOF, *OWNERSHIP, *COMMITS, *SHELL, *LONE, *LOOKS, *MARSHAL)
"""Each with a name of its own."""

MUTANTS = tuple(mutant for mutant in ALL if not mutant.eludes)
"""Those that simulation must find: forty and more."""

ELUSIVE = tuple(mutant for mutant in ALL if mutant.eludes)
"""Those that it has not found so far, each with the reason; what simulation lacks."""
