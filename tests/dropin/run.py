"""One pytest run of a peer's tests: what both plug-ins have in common.

Decides: the order. Before any file of the tree is imported: tree, versions and list are checked,
the class is put in place, the guard watches. Then the tests are sorted, limited and counted.
Never: changes a test; what the suite's own conftest would take from a container engine is taken out
of it, so that the fixtures of the same name in the plug-in are found.
"""

import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tests.dropin.guard import Guard, holdings
from tests.dropin.overtime import Overtime, time_limit
from tests.dropin.placing import CLASS_VARIABLE, Chosen, ClassError, choose, put
from tests.dropin.suite import ListError, Suite, read_suite
from tests.dropin.tally import Tally, as_json, report_lines
from tests.dropin.tree import TreeError, check_tree, installed_version

DEFAULT_LIMIT: Final = 75.0
# A test that is broken off by its own suite still has to close its consumers.
_TO_CLEAN_UP: Final = 45.0
# Before its first test a run starts a broker.
_TO_SET_UP: Final = 180.0
_ONE_LINE: Final = 200

RUN = pytest.StashKey["DropinRun"]()
"""Where a plug-in finds its run."""


def add_options(parser: pytest.Parser) -> None:
    """Make the options known.

    Raises:
        pytest.UsageError: two plug-ins of this kind are loaded.
    """
    group = parser.getgroup("drop-in", "a peer's tests with kgroup in place of its consumer")
    try:
        group.addoption(
            "--dropin-class",
            metavar="CLASS",
            help=f"facade, original, or package.module:Name (default: ${CLASS_VARIABLE} or facade)",
        )
    except ValueError:
        raise pytest.UsageError(
            "the tests of one peer at a time: load tests.dropin.aiokafka_plugin or "
            "tests.dropin.kafka_python_plugin, not both"
        ) from None
    group.addoption("--dropin-json", metavar="FILE", help="write the outcome there")
    group.addoption("--dropin-list", metavar="FILE", help="another list of tests")
    group.addoption("--dropin-kafka", metavar="VERSION", help="version of the Kafka to start")
    group.addoption(
        "--dropin-limit",
        metavar="SECONDS",
        type=float,
        default=DEFAULT_LIMIT,
        help="a test may take (default: %(default)g)",
    )


def begin(config: pytest.Config, the_list: Path, word: str, supplied: Sequence[str]) -> "DropinRun":
    """Check everything, put the class in place, and return the run.

    Called before the first conftest of the tree is imported.

    Args:
        config: of the pytest run.
        the_list: the suite's list when none is given.
        word: which class, as in `KGROUP_DROPIN`; an option wins.
        supplied: fixtures of the plug-in that stand for those of the tree's conftest.

    Raises:
        pytest.UsageError: something does not fit; the message says what.
    """
    options = config.known_args_namespace
    try:
        suite = read_suite(Path(options.dropin_list) if options.dropin_list else the_list)
        tree = check_tree(suite, config.rootpath)
        installed = installed_version(suite)
        chosen = choose(suite, options.dropin_class or word)
    except (ListError, TreeError, ClassError) as error:
        raise pytest.UsageError(f"drop-in: {error}") from error
    _check_origin(suite, config.rootpath)
    run = DropinRun(suite, chosen, config.rootpath, supplied)
    run.facts |= {"tree": tree, "installed": installed}
    run.limit = options.dropin_limit
    config.add_cleanup(run.undo.close)
    run.put_in_place()
    config.stash[RUN] = run
    config.pluginmanager.register(run, "kgroup-dropin")
    return run


def _check_origin(suite: Suite, root: Path) -> None:
    """The peer that is installed is tested, never the source beside its tests."""
    file = sys.modules[suite.original.module].__file__ or ""
    if Path(file).resolve().is_relative_to(root.resolve()) and "site-packages" not in file:
        raise pytest.UsageError(
            f"drop-in: {suite.peer} was imported from its source tree, {file}; run `pytest` or "
            "`python -P -m pytest`, so that the installed one is found"
        )


class DropinRun:
    """The hooks of one run.

    Args:
        suite: the tests.
        chosen: the class in place of the original.
        root: of the source tree.
        supplied: fixtures that stand for those of the tree's conftest.
    """

    def __init__(self, suite: Suite, chosen: Chosen, root: Path, supplied: Sequence[str]) -> None:
        self.suite = suite
        self.chosen = chosen
        self.root = root
        self.undo = ExitStack()
        self.limit = DEFAULT_LIMIT
        self.facts = {
            "peer": suite.peer,
            "class": chosen.name,
            "kgroup": version("kgroup"),
            "python": ".".join(map(str, sys.version_info[:3])),
            "kafka": "none was needed",
        }
        self._supplied = supplied
        self._guard = Guard(suite, root)
        self._tally = Tally(suite.portable)
        self._seen_before = 0

    def put_in_place(self) -> None:
        """Put the class where the tests import the original from, and watch."""
        for back in put(self.chosen, self.suite.places):
            self.undo.callback(back)
        if not self.chosen.is_original:
            self._guard.watch()
            self.undo.callback(self._guard.release)

    @pytest.hookimpl(tryfirst=True)  # before fixtures are looked for in it
    def pytest_plugin_registered(self, plugin: object) -> None:
        """Take the fixtures out of the tree's conftest that the plug-in has of its own."""
        file = getattr(plugin, "__file__", None)
        if file and Path(file).name == "conftest.py" and Path(file).is_relative_to(self.root):
            for name in self._supplied:
                if hasattr(plugin, name):
                    delattr(plugin, name)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Without files on the command line, run those of the list."""
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args[:] = [str(self.root / path) for path in self.suite.files]

    def pytest_report_header(self) -> str:
        """Say what is tested."""
        return f"drop-in: {self._which()} with {self.chosen.name}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Tell the tests apart and leave out what the list leaves out."""
        kept, left_out = [], []
        for item in items:
            file = item.path.relative_to(self.root).as_posix()
            name = getattr(item, "originalname", None) or item.name
            tests = self.suite.files.get(file)
            if tests is not None and name in tests:
                self._tally.left_out[item.nodeid] = tests[name]
                left_out.append(item)
                continue
            (self._tally.related if tests is None else self._tally.portable).add(item.nodeid)
            self._limit_by_itself(item)
            kept.append(item)
        items[:] = kept
        if left_out:
            config.hook.pytest_deselected(items=left_out)

    def _limit_by_itself(self, item: pytest.Item) -> None:
        """Have the suite break a test off in its own, gentler way, where it has one."""
        attribute, cls = self.suite.limit_attribute, getattr(item, "cls", None)
        if attribute and cls is not None:
            own = getattr(cls, attribute, self.limit)
            setattr(cls, attribute, min(own, self.limit))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Limit what stands before a test; what is built there is built for the test."""
        self._seen_before = len(self._guard.seen)
        yield from self._limited("setup", self.limit + _TO_SET_UP)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """Limit a test, and let it fail when the class leans on the original meanwhile."""
        by_itself = _TO_CLEAN_UP if self.suite.limit_attribute else 0.0
        yield from self._limited("test", self.limit + by_itself)
        leaned = self._guard.seen[self._seen_before :]
        if leaned:
            pytest.fail(f"leans on the original: {leaned[0]}", pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        """Limit what stands after a test."""
        yield from self._limited("teardown", self.limit)

    def _limited(self, phase: str, seconds: float) -> Generator[None, None, None]:
        try:
            with time_limit(seconds):
                yield
        except Overtime as error:
            pytest.fail(f"the {phase} was broken off: {error}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count."""
        why = _in_one_line(report) if report.outcome != "passed" else ""
        self._tally.note(report.nodeid, report.outcome, why, last=report.when == "teardown")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let a run fail when its class leans on the original, and write the outcome."""
        if self._leanings() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        file = session.config.getoption("dropin_json")
        if file:
            written = as_json(self.facts, self._tally, self._leanings())
            Path(session.config.invocation_params.dir, file).write_text(written, encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say "portable: P of N"."""
        terminalreporter.section("drop-in")
        facts = {self.suite.peer: self.facts["installed"]}
        facts |= {word: self.facts[word.lower()] for word in ("kgroup", "Python", "Kafka")}
        versions = ", ".join(f"{name} {version}" for name, version in facts.items())
        chosen = f"{self.chosen.name} ({versions})"
        for line in report_lines(self._which(), chosen, self._tally, self._leanings()):
            terminalreporter.write_line(line)

    def _which(self) -> str:
        return f"the tests of {self.suite.peer} {self.facts['tree']}"

    def _leanings(self) -> list[str]:
        if self.chosen.is_original:
            return []
        return [*dict.fromkeys(self._guard.seen), *holdings(self.suite)]


def _in_one_line(report: pytest.TestReport) -> str:
    """Return why a phase failed or was skipped."""
    match report.longrepr:
        case (_, _, str(reason)):
            why = reason.removeprefix("Skipped: ")
        case None:
            why = ""
        case other:
            crash = getattr(other, "reprcrash", None)
            why = str(other).splitlines()[-1] if crash is None else crash.message
    lines = why.strip().splitlines() or [""]
    where = f"in {report.when}: " if report.failed and report.when != "call" else ""
    return (where + lines[0])[:_ONE_LINE]
