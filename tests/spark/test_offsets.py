"""The JSON of a checkpoint: one text for one value, and all of a batch in it."""

import json

import pytest

from kgroup.spark.offsets import CheckpointError, StreamOffset
from kgroup.types import TopicPartition

A, B, C = TopicPartition("t", 0), TopicPartition("t", 10), TopicPartition("s", 2)
OFFSET = StreamOffset("5f1c", 3, {B: (4, 9), A: (0, 7), C: (2, 2)}, {"t": "aa", "s": "bb"})


def test_an_offset_comes_back_from_its_text() -> None:
    assert StreamOffset.from_json(json.loads(json.dumps(OFFSET.to_json()))) == OFFSET


def test_equal_offsets_have_equal_texts() -> None:
    other = StreamOffset("5f1c", 3, dict(sorted(OFFSET.spans.items())), {"s": "bb", "t": "aa"})
    assert json.dumps(other.to_json()) == json.dumps(OFFSET.to_json())


def test_the_text_is_what_earlier_versions_wrote() -> None:
    assert json.dumps(OFFSET.to_json()) == (
        '{"b": 3, "q": "5f1c", "t": {"s": {"id": "bb", "p": {"2": [2, 2]}}, '
        '"t": {"id": "aa", "p": {"0": [0, 7], "10": [4, 9]}}}, "v": 1}'
    )


def test_fences_are_kept_for_a_batch_that_is_run_again() -> None:
    offset = StreamOffset("q", 1, {A: (0, 1), B: (3, 3)}, fences={A: 2**40})
    assert StreamOffset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


def test_a_topic_without_an_id_stays_without() -> None:
    offset = StreamOffset("q", 1, {A: (0, 1)})
    assert StreamOffset.from_json(offset.to_json()) == offset


def test_the_ends_are_where_the_next_batch_begins() -> None:
    assert OFFSET.ends == {A: 7, B: 9, C: 2}


@pytest.mark.parametrize(
    ("given", "says"), [({"v": 2}, "newer kgroup"), ({"t": {"0": 5}}, "another source")]
)
def test_a_checkpoint_of_another_source_or_a_newer_form_is_refused(
    given: dict[str, object], says: str
) -> None:
    with pytest.raises(CheckpointError, match=says):
        StreamOffset.from_json(given)
