"""What a suite is lent for one run, and given back."""

import importlib
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from tests.dropin.lent import lend_module, lend_test_package, lend_variables, yield_name
from tests.dropin.servers import version_of


def test_a_variable_that_is_set_stays_and_another_one_goes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KGROUP_TEST_SET", "here")
    with ExitStack() as undo:
        lend_variables(undo, {"KGROUP_TEST_SET": "lent", "KGROUP_TEST_UNSET": "lent"})
        assert os.environ["KGROUP_TEST_SET"] == "here"
        assert os.environ["KGROUP_TEST_UNSET"] == "lent"
    assert "KGROUP_TEST_UNSET" not in os.environ


def test_a_module_that_stood_there_is_found_again() -> None:
    before = ModuleType("kgroup_lent")
    with ExitStack() as outer:
        lend_module(outer, before)
        with ExitStack() as undo:
            lend_module(undo, ModuleType("kgroup_lent"))
            assert sys.modules["kgroup_lent"] is not before
        assert sys.modules["kgroup_lent"] is before
    assert "kgroup_lent" not in sys.modules


def test_an_archive_of_kafka_python_has_the_tests_package_that_it_leaves_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "testutil.py").write_text("HERE = True\n", encoding="utf-8")
    try:
        with ExitStack() as undo:
            lend_test_package(undo, tmp_path)
            assert importlib.import_module("test.testutil").HERE
            service = importlib.import_module("test.service").ExternalService("host", 9092)
            assert (service.host, service.port) == ("host", 9092)
    finally:
        sys.modules.pop("test.testutil", None)
    assert "test.service" not in sys.modules


def test_a_package_of_the_tree_is_found_in_place_of_ours_with_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = ModuleType("kgroup_same_name")
    monkeypatch.setitem(sys.modules, "kgroup_same_name", ours)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "kgroup_same_name").mkdir()
    (tmp_path / "kgroup_same_name" / "__init__.py").write_text("PEER = True\n", encoding="utf-8")
    with ExitStack() as undo:
        yield_name(undo, "kgroup_same_name", tmp_path)
        assert importlib.import_module("kgroup_same_name").PEER
    assert sys.modules["kgroup_same_name"] is ours


def test_a_whole_tree_is_lent_nothing(tmp_path: Path) -> None:
    for name in ("__init__.py", "service.py"):
        (tmp_path / name).touch()
    before = sys.modules.get("test")
    with ExitStack() as undo:
        lend_test_package(undo, tmp_path)
        assert sys.modules.get("test") is before


def test_tests_get_the_version_that_was_asked_for_or_given() -> None:
    assert version_of("3.9.1", {"KAFKA_VERSION": "4.0.0"}) == "3.9.1"
    assert version_of(None, {"KAFKA_VERSION": "4.0.0"}) == "4.0.0"
    assert version_of(None, {}).startswith("4.")
