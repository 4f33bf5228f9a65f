"""The promises of an assignor as tests that pytest collects.

Decides: one test for each promise that binds the assignor, named after it.
Never: imports pytest before one of the tests runs.
"""

from collections.abc import Callable
from typing import Any

from kgroup.assignors.conformance.claimed import NO_CLAIMS, Claims
from kgroup.assignors.conformance.kit import EXAMPLES, hold, prepare, shares
from kgroup.assignors.conformance.promises import Promise
from kgroup.assignors.conformance.report import Report, Status
from kgroup.assignors.conformance.subject import Subject, Testable

__all__ = ["suite"]


def suite(
    assignor: Testable, *, claims: Claims = NO_CLAIMS, examples: int = EXAMPLES, seed: int = 0
) -> type:
    """Return a class of tests, one for each promise that binds an assignor.

    Bind it to a name that pytest collects, in a test file of your own::

        TestZone = conformance.suite(ZoneAssignor)

    Args:
        assignor: an instance, or a class or function that makes one without arguments.
        claims: what is claimed of it beyond what binds every assignor.
        examples: how many groups are drawn in all; odd ones that are not drawn come on top.
        seed: equal seeds draw equal groups, with the same versions of everything.

    Raises:
        ArgumentError: no assignor can be made, or examples is not positive.
        ConfigError: what is made has no usable name or protocols.
        MissingExtraError: Hypothesis is not installed.
    """
    subject = prepare(assignor, examples)
    tests = {
        promise.test_name: _test(promise, subject, claims, drawn, seed)
        for promise, drawn in shares(subject, claims, examples).items()
    }
    about = f"What the assignor {subject.name!r} promises."
    return type("Conformance", (), {"__doc__": about, **tests})


def _test(
    promise: Promise, subject: Subject, claims: Claims, examples: int, seed: int
) -> Callable[[Any], None]:
    def test(self: object) -> None:  # noqa: ARG001 - pytest calls it as a method
        __tracebackhide__ = True
        import pytest  # noqa: PLC0415 - it is running this

        outcome = hold(promise, subject, claims, examples=examples, seed=seed, tell=lambda _: None)
        report = Report(assignor=subject.name, claims=claims, seed=seed, outcomes=(outcome,))
        if outcome.status is Status.BROKEN:
            pytest.fail(report.text(), pytrace=False)
        if outcome.status is Status.NOT_JUDGED:
            pytest.skip(outcome.reason)

    test.__name__ = test.__qualname__ = promise.test_name
    test.__doc__ = f"{promise.says[0].upper()}{promise.says[1:]}."
    return test
