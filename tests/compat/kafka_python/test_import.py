"""What importing the facade says when it cannot stand in for anything."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from kgroup.compat import kafka_python
from kgroup.compat.kafka_python.versions import PIN

ROOT = Path(__file__).parents[3]


def test_without_kafka_python_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kafka_python.__file__ is not None
    path = Path(kafka_python.__file__)
    spec = importlib.util.spec_from_file_location("kgroup_facade_again", path)
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setitem(sys.modules, "kafka.version", None)
    with pytest.raises(ImportError, match=r"kgroup\[kafka-python\]"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_the_pin_is_that_of_the_extra() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["optional-dependencies"]["kafka-python"] == [str(PIN)]
