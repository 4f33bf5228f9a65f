"""What importing the facade says when it cannot stand in for anything."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from kgroup.compat import kafka_python
from kgroup.compat.pins import KAFKA_PYTHON as PIN

ROOT = Path(__file__).parents[3]


def import_again() -> None:
    """Run the module that is imported, as if it had not been yet."""
    assert kafka_python.__file__ is not None
    path = Path(kafka_python.__file__)
    spec = importlib.util.spec_from_file_location("kgroup_facade_again", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_without_kafka_python_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kafka.version", None)
    with pytest.raises(ImportError, match=r"kgroup\[kafka-python\]"):
        import_again()


@pytest.mark.parametrize("version", ["2.2.15", "3.1.0"])
def test_a_version_outside_the_pin_is_refused_with_the_ways_out(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr("kafka.version.__version__", version)
    with pytest.raises(ImportError) as caught:
        import_again()
    for words in (f"kafka-python {version} is installed", f"pip install '{PIN}'", PIN.instead):
        assert words in str(caught.value)


def test_the_pin_is_that_of_the_extra() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["optional-dependencies"]["kafka-python"] == [str(PIN)]
