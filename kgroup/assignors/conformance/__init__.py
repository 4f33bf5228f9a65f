"""The conformance kit: what every assignor has to keep, held against one of them.

from kgroup.assignors import conformance

TestZone = conformance.suite(ZoneAssignor)  # in a test file, for pytest

report = conformance.run(ZoneAssignor)  # or anywhere; the command: kgroup assignors check
"""

from kgroup.assignors.conformance.claimed import Claims
from kgroup.assignors.conformance.kit import EXAMPLES, run
from kgroup.assignors.conformance.promises import PROMISES, Promise
from kgroup.assignors.conformance.report import Outcome, Progress, Report, Status
from kgroup.assignors.conformance.subject import Testable
from kgroup.assignors.conformance.suite import suite

__all__ = [
    "EXAMPLES",
    "PROMISES",
    "Claims",
    "Outcome",
    "Progress",
    "Promise",
    "Report",
    "Status",
    "Testable",
    "run",
    "suite",
]
