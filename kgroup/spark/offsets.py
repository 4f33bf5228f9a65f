"""The offset of a streaming query as Spark keeps it: JSON in the checkpoint.

Decides: that an offset says all of its batch: from where to where of each partition, of which topic
id, by which query. A batch can be read again from it alone.
Never: has two texts for one value: Spark compares texts. Keys are sorted.

    {"v": 1, "q": "5f1c...", "b": 12, "t": {"orders": {"id": "9b..", "p": {"0": [40, 90]}}}}
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from kgroup.errors import KGroupError
from kgroup.types import TopicPartition
from kgroup.values import dataclass

FORM: Final = 1
"""Of the JSON; a newer one is refused."""

Span = tuple[int, int]
"""From an offset to the one behind the last."""


class CheckpointError(KGroupError):
    """A checkpoint is not of this query as it is now.

    Args:
        what: is wrong, and what to do.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"the checkpoint cannot be used: {what}")


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The end of one micro-batch.

    Args:
        query: id of the query, the same as long as its checkpoint lives.
        batch: number of the micro-batch that it ends, 0 before the first.
        spans: partition -> what of it is in the batch; from and to are equal where that is nothing.
        topic_ids: topic -> its id as hexadecimal digits; without those of old brokers.
        fences: partition -> what fences its owner, the offset of a claim; Marshal only, if asked.
    """

    query: str
    batch: int = 0
    spans: Mapping[TopicPartition, Span] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    fences: Mapping[TopicPartition, int] = field(default_factory=dict)

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Partition -> offset behind the batch."""
        return {tp: end for tp, (_, end) in self.spans.items()}

    def to_json(self) -> dict[str, Any]:
        """Return what Spark keeps."""
        topics: dict[str, Any] = {}
        for tp in sorted(self.spans):
            row = topics.setdefault(tp.topic, {"id": self.topic_ids.get(tp.topic), "p": {}})
            fence = [self.fences[tp]] if tp in self.fences else []
            row["p"][str(tp.partition)] = [*self.spans[tp], *fence]
        return {"b": self.batch, "q": self.query, "t": topics, "v": FORM}

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> "StreamOffset":
        """Read what Spark kept.

        Raises:
            CheckpointError: it is of another source, or of a newer version.
        """
        if given.get("v") != FORM:
            known = f"form {given['v']!r} of a newer kgroup" if "v" in given else "another source"
            raise CheckpointError(f"it is of {known}; a new checkpoint begins anew")
        spans: dict[TopicPartition, Span] = {}
        ids: dict[str, str] = {}
        fences: dict[TopicPartition, int] = {}
        for topic, row in given["t"].items():
            if row["id"] is not None:
                ids[topic] = row["id"]
            for number, (begin, end, *fence) in row["p"].items():
                tp = TopicPartition(topic, int(number))
                spans[tp] = (begin, end)
                if fence:
                    fences[tp] = fence[0]
        return StreamOffset(given["q"], given["b"], spans, ids, fences)
