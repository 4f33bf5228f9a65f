"""The suite, as pytest sees it in a test file of an author's."""

import pytest

from kgroup.assignors.conformance import Claims, suite
from tests.assignors.conformance.wrong import Decent, Stamps
from tests.assignors.conformance.wrong_rounds import HandsOverAtOnce

AUTHORS = """
from kgroup.assignors import conformance
from tests.assignors.conformance.wrong import Decent, ForgetsTheLast

TestDecent = conformance.suite(Decent, examples=25)
TestForgetful = conformance.suite(ForgetsTheLast, examples=100)
"""


def names(made):
    return {name for name in vars(made) if name.startswith("test_")}


def test_each_promise_that_binds_is_a_test_of_its_own():
    plain = names(suite(Decent))
    assert "test_no_partition_is_given_twice" in plain
    claimed = names(suite(Decent, claims=Claims(balance=1)))
    assert claimed - plain == {"test_with_equal_subscriptions_sizes_differ_no_more_than_claimed"}
    assert names(suite(Stamps)) - plain == {"test_user_data_is_stable_bytes_that_it_reads_itself"}
    assert names(suite(HandsOverAtOnce)) - plain == {
        "test_nothing_is_handed_over_before_it_was_revoked",
        "test_the_rounds_end_soon_after_a_single_change",
    }


@pytest.mark.slow
def test_one_line_is_collected_and_a_broken_promise_fails_without_a_traceback(pytester):
    pytester.makepyfile(AUTHORS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", "-rf")
    result.assert_outcomes(passed=2 * len(names(suite(Decent))) - 1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*breaks a promise: every partition is given or listed as withheld",
            "*is neither given nor listed as withheld",
            "*group = GroupSubscription(",
            "*seed 0*",
            "FAILED *::TestForgetful::test_every_partition_is_given_or_listed_as_withheld*",
        ]
    )
    result.stdout.no_fnmatch_line("*Error*")
    result.stdout.no_fnmatch_line("*hunting.py*")


@pytest.mark.slow
def test_what_cannot_be_judged_is_skipped_with_the_reason(pytester):
    pytester.makepyfile(
        """
        from kgroup.assignors import conformance
        from tests.assignors.conformance.wrong import Decent

        TestMade = conformance.suite(lambda: Decent(), examples=1)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", "-rs")
    result.assert_outcomes(passed=len(names(suite(Decent))) - 1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*another process cannot be asked*"])


@pytest.mark.slow
def test_a_suite_of_what_needs_arguments_fails_when_it_is_collected(pytester):
    pytester.makepyfile(
        """
        from kgroup.assignors import conformance

        TestPath = conformance.suite(type("Zoned", (), {"__init__": lambda self, zones: None}))
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*something that makes an assignor without arguments*"])
