"""The conformance kit: what every assignor has to keep, held against one of them.

from kgroup.assignors import conformance

TestZone = conformance.suite(ZoneAssignor)  # in a test file, for pytest

report = conformance.run(ZoneAssignor)  # or anywhere; the command: kgroup assignors check
"""

from kgroup.assignors.conformance.kit import EXAMPLES, run, suite
from kgroup.assignors.conformance.promises import PROMISES, Claims, Promise
from kgroup.assignors.conformance.report import Outcome, Progress, Report, Status
from kgroup.assignors.conformance.subject import Testable

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
