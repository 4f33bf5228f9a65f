"""Rules of this repository's own test run.

Decides: with KGROUP_REQUIRE_REAL set (continuous integration sets it), a test marked `real` that
would be skipped fails. Without it an in-process broker may stand in for a real one; tests marked
`no_stand_in` are skipped then. Tests marked `docker` are skipped, and counted, where no container
engine runs. `tests.combinations` says which tests belong to which command.
A test on a real broker that fails runs again, and is named as UNSTEADY at the end of the run; more
than three such tests fail the run. No other test ever runs twice.
A test that hangs says where it is, after three to four minutes.
"""

import faulthandler
import gc
import os
import signal
import threading
import time
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

from tests.combinations import (
    FewClusters,
    first_on_real_brokers,
    mark_combinations,
    mark_searches,
)

# Two busy cores are no reason for a test to fail.
settings.register_profile("kgroup", deadline=None)
# Of the fast run; the whole run draws what is usual, and more where a test says so.
settings.register_profile("fast", deadline=None, max_examples=25)
settings.load_profile("kgroup")

REQUIRE_REAL = bool(os.environ.get("KGROUP_REQUIRE_REAL"))

_HANGS = 240.0
_LOOKS = 60.0
_FEW = 3
"""Most tests that may be the machine's fault; more are a fault of ours."""


class _Watch:
    """Has Python say where it is when it does not come back to it for long.

    Arming it for every test would start a thread for every test, and wait for the end of the one
    before: on a busy machine that takes longer than most tests.
    """

    def __init__(self) -> None:
        self._said_to = os.dup(2)
        self._armed_at = -_LOOKS

    def look(self) -> None:
        """Give it time again, if it was not given any a moment ago."""
        now = time.monotonic()
        if now - self._armed_at >= _LOOKS:
            faulthandler.dump_traceback_later(_HANGS, file=self._said_to)
            self._armed_at = now

    def end(self) -> None:
        """Nothing hangs any more."""
        faulthandler.cancel_dump_traceback_later()
        os.close(self._said_to)


_WATCH = pytest.StashKey[_Watch]()


def _hear_ctrl_c() -> None:
    """Let child processes hear SIGINT, which a shell ignores for what it runs in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    _hear_ctrl_c()
    config.stash[_WATCH] = _Watch()


def pytest_unconfigure(config: pytest.Config) -> None:
    if (watch := config.stash.get(_WATCH, None)) is not None:
        watch.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_combinations(items)
    mark_searches(items)
    first_on_real_brokers(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FewClusters | None:
    return FewClusters(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take what lives to the end of the run out of the way of the garbage collector."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_WATCH].look()
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
    if report.failed and (others := _other_threads()):
        report.sections.append(("Threads that ran, of this test or of one before it", others))
    return report


def _other_threads() -> str:
    """Name them: what an earlier test left running can make any later one fail."""
    mine = threading.current_thread()
    others = (str(each) for each in threading.enumerate() if each is not mine)
    # Threads of the plug-in that runs tests again are no trace of a test.
    return "\n".join(sorted(each for each in others if "run_server" not in each))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, pytest.CollectReport]:
    """A module that skips itself as a whole may hide tests on real brokers."""
    report: pytest.CollectReport = yield
    if REQUIRE_REAL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} skipped itself before its tests could be seen"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("rerun", ()):
        lines = report.longreprtext.strip().splitlines()
        where = [line for line in lines if line.startswith("tests/")]
        why = " < ".join([*lines[-1:], *reversed(where)])
        terminalreporter.write_line(f"UNSTEADY: {report.nodeid} failed and was run again: {why}")
        terminalreporter.write_line(report.longreprtext)


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None and len(_unsteady(reporter)) > _FEW:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _unsteady(reporter: pytest.TerminalReporter) -> list[str]:
    return sorted({report.nodeid for report in reporter.stats.get("rerun", ())})
