"""Rules of this repository's own test run: no unproved green, and skips that are counted.

With KGROUP_REQUIRE_REAL set (continuous integration does), a test marked `real` that would be
skipped fails. Without it an in-process broker may stand in for a real one; a test marked
`no_stand_in` is skipped then. Tests marked `docker` are skipped, and counted, where no container
engine runs.
"""

import gc
import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

# Two busy cores are no reason for a test to fail.
settings.register_profile("kgroup", deadline=None)
settings.load_profile("kgroup")

REQUIRE_REAL = bool(os.environ.get("KGROUP_REQUIRE_REAL"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take what lives to the end of the run out of the way of the garbage collector."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("docker"):
        # Only here: most runs need nothing of the broker supply.
        from kgroup.testing.kafka.container import engine_runs  # noqa: PLC0415

        if not engine_runs():
            pytest.skip("docker: no container engine runs here")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    marker = item.get_closest_marker("no_stand_in")
    brokers = getattr(item, "funcargs", {}).values()
    if marker and any(getattr(value, "kind", None) == "in-process" for value in brokers):
        pytest.skip(f"in-process broker: {marker.args[0]}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    unproved = report.skipped and not hasattr(report, "wasxfail")
    if REQUIRE_REAL and unproved and item.get_closest_marker("real"):
        reason = call.excinfo.value if call.excinfo else "no reason given"
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} must run on a real broker here, but: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, pytest.CollectReport]:
    """A module that skips itself as a whole may hide tests on real brokers."""
    report: pytest.CollectReport = yield
    if REQUIRE_REAL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} skipped itself before its tests could be seen"
    return report
