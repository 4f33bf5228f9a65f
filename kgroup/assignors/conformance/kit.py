"""A run of the kit: all promises of one assignor, one after another.

Decides: how the examples are shared out among the promises that bind it; that each of these is one
test of a `suite`, named after the promise.
Never: imports Hypothesis or pytest before it is run, so that the package can be imported without.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final

from kgroup.assignors.conformance.promises import NO_CLAIMS, PROMISES, Claims, Promise, why_not
from kgroup.assignors.conformance.report import Outcome, Progress, Report, Status
from kgroup.assignors.conformance.subject import Subject, Testable, subject_of
from kgroup.errors import ArgumentError, MissingExtraError

EXAMPLES: Final = 10_000
"""Groups that are drawn in all."""


def run(
    assignor: Testable,
    claims: Claims = NO_CLAIMS,
    examples: int = EXAMPLES,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    seed: int = 0,
) -> Report:
    """Hold an assignor to all its promises.

    Args:
        assignor: an instance, or a class or function that makes one without arguments.
        claims: what is claimed of it beyond what binds every assignor.
        examples: how many groups are drawn in all; odd ones that are not drawn come on top.
        on_progress: called now and then, and with the outcome of each promise.
        seed: equal seeds draw equal groups, with the same versions of everything.

    Raises:
        ArgumentError: no assignor can be made, or examples is not positive.
        ConfigError: what is made has no usable name or protocols.
        MissingExtraError: Hypothesis is not installed.
    """
    subject = prepare(assignor, examples)
    shared = shares(subject, claims, examples)
    total, done, outcomes = sum(shared.values()), 0, []
    for promise in PROMISES:
        say = _teller(on_progress, promise, done, total)
        outcome = hold(
            promise, subject, claims, examples=shared.get(promise, 0), seed=seed, tell=say
        )
        done += shared.get(promise, 0)
        outcomes.append(outcome)
        if on_progress is not None:
            on_progress(Progress(promise=promise, done=done, total=total, outcome=outcome))
    return Report(assignor=subject.name, claims=claims, seed=seed, outcomes=tuple(outcomes))


def prepare(assignor: Testable, examples: int) -> Subject:
    """Return what can be tested; see `run`."""
    if examples < 1:
        raise ArgumentError("examples", examples, "at least 1")
    if find_spec("hypothesis") is None:
        raise MissingExtraError("the conformance kit", "testing")
    return subject_of(assignor)


def shares(subject: Subject, claims: Claims, examples: int) -> Mapping[Promise, int]:
    """Return how many examples are drawn for each promise that binds an assignor; at least 1."""
    bound = [promise for promise in PROMISES if why_not(promise, subject, claims) is None]
    whole = sum(promise.share for promise in bound)
    return {promise: max(1, examples * promise.share // whole) for promise in bound}


def hold(
    promise: Promise,
    subject: Subject,
    claims: Claims,
    *,
    examples: int,
    seed: int,
    tell: Callable[[int], None],
) -> Outcome:
    """Hold an assignor to one promise.

    Args:
        promise: the promise.
        subject: the assignor.
        claims: what is claimed of it.
        examples: how many cases are drawn.
        seed: from which they are drawn.
        tell: called now and then with how many cases there were.
    """
    unbound = why_not(promise, subject, claims)
    if unbound is not None:
        return Outcome(promise=promise, status=Status.NOT_BOUND, reason=unbound)
    # Only here: both need Hypothesis.
    from kgroup.assignors.conformance.checks import judge  # noqa: PLC0415
    from kgroup.assignors.conformance.hunting import Budget  # noqa: PLC0415

    return judge(promise, subject, claims, Budget(examples, seed, tell))


def _teller(
    on_progress: Callable[[Progress], None] | None, promise: Promise, before: int, total: int
) -> Callable[[int], None]:
    def tell(examples: int) -> None:
        if on_progress is not None:
            on_progress(Progress(promise=promise, done=before + examples, total=total))

    return tell


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
