"""The page of the in-process broker: its rules with their proofs, and what it has not.

Decides: how a proof is shown, and where in the tests it is.
Never: says what a rule is; `tests.testing.broker.rules` does.
"""

from collections.abc import Iterator
from typing import Final

from kgroup.testing.broker.releases import CoordinatorKind
from tests.house.reference import cell, table
from tests.testing.broker.rules import ABSENT, SECTIONS, Rule
from tests.testing.broker.traces.compare import NOT_COMPARED
from tests.testing.broker.traces.exceptions import EXCEPTIONS, LATE, LEFT_OUT
from tests.testing.broker.traces.recorded import names

NAME: Final = "in-process-broker.md"

_HEAD: Final = """\
# What the in-process broker does and does not do

To look up what a broker answers when, and why that may be believed; to write tests, read
[Test your consumer](test-your-consumer.md). What is left out stands under
[What it does not do](#what-it-does-not-do). Numbers of errors are Kafka's, with names in
`kgroup.codes.ErrorCode`: 16 NOT_COORDINATOR, 22 ILLEGAL_GENERATION, 25 UNKNOWN_MEMBER_ID,
27 REBALANCE_IN_PROGRESS, 79 MEMBER_ID_REQUIRED, 82 FENCED_INSTANCE_ID. Empty, PreparingRebalance,
CompletingRebalance, Stable and Dead are the states of a group; a request is parked while its
answer waits for others.

This page is written by `make docs` out of the rules in `tests.testing.broker.rules`; a test
compares the two, another that every proof is there.

`InProcessBroker` answers requests as the classic group coordinators of Kafka do, byte by byte.
There are two of them: the *old* one, which runs by default up to Kafka 3.9, and the *new* one of
4.0 and later; `release` chooses, `coordinator` overrides. Each rule names what holds it:

- a name such as `not_rejoining` is a conversation that was recorded with real brokers, 3.9.1 under
  the old and 4.3.1 under the new coordinator. All {traces} recordings are replayed against the
  in-process broker at their recorded times, and every answer is compared field by field, the order
  of members included;
- a name such as `test_fetching::test_...` is a test below `tests/testing/broker`.

The sources are the numbers of the measurements in the docstrings of the code (A to G, S, W), those
of rules read in Kafka's own code (R), and KIPs.
"""

_KINDS: Final = {None: "both", CoordinatorKind.OLD: "old", CoordinatorKind.NEW: "new"}


def traces_of(scenario: str, kind: CoordinatorKind | None = None) -> list[str]:
    """Return the recordings of a scenario, of one coordinator or of both."""
    release = {None: "", CoordinatorKind.OLD: "3.", CoordinatorKind.NEW: "4."}[kind]
    return [name for name in names() if name.startswith(f"{scenario}-{release}")]


def render() -> str:
    """Return the page."""
    blocks = [_HEAD.format(traces=len([*names()])), "## What it does"]
    for title, rules in SECTIONS.items():
        if rules:
            blocks += [f"### {title}", table(_HEADS, [_row(rule) for rule in rules])]
    blocks += ["## What it does not do", table(("what", "instead"), [*_absences()])]
    blocks += ["## What the comparison leaves out", _left_out()]
    return "\n\n".join(block.strip() for block in blocks) + "\n"


_HEADS: Final = ("rule", "what happens", "coordinator", "source", "proof")


def _row(rule: Rule) -> tuple[str, ...]:
    proofs = ", ".join(f"`{proof}`" for proof in rule.proof)
    return f"`{rule.id}`", cell(rule.what), _KINDS[rule.coordinator], cell(rule.source), proofs


def _absences() -> Iterator[tuple[str, str]]:
    for absence in ABSENT:
        yield cell(absence.what), cell(absence.instead)


def _left_out() -> str:
    fields = table(
        ("field", "why it is not compared"),
        [(f"`{name}`", cell(why)) for name, why in NOT_COMPARED.items()],
    )
    requests = table(
        ("recording", "request", "what", "why"),
        [
            (f"`{name}`", f"`{connection}` {number}", what, cell(why))
            for what, listed in (
                ("differs", EXCEPTIONS),
                ("not asked", LEFT_OUT),
                ("asked when it was answered", LATE),
            )
            for (name, connection, number), why in listed.items()
        ],
    )
    return f"{fields}\n\n{requests}"
