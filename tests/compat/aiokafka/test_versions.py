"""Which versions of aiokafka the facade stands in for."""

import importlib
import tomllib
from pathlib import Path

import aiokafka
import pytest

import kgroup.compat.aiokafka
from kgroup.compat.pins import AIOKAFKA as PIN

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("version", ["0.13.0", "0.14.0", "0.14.1.dev3+g1234", "0.14"])
def test_a_version_within_the_pin_is_taken(version: str) -> None:
    PIN.check(version)


@pytest.mark.parametrize("version", ["0.12.9", "0.15.0", "0.15.0rc1", "1.0", "unknown", ""])
def test_a_version_outside_the_pin_is_refused_with_the_ways_out(version: str) -> None:
    with pytest.raises(ImportError) as caught:
        PIN.check(version)
    assert caught.value.name == "aiokafka"
    text = str(caught.value)
    assert f"aiokafka {version} is installed" in text
    assert "pip install 'aiokafka>=0.13,<0.15'" in text
    assert "kgroup.Consumer" in text


def test_the_import_itself_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiokafka, "__version__", "0.15.0")
    with pytest.raises(ImportError, match=r"aiokafka 0\.15\.0 is installed"):
        importlib.reload(kgroup.compat.aiokafka)


def test_the_pin_is_that_of_the_extra() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert str(PIN) in settings["project"]["optional-dependencies"]["aiokafka"]
