"""What importing the facade says when it cannot stand in for anything."""

import importlib.util
import sys
from pathlib import Path

import pytest

from kgroup.compat import kafka_python


def test_without_kafka_python_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kafka_python.__file__ is not None
    path = Path(kafka_python.__file__)
    spec = importlib.util.spec_from_file_location("kgroup_facade_again", path)
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setitem(sys.modules, "kafka.version", None)
    with pytest.raises(ImportError, match=r"kgroup\[kafka-python\]"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
