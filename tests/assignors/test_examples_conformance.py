"""The example plug-ins keep every promise of the conformance kit, and what they claim besides."""

import pytest

from docs.examples.assignors.grace import GraceAssignor
from docs.examples.assignors.weighted import WeightedAssignor
from docs.examples.assignors.zone import ZoneAssignor
from kgroup.assignors import conformance
from kgroup.assignors.conformance import Claims

pytestmark = pytest.mark.slow

FAIR = Claims(balance=1, sticky=True, rounds=2)

TestZone = conformance.suite(ZoneAssignor, claims=Claims(rounds=2), examples=3_000)
TestWeighted = conformance.suite(WeightedAssignor, claims=FAIR, examples=3_000)
TestGrace = conformance.suite(GraceAssignor, claims=FAIR, examples=3_000)
