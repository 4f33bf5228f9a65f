"""A group too large for one worker is judged in shares, with the verdict of the whole."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kgroup.spark.audit.fleet import Fleet
from kgroup.spark.audit.judge import Law
from kgroup.spark.audit.large import too_large
from tests.audit.histories import tp
from tests.spark.fleet import write_group, write_whole
from tests.spark.sieving.planted import FAULTS

pytestmark = pytest.mark.spark


def test_the_group_that_the_other_workers_would_wait_for_is_too_large() -> None:
    assert too_large({1: 500, 2: 100, 3: 100}, 2, 100) == [1]
    assert too_large({1: 500, 2: 500, 3: 500}, 2, 100) == []
    assert too_large({1: 500}, 2, 501) == []
    assert too_large({1: 500}, 1, 100) == []


@pytest.mark.parametrize("law", [Law(), Law(at_least_once=True, bounds={tp(0): (0, 90_000)})])
def test_a_large_group_has_the_same_verdict_split_and_whole(
    law: Law, spark: Any, tmp_path: Path
) -> None:
    write_group(tmp_path, "large", FAULTS["overlap"](Random(7), 1_000).entries)
    said: list[str] = []
    whole = Fleet(spark, [tmp_path / "*.jsonl"]).verdict(law)
    split = Fleet(spark, [tmp_path / "*.jsonl"], large=100, say=said.append).verdict(law)
    assert "group large is judged in 2 shares" in said
    assert split == whole
    assert not whole.clean


def test_a_group_whose_clock_goes_back_is_judged_as_a_whole(spark: Any, tmp_path: Path) -> None:
    path = write_whole(tmp_path, "back", FAULTS["lost"](Random(7), 300).entries)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:9], lines[10], lines[9], *lines[11:]]))
    whole = Fleet(spark, [path]).verdict(Law())
    assert Fleet(spark, [path], large=100).verdict(Law()) == whole
