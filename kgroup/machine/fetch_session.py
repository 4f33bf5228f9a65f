"""What one broker knows of what is wanted, and what the next Fetch must tell it (KIP-227).

Decides: whether the next Fetch begins a session or goes on in it; which partitions it names as new,
changed or forgotten; which question each row of an answer belongs to; when a session is over.
Never: sends anything, or looks at partitions that did not change.

1. A full Fetch (epoch 0) names all that is wanted; its answer grants a session, or none (id 0: the
broker's slots are taken), and the next Fetch is full again. 2. In a session a Fetch names what has
changed; an answer leaves out what there is nothing new about. 3. The session is over when the
broker refuses it, when an answer is lost, and when an answer shows that the two differ. The next
Fetch is full, and names the session that it takes the place of.

A session says either ids or names of topics (KIP-516). One by names says with each Fetch that it
is: it names a topic without an id, and none of its partitions.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import Final, Generic, TypeVar

from kgroup.codes import ErrorCode
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    FetchPartition,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kgroup.wire.vocabulary import ZERO_UUID

Q = TypeVar("Q")

_FULL: Final = 0
"""Epoch of a Fetch that names everything; its answer may begin a session."""
_FIRST: Final = 1
_LAST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Wanted(Generic[Q]):
    """What is wanted of one partition.

    Args:
        claim: the period of ownership it is wanted for.
        topic_id: of its topic, zero when it is not known.
        row: offset, epochs and limit.
        question: what an answer is held against; a row with another question is sent again.
        turn: full requests name the lowest first.
    """

    claim: Claim
    topic_id: bytes
    row: FetchPartition
    question: Q
    turn: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Ask(Generic[Q]):
    """One Fetch, as far as its session decides it.

    Args:
        session_id: of the session it goes on in or puts an end to; 0 for none.
        session_epoch: 0 in a full one.
        topics: rows that are new or changed; of a full one, all.
        forgotten: partitions that leave the session.
        named: what stands in `topics`.
    """

    session_id: int
    session_epoch: int
    topics: tuple[FetchTopic, ...]
    forgotten: tuple[ForgottenTopic, ...]
    named: tuple[Wanted[Q], ...]


@dataclass(frozen=True, slots=True)
class Taken(Generic[Q]):
    """What an answer says.

    Args:
        rows: each part of it with the question it belongs to; the first of doubles counts.
        refused: whether it is an error that a full Fetch, sent at once, recovers from.
        relearn: whether topic ids are to be asked for again.
    """

    rows: tuple[tuple[Q, PartitionData], ...] = ()
    refused: bool = False
    relearn: bool = False


class FetchSession(Generic[Q]):
    """The session of one consumer with one broker; at most one Fetch of it is in flight."""

    __slots__ = ("_changed", "_epoch", "_id", "_ids", "_label", "_names", "_told", "_wanted")

    def __init__(self) -> None:
        self._id = 0
        self._epoch = _FULL
        self._wanted: dict[TopicPartition, Wanted[Q]] = {}
        self._told: dict[TopicPartition, Wanted[Q]] = {}
        self._changed: dict[TopicPartition, None] = {}
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        self._label: str | None = None
        """A topic without an id, in a session by names."""

    # -- what is wanted now ----------------------------------------------------------------

    @property
    def wants(self) -> bool:
        """Whether there is anything to ask for."""
        return bool(self._wanted)

    @property
    def questions(self) -> tuple[Q, ...]:
        """All that is wanted."""
        return tuple(each.question for each in self._wanted.values())

    def want(self, wanted: Wanted[Q]) -> None:
        """Want a partition, or something else of it than before."""
        tp = wanted.claim.tp
        if self._wanted.get(tp) != wanted:
            self._wanted[tp] = wanted
            self._changed[tp] = None

    def drop(self, claim: Claim) -> None:
        """Want nothing of a claim any more."""
        known = self._wanted.get(claim.tp)
        if known is not None and known.claim == claim:
            del self._wanted[claim.tp]
            self._changed[claim.tp] = None

    # -- asking ----------------------------------------------------------------------------

    def ask(self) -> Ask[Q]:
        """Return the next Fetch; the one before it was answered (`take`) or lost (`renew`)."""
        if self._epoch != _FULL and any(map(self._breaks, self._changed)):
            self.renew()
        return self._all() if self._epoch == _FULL else self._changes()

    def _breaks(self, tp: TopicPartition) -> bool:
        """Tell whether the session cannot take a partition in as it is wanted now.

        Another claim must hear the ends of the log, which the broker has sent to the former one.
        """
        wanted, told = self._wanted.get(tp), self._told.get(tp)
        if wanted is None:
            return False
        if told is not None and told.claim != wanted.claim:
            return True
        if self._label is None and wanted.topic_id == ZERO_UUID:
            return True
        return self._ids.get(tp.topic, wanted.topic_id) != wanted.topic_id

    def _all(self) -> Ask[Q]:
        named = sorted(self._wanted.values(), key=lambda each: each.turn)
        self._told = {each.claim.tp: each for each in named}
        self._ids, self._names, self._label = {}, {}, None
        self._learn(named)
        self._changed.clear()
        return Ask(self._id, _FULL, self._topics(named), (), tuple(named))

    def _changes(self) -> Ask[Q]:
        named: list[Wanted[Q]] = []
        gone: dict[str, list[int]] = {}
        for tp in self._changed:
            wanted = self._wanted.get(tp)
            if wanted is None:
                if self._told.pop(tp, None) is not None:
                    gone.setdefault(tp.topic, []).append(tp.partition)
            elif self._told.get(tp) != wanted:
                self._told[tp] = wanted
                named.append(wanted)
        self._changed.clear()
        self._learn(named)
        forgotten = tuple(
            ForgottenTopic(topic=topic, topic_id=self._ids[topic], partitions=tuple(numbers))
            for topic, numbers in gone.items()
        )
        return Ask(self._id, self._epoch, self._topics(named), forgotten, tuple(named))

    def _learn(self, named: Iterable[Wanted[Q]]) -> None:
        for each in named:
            topic, topic_id = each.claim.tp.topic, each.topic_id
            self._ids[topic] = topic_id
            if topic_id == ZERO_UUID:
                self._label = topic
            else:
                self._names[topic_id] = topic

    def _topics(self, named: Iterable[Wanted[Q]]) -> tuple[FetchTopic, ...]:
        rows: dict[str, list[FetchPartition]] = {}
        for each in named:
            rows.setdefault(each.claim.tp.topic, []).append(each.row)
        if self._label is not None:
            rows.setdefault(self._label, [])
        return tuple(
            FetchTopic(topic=topic, topic_id=self._ids[topic], partitions=tuple(partitions))
            for topic, partitions in rows.items()
        )

    # -- answers ---------------------------------------------------------------------------

    def take(self, answer: FetchResponse) -> Taken[Q]:
        """Take the answer to the latest Fetch in."""
        code = answer.error_code
        if code:
            named = self._epoch != _FULL
            if code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = 0
            self.renew()
            ids = (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, ErrorCode.INCONSISTENT_TOPIC_ID)
            return Taken(refused=named and code in _OF_A_SESSION, relearn=code in ids)
        rows, strangers = self._match(answer)
        if self._epoch == _FULL:
            self._begin(max(answer.session_id, 0), rows)
        elif answer.session_id == self._id:
            self._epoch = _FIRST if self._epoch == _LAST else self._epoch + 1
        else:
            # It was closed, or is another one's.
            self._id = max(answer.session_id, 0)
            self.renew()
        if strangers:
            self.renew()
        return Taken(tuple((each.question, data) for each, data in rows.values()))

    def renew(self) -> None:
        """End the session: the next Fetch is full; also for an answer that will not be taken."""
        self._epoch = _FULL

    def _match(
        self, answer: FetchResponse
    ) -> tuple[dict[TopicPartition, tuple[Wanted[Q], PartitionData]], bool]:
        """Return the rows that were asked for, and whether there are others."""
        rows: dict[TopicPartition, tuple[Wanted[Q], PartitionData]] = {}
        strangers = False
        for topic in answer.responses:
            name = topic.topic or self._names.get(topic.topic_id, "")
            for data in topic.partitions:
                tp = TopicPartition(name, data.partition_index)
                told = self._told.get(tp)
                if told is None:
                    strangers = True
                else:
                    rows.setdefault(tp, (told, data))
        return rows, strangers

    def _begin(self, session_id: int, answered: Iterable[TopicPartition]) -> None:
        """Begin the session that was granted; it holds what the answer holds."""
        self._id = session_id
        if session_id == 0:
            return
        self._epoch = _FIRST
        asked, self._told = self._told, {tp: self._told[tp] for tp in answered}
        self._changed.update((tp, None) for tp in asked if tp not in self._told)


_OF_A_SESSION: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Errors of an answer as a whole that are about its session."""
