"""A run of a peer's tests: what is counted, left out, broken off, and what fails it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tests.dropin.suite import LISTS, read_suite

Run = Callable[..., pytest.RunResult]


def test_a_facade_is_counted_and_what_reads_its_insides_is_left_out(run: Run) -> None:
    ran = run()
    assert ran.ret == pytest.ExitCode.OK
    ran.assert_outcomes(passed=3, deselected=1)
    ran.stdout.fnmatch_lines(
        [
            "the tests of pytest 1.0 with facades.Good (pytest *, kgroup *, Python *, Kafka *)",
            "portable: 3 of 3",
            "left out: 1, each with its reason in the list",
        ]
    )


def test_the_original_is_run_for_comparison_and_may_build_what_it_likes(run: Run) -> None:
    ran = run("--dropin-class", "original")
    assert ran.ret == pytest.ExitCode.OK
    ran.stdout.fnmatch_lines(["* with peerlib.consumer.Consumer (*", "portable: 3 of 3"])


def test_the_environment_chooses_the_class_and_an_option_wins(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGROUP_DROPIN", "original")
    run().stdout.fnmatch_lines(["* with peerlib.consumer.Consumer (*"])
    run("--dropin-class", "facade").stdout.fnmatch_lines(["* with facades.Good (*"])


def test_a_failing_test_is_named_with_its_reason(run: Run) -> None:
    ran = run("--dropin-class", "facades:Worse")
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran.stdout.fnmatch_lines(
        ["portable: 2 of 3", "  failed: suite/test_consumer.py::test_name: *unknown*"]
    )


def test_a_test_whose_end_fails_has_not_passed(run: Run, tree: Path) -> None:
    conftest = tree / "suite" / "conftest.py"
    text = conftest.read_text(encoding="utf-8")
    conftest.write_text(text + '    raise RuntimeError("not closed")\n', encoding="utf-8")
    ran = run()
    ran.stdout.fnmatch_lines(
        ["portable: 2 of 3", "  failed: *test_the_client_closes: in teardown: *"]
    )


def test_what_was_not_run_is_not_counted_as_passed(run: Run) -> None:
    ran = run("-k", "topic")
    ran.stdout.fnmatch_lines(["portable: 1 of 3 (2 not run)"])


def test_a_skipped_test_has_not_passed_either(run: Run, tree: Path) -> None:
    tests = tree / "suite" / "test_consumer.py"
    text = tests.read_text(encoding="utf-8")
    marked = text.replace("def test_topic", '@pytest.mark.skip("no broker")\ndef test_topic')
    tests.write_text(marked, encoding="utf-8")
    ran = run()
    assert ran.ret == pytest.ExitCode.OK
    ran.stdout.fnmatch_lines(["portable: 2 of 3 (1 skipped)", "  skipped: *test_topic: no broker"])


def test_tests_of_other_files_count_for_themselves(run: Run, tree: Path) -> None:
    (tree / "suite" / "test_other.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
    ran = run("suite")
    ran.stdout.fnmatch_lines(["portable: 3 of 3", "related: 1 of 1"])


def test_a_thin_subclass_of_the_original_passes_nothing(run: Run) -> None:
    ran = run("--dropin-class", "facades:Thin")
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran.stdout.fnmatch_lines(
        ["portable: 0 of 3", "leans on the original: peerlib.consumer.Consumer was built*"]
    )


def test_a_facade_that_hides_its_use_of_the_original_fails_the_run(run: Run, site: Path) -> None:
    # As it would be in kgroup: the module's name says that it is ours.
    hidden = """
        __name__ = "kgroup.compat.hidden"
        import peerlib.client
        from facades import Good

        peerlib.client.Client()

        class Hidden(Good):
            pass
    """
    (site / "hidden.py").write_text(dedent(hidden), encoding="utf-8")
    (site / "late.py").write_text("def use():\n    import hidden\n", encoding="utf-8")
    late = """
        import pytest
        import late
        from peerlib import Consumer

        @pytest.fixture
        def closing():
            yield Consumer("t")
            late.use()
    """
    Path("suite/conftest.py").write_text(dedent(late), encoding="utf-8")
    ran = run()
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran.assert_outcomes(passed=3, deselected=1)
    ran.stdout.fnmatch_lines(
        [
            "portable: 3 of 3",
            "leans on the original: peerlib.client.Client was built, by kgroup.compat.hidden, *",
            "not to be counted*",
        ]
    )


def test_a_test_that_vanished_from_the_tree_ends_the_run(run: Run, tree: Path) -> None:
    tests = tree / "suite" / "test_consumer.py"
    text = tests.read_text(encoding="utf-8")
    tests.write_text(text.replace("test_private", "test_renamed"), encoding="utf-8")
    ran = run()
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*suite/test_consumer.py has no longer test_private*"])


def test_a_class_that_cannot_be_had_ends_the_run(run: Run) -> None:
    ran = run("--dropin-class", "facades:Missing")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*drop-in: facades.Missing cannot be had: AttributeError: *"])


def test_a_word_that_is_no_class_ends_the_run(run: Run) -> None:
    ran = run("--dropin-class", "orginal")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*is 'orginal'; it is facade, original, or the name of a class*"])


def test_both_plug_ins_at_once_end_the_run(run: Run) -> None:
    ran = run("-p", "tests.dropin.kafka_python_plugin")
    assert ran.ret != pytest.ExitCode.OK
    ran.stderr.fnmatch_lines(["*one peer at a time*"])


def test_a_test_that_hangs_is_broken_off_and_the_next_one_runs(run: Run, tree: Path) -> None:
    hanging = """
        import threading

        class TestIt:
            LIMIT = 120

            def test_the_limit(self):
                assert self.LIMIT == 0.1

        def test_hanging():
            try:
                threading.Event().wait(60)
            except Exception:
                pass

        def test_next():
            pass
    """
    (tree / "suite" / "test_consumer.py").write_text(dedent(hanging), encoding="utf-8")
    known = tree / "list.toml"
    text = known.read_text(encoding="utf-8").partition("test_private")[0]
    known.write_text(text.replace('limit_attribute = "LIMIT"', ""), encoding="utf-8")
    ran = run("--dropin-limit", "0.1")
    ran.stdout.fnmatch_lines(
        ["portable: 1 of 3", "  failed: *::test_hanging: *broken off: not done after 0.1 s*"]
    )


def test_a_suite_that_limits_its_tests_itself_gets_the_limit(run: Run, tree: Path) -> None:
    limited = """
        class TestIt:
            LIMIT = 120

            def test_the_limit(self):
                assert self.LIMIT == 7

        class TestQuick:
            LIMIT = 2

            def test_the_limit(self):
                assert self.LIMIT == 2

        def test_private():
            pass

        def test_plain():
            pass
    """
    (tree / "suite" / "test_consumer.py").write_text(dedent(limited), encoding="utf-8")
    run("--dropin-limit", "7").stdout.fnmatch_lines(["portable: 3 of 3"])


def test_the_fixtures_of_the_plug_in_stand_for_those_of_the_suite(run: Run, tree: Path) -> None:
    wanting = "def test_image(kafka_image, docker):\n    assert kafka_image == 'kgroup:3.9.1'\n"
    (tree / "suite" / "test_wanting.py").write_text(wanting, encoding="utf-8")
    ran = run("--dropin-kafka", "3.9.1", "suite/test_wanting.py")
    ran.stdout.fnmatch_lines(["related: 1 of 1"])


def test_the_outcome_is_written_as_json(run: Run, tree: Path) -> None:
    run("--dropin-class", "facades:Worse", "--dropin-json", "report.json")
    report = json.loads((tree / "report.json").read_text(encoding="utf-8"))
    assert (report["peer"], report["tree"], report["class"]) == ("pytest", "1.0", "facades.Worse")
    assert (report["portable"]["passed"], report["portable"]["of"]) == (2, 3)
    assert [*report["portable"]["failed"]] == ["suite/test_consumer.py::test_name"]
    assert report["left_out"] == {"suite/test_consumer.py::test_private": "reads consumer._client"}
    assert report["leans_on_the_original"] == []


def test_everything_is_put_back_after_the_run(run: Run, site: Path) -> None:
    import peerlib.consumer  # type: ignore[import-not-found]  # noqa: PLC0415 - only here

    constructor = peerlib.consumer.Consumer.__init__
    run().assert_outcomes(passed=3, deselected=1)
    assert sys.modules["peerlib"].Consumer is peerlib.consumer.Consumer
    assert peerlib.consumer.Consumer.__init__ is constructor


@pytest.mark.parametrize(
    ("name", "portable", "left_out"), [("aiokafka.toml", 56, 21), ("kafka_python.toml", 12, 5)]
)
def test_the_lists_of_this_package_can_be_read(name: str, portable: int, left_out: int) -> None:
    suite = read_suite(LISTS / name)
    assert suite.portable == portable
    assert sum(map(len, suite.files.values())) == left_out
