"""The core gives every answer that real brokers gave to saved scripts, at the same instants."""

from pathlib import Path

import pytest

from tests.testing.differential.explained import judge
from tests.testing.differential.replay import play
from tests.testing.differential.report import describe
from tests.testing.differential.trace import Trace, load_traces

SAVED = sorted((Path(__file__).parent / "saved").glob("*.jsonl.gz"))
VERSIONS = [path.name.removesuffix(".jsonl.gz") for path in SAVED]
FEW = 5

each_version = pytest.mark.parametrize("path", SAVED, ids=VERSIONS)


def unexplained(trace: Trace) -> str | None:
    difference = judge(play(trace)).difference
    return None if difference is None else describe(difference)


@each_version
def test_the_core_answers_a_few_saved_scripts_as_the_real_broker_did(path: Path) -> None:
    for trace, _ in zip(load_traces(path), range(FEW), strict=False):
        assert (found := unexplained(trace)) is None, found


@pytest.mark.slow
@each_version
def test_the_core_answers_every_saved_script_as_the_real_broker_did(path: Path) -> None:
    traces = list(load_traces(path))
    assert len(traces) >= 150
    found = [text for trace in traces if (text := unexplained(trace)) is not None]
    assert not found, "\n\n".join(found)


def test_both_coordinators_have_saved_scripts() -> None:
    assert VERSIONS == ["3.9.1", "4.3.1"]
