"""What a Fetch says of a session, and what its answer means for it (KIP-227)."""

import random
from dataclasses import dataclass, field

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.fetch_session import Ask, FetchSession, Wanted
from kgroup.types import Claim, TopicPartition
from kgroup.wire.messages import (
    FetchableTopicResponse,
    FetchPartition,
    FetchResponse,
    PartitionData,
)
from kgroup.wire.vocabulary import ZERO_UUID

ID = b"t" * 16
A, B, C = (TopicPartition("t", number) for number in range(3))
U = TopicPartition("u", 0)
IDS = {"t": ID, "u": b"u" * 16}


def claim(tp: TopicPartition, generation: int = 1) -> Claim:
    return Claim(tp, generation)


def wanted(
    tp: TopicPartition,
    offset: int = 0,
    *,
    generation: int = 1,
    topic_id: bytes | None = None,
    question: str | None = None,
    turn: int = 0,
) -> Wanted[str]:
    """Return what is wanted of a partition; by default the question names both."""
    row = FetchPartition(partition=tp.partition, fetch_offset=offset, partition_max_bytes=1)
    asked = f"{tp}@{offset}" if question is None else question
    id_ = IDS[tp.topic] if topic_id is None else topic_id
    return Wanted(claim(tp, generation), id_, row, asked, turn)


def answer(
    *tps: TopicPartition, session_id: int = 7, error_code: int = 0, by_id: bool = True
) -> FetchResponse:
    topics = [
        FetchableTopicResponse(
            topic="" if by_id else tp.topic,
            topic_id=IDS[tp.topic] if by_id else ZERO_UUID,
            partitions=(
                PartitionData(
                    partition_index=tp.partition,
                    high_watermark=0,
                    aborted_transactions=None,
                    records=b"",
                ),
            ),
        )
        for tp in tps
    ]
    return FetchResponse(session_id=session_id, error_code=error_code, responses=tuple(topics))


def begun(*tps: TopicPartition) -> FetchSession[str]:
    """Return session 7, which holds partitions at offset 0."""
    session = FetchSession[str]()
    for tp in tps:
        session.want(wanted(tp))
    session.ask()
    session.take(answer(*tps))
    return session


def named(ask: Ask[str]) -> dict[TopicPartition, int]:
    """Return the offsets a Fetch names."""
    return {
        TopicPartition(topic.topic, row.partition): row.fetch_offset
        for topic in ask.topics
        for row in topic.partitions
    }


def forgotten(ask: Ask[str]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, n) for each in ask.forgotten for n in each.partitions]


def place(ask: Ask[str]) -> tuple[int, int]:
    return ask.session_id, ask.session_epoch


def test_the_first_fetch_names_everything_lowest_turn_first() -> None:
    session = FetchSession[str]()
    for tp, turn in ((A, 2), (B, 0), (C, 1)):
        session.want(wanted(tp, turn=turn))
    ask = session.ask()
    assert (place(ask), list(named(ask))) == ((0, 0), [B, C, A])


def test_in_a_session_a_fetch_names_what_changed() -> None:
    session = begun(A, B)
    session.want(wanted(A))
    session.want(wanted(B, 5))
    session.want(wanted(U))
    ask = session.ask()
    assert (place(ask), named(ask), forgotten(ask)) == ((7, 1), {B: 5, U: 0}, [])


def test_a_fetch_of_a_session_in_which_nothing_changed_names_nothing() -> None:
    session = begun(A, B)
    for epoch in (1, 2, 3):
        ask = session.ask()
        assert (place(ask), ask.topics, ask.forgotten) == ((7, epoch), (), ())
        session.take(answer())


def test_a_position_that_is_put_where_it_was_is_sent_when_the_question_is_another() -> None:
    session = begun(A)
    session.want(wanted(A, question="sought"))
    assert named(session.ask()) == {A: 0}


def test_what_is_wanted_no_more_is_forgotten_once() -> None:
    session = begun(A, B)
    session.drop(claim(A))
    assert forgotten(session.ask()) == [A]
    session.take(answer())
    assert forgotten(session.ask()) == []


def test_what_is_dropped_and_wanted_again_in_between_is_not_mentioned() -> None:
    session = begun(A, B)
    session.drop(claim(A))
    session.want(wanted(A))
    ask = session.ask()
    assert (named(ask), forgotten(ask)) == ({}, [])


def test_the_claim_before_cannot_drop_what_the_next_one_wants() -> None:
    session = begun(A)
    session.want(wanted(A, generation=2))
    session.drop(claim(A, 1))
    assert session.wants


def test_another_claim_of_a_partition_begins_a_new_session() -> None:
    session = begun(A, B)
    session.drop(claim(A))
    session.want(wanted(A, generation=2))
    ask = session.ask()
    assert (place(ask), named(ask)) == ((7, 0), {A: 0, B: 0})


def test_rows_of_an_answer_go_with_the_questions_that_were_asked() -> None:
    session = begun(A, B)
    session.want(wanted(B, 5))
    session.ask()
    session.want(wanted(B, 9))
    taken = session.take(answer(A, B, B))
    assert [question for question, _ in taken.rows] == [f"{A}@0", f"{B}@5"]
    assert named(session.ask()) == {B: 9}


def test_a_broker_that_grants_no_session_gets_everything_each_time() -> None:
    session = FetchSession[str]()
    session.want(wanted(A))
    for _ in range(3):
        ask = session.ask()
        assert (place(ask), named(ask)) == ((0, 0), {A: 0})
        assert len(session.take(answer(A, session_id=0)).rows) == 1


def test_what_the_first_answer_leaves_out_is_sent_again() -> None:
    session = FetchSession[str]()
    session.want(wanted(A))
    session.want(wanted(B))
    session.ask()
    session.take(answer(A))
    assert named(session.ask()) == {B: 0}


def test_after_the_largest_epoch_comes_1() -> None:
    session = begun(A)
    session._epoch = 2**31 - 1
    session.ask()
    session.take(answer())
    assert place(session.ask()) == (7, 1)


# -- ends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "next_id", "relearn"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, False),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7, False),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 7, True),
        (ErrorCode.INCONSISTENT_TOPIC_ID, 7, True),
    ],
)
def test_a_session_that_is_refused_is_followed_by_a_full_fetch_at_once(
    code: ErrorCode, next_id: int, relearn: bool
) -> None:
    session = begun(A, B)
    session.want(wanted(B, 5))
    session.ask()
    taken = session.take(answer(session_id=0, error_code=code))
    assert (taken.refused, taken.relearn, taken.rows) == (True, relearn, ())
    ask = session.ask()
    assert (place(ask), named(ask)) == ((next_id, 0), {A: 0, B: 5})


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_FETCH_SESSION_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR]
)
def test_an_error_of_a_full_fetch_is_not_the_sessions(code: ErrorCode) -> None:
    session = FetchSession[str]()
    session.want(wanted(A))
    session.ask()
    assert not session.take(answer(session_id=0, error_code=code)).refused


def test_an_error_of_the_broker_ends_the_session_but_is_not_the_sessions() -> None:
    session = begun(A)
    session.ask()
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    assert not session.take(answer(session_id=0, error_code=code)).refused
    assert place(session.ask()) == (7, 0)


def test_a_fetch_whose_answer_is_lost_is_followed_by_a_full_one_that_ends_the_session() -> None:
    session = begun(A, B)
    session.want(wanted(B, 5))
    session.ask()
    session.renew()
    ask = session.ask()
    assert (place(ask), named(ask)) == ((7, 0), {A: 0, B: 5})


def test_a_session_that_the_broker_closes_is_begun_anew() -> None:
    session = begun(A)
    session.ask()
    session.take(answer(session_id=0))
    assert place(session.ask()) == (0, 0)


def test_an_answer_with_a_partition_that_was_not_asked_for_ends_the_session() -> None:
    session = begun(A)
    session.ask()
    taken = session.take(answer(C, A))
    assert [question for question, _ in taken.rows] == [f"{A}@0"]
    assert place(session.ask()) == (7, 0)


# -- ids and names ---------------------------------------------------------------------------------


def test_a_topic_that_was_made_anew_begins_a_new_session() -> None:
    session = begun(A, U)
    session.want(wanted(A, topic_id=b"n" * 16))
    ask = session.ask()
    assert (place(ask), {row.topic_id for row in ask.topics}) == ((7, 0), {b"n" * 16, IDS["u"]})


def test_a_topic_without_an_id_cannot_enter_a_session_by_ids() -> None:
    session = begun(A)
    session.want(wanted(U, topic_id=ZERO_UUID))
    assert place(session.ask()) == (7, 0)


def test_each_fetch_of_a_session_by_names_names_a_topic_without_an_id() -> None:
    session = FetchSession[str]()
    session.want(wanted(A))
    session.want(wanted(U, topic_id=ZERO_UUID))
    session.ask()
    session.take(answer(A, U, by_id=False))
    ask = session.ask()
    assert place(ask) == (7, 1)
    assert [(row.topic, row.topic_id, row.partitions) for row in ask.topics] == [
        ("u", ZERO_UUID, ())
    ]


# -- against a broker that keeps sessions ----------------------------------------------------------


@dataclass
class Keeper:
    """A broker's side: what it reads for the session that lives, by KIP-227."""

    dice: random.Random
    session_id: int = 0
    epoch: int = 0
    held: dict[TopicPartition, int] = field(default_factory=dict)

    def serve(self, ask: Ask[str]) -> FetchResponse:
        """Answer about some of what is held; now and then refuse, or grant nothing."""
        if ask.session_epoch == 0:
            self.held = named(ask)
            self.session_id = self.dice.choice([0, self.session_id + 1, self.session_id + 1])
            self.epoch = 1
            return answer(*self.held, session_id=self.session_id)
        if self.dice.random() < 0.1:
            self.session_id = 0
        if ask.session_id != self.session_id:
            code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            return answer(session_id=0, error_code=code)
        assert ask.session_epoch == self.epoch
        self.epoch += 1
        self.held |= named(ask)
        for tp in forgotten(ask):
            del self.held[tp]
        sent = self.dice.sample(sorted(self.held), self.dice.randint(0, len(self.held)))
        return answer(*sent, session_id=self.session_id)


@pytest.mark.parametrize("seed", range(20))
def test_a_broker_always_reads_what_is_wanted(seed: int) -> None:
    dice = random.Random(seed)
    session, keeper = FetchSession[str](), Keeper(dice)
    want: dict[TopicPartition, Wanted[str]] = {}
    tps = [A, B, C, U]
    for _ in range(300):
        for tp in dice.sample(tps, dice.randint(0, 3)):
            if tp in want and dice.random() < 0.4:
                session.drop(want.pop(tp).claim)
            else:
                want[tp] = wanted(tp, dice.randint(0, 3), generation=dice.randint(1, 2))
                session.want(want[tp])
        if not session.wants:
            continue
        reply = keeper.serve(session.ask())
        if dice.random() < 0.1:
            session.renew()
            continue
        if not reply.error_code:
            assert keeper.held == {tp: each.row.fetch_offset for tp, each in want.items()}
        taken = session.take(reply)
        assert all(
            question in {each.question for each in want.values()} for question, _ in taken.rows
        )
