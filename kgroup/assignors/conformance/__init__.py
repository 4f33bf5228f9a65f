"""The conformance kit: what every assignor has to keep, held against one of them.

from kgroup.assignors import conformance

TestZone = conformance.suite(ZoneAssignor)  # in a test file, for pytest

report = conformance.run(ZoneAssignor)  # or anywhere; the command: kgroup assignors check

- `checks`: Which check judges which promise, and on what
- `checks_rounds`: Does it behave over several rounds: sticky, cooperative, balanced, never
  holding back forever?
- `checks_same`: Is it a function of the group, and of nothing else?
- `checks_whole`: Is one answer whole? Every partition once, to a member that may have it, and
  nothing else
- `drawing`: Groups out of bytes: what Hypothesis draws is one short string of bytes for each
- `gallery`: Odd groups by name: those that chance draws rarely, and that assignors forget
- `hunting`: The hunt for a case that breaks a promise, by Hypothesis
- `kit`: A run of the kit: all promises of one assignor, one after another
- `paste`: A group as Python code, so that an author can paste what the kit found into a test
- `processes`: Two other processes are asked, with fixed seeds of the hash of strings: do they
  agree?
- `promises`: What an assignor promises, sentence by sentence
- `report`: What a run of the kit found, as values and as text
- `rounds`: A group over several rounds: what its members hold and remember, carried by the real
  bytes
- `stranger`: The other process: it answers for the same groups, where strings hash differently
- `subject`: The assignor under test: how new ones are made, and how one is asked
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
