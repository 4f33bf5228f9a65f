"""Faults planted in the member are found by drawn rooms."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.marshal.room.planted import PLANTED

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.name)
def test_every_planted_fault_applies_to_the_present_source(planted: object) -> None:
    assert planted in PLANTED
    found = next(each for each in PLANTED if each == planted)
    source = (ROOT / f"kgroup/marshal/{found.module}.py").read_text(encoding="utf-8")
    assert source.count(found.old) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PLANTED)), ids=lambda n: PLANTED[n].name)
def test_a_planted_fault_is_found(number: int) -> None:
    words = [sys.executable, "-m", "tests.marshal.room.planted", str(number)]
    ran = subprocess.run(
        [*words, str(PLANTED[number].seed), "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
