"""A group too large for one worker is judged in shares, with the verdict of the whole."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kgroup.audit import Truth, audit, verdict_json
from kgroup.audit.oracles import at_least_once
from kgroup.spark.audit.fleet import Fleet
from kgroup.spark.audit.judge import Law
from kgroup.spark.audit.large import too_large
from tests.audit.histories import tp
from tests.spark.fleet import write_group, write_whole
from tests.spark.sieving.against import differences
from tests.spark.sieving.planted import FAULTS

pytestmark = pytest.mark.spark


def test_the_group_that_the_other_workers_would_wait_for_is_too_large() -> None:
    assert too_large({1: 500, 2: 100, 3: 100}, 3, 100) == [1]
    assert too_large({1: 500, 2: 500, 3: 500}, 3, 100) == []
    assert too_large({1: 500}, 3, 501) == []


def test_two_workers_judge_no_group_in_shares() -> None:
    assert too_large({1: 500}, 2, 100) == []
    assert too_large({1: 500}, 1, 100) == []


def test_a_large_group_has_the_verdict_of_the_whole(spark: Any, tmp_path: Path) -> None:
    write_group(tmp_path, "large", FAULTS["overlap"](Random(7), 1_000).entries)
    said: list[str] = []
    ends = {tp(0): 90_000}
    bounds = {tp(0): (0, 90_000)}
    law = Law(at_least_once=True, bounds=bounds)
    fleet = Fleet(spark, [tmp_path / "*.jsonl"], large=100, cores=3, say=said.append)
    (split,) = fleet.verdict(law).groups
    assert "group large is judged in 2 shares" in said
    whole = audit([tmp_path / "*.jsonl"], Truth(bounds=bounds), oracles=at_least_once(ends=ends))
    assert split.verdict == json.loads(json.dumps(verdict_json(whole)))
    assert not whole.clean


def test_a_group_whose_clock_goes_back_is_judged_as_a_whole(spark: Any, tmp_path: Path) -> None:
    path = write_whole(tmp_path, "back", FAULTS["lost"](Random(7), 300).entries)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:9], lines[10], lines[9], *lines[11:]]))
    assert list(differences(Fleet(spark, [path], large=100, cores=3).verdict(Law()))) == []
