"""Incremental fetch sessions (KIP-227)."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import FetchResponse
from tests.testing.broker.driver import Call
from tests.testing.broker.fetching import BY_ID, BY_NAME, Asker, Rows, offsets_in, rows_of

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
NEW = (0, 0)
VERSIONS = pytest.mark.parametrize("version", [7, BY_NAME, BY_ID])


def begin(asker: Asker, rows: Rows, version: int = BY_ID) -> int:
    answer = asker.fetch(rows, session=NEW, version=version).now
    assert answer.session_id > 0
    return answer.session_id


def rows_in(call: Call[FetchResponse]) -> list[tuple[int, int]]:
    """Partition and error code of each row."""
    assert call.now.error_code == 0
    return [(row.partition_index, row.error_code) for row in rows_of(call.now)]


def refusal(call: Call[FetchResponse]) -> tuple[int, int, int]:
    return call.now.error_code, call.now.session_id, len(call.now.responses)


@VERSIONS
def test_only_what_changed_is_sent_after_the_first_answer(version: int) -> None:
    asker = Asker()
    session = begin(asker, {T0: 0, T1: 0}, version)
    assert rows_in(asker.fetch({}, session=(session, 1), version=version)) == []
    asker.append(b"a", number=1)
    second = asker.fetch({}, session=(session, 2), version=version)
    assert rows_in(second) == [(1, 0)]
    assert second.now.session_id == session
    assert offsets_in(rows_of(second.now)[0]) == [0]
    # The position has moved, the high watermark is known.
    assert rows_in(asker.fetch({T1: 1}, session=(session, 3), version=version)) == []


def test_a_log_start_that_moves_is_answered() -> None:
    asker = Asker()
    asker.append(b"a")
    session = begin(asker, {T0: 1})
    asker.partition().log.delete_before(1)
    assert rows_in(asker.fetch({}, session=(session, 1))) == [(0, 0)]


def test_a_parting_of_logs_is_answered_each_time() -> None:
    asker = Asker()
    asker.append(b"a")
    row = {"fetch_offset": 9, "last_fetched_epoch": 0}
    session = begin(asker, {T0: row})
    for epoch in (1, 2):
        assert rows_in(asker.fetch({}, session=(session, epoch))) == [(0, 0)]


def test_what_is_added_and_forgotten_at_once_is_forgotten() -> None:
    asker = Asker()
    session = begin(asker, {T0: 0})
    asker.append(b"a", number=1)
    assert rows_in(asker.fetch({T1: 0}, session=(session, 1), forgotten=[T1])) == []


def test_a_session_without_partitions_ends() -> None:
    asker = Asker()
    session = begin(asker, {T0: 0})
    last = asker.fetch({}, session=(session, 1), forgotten=[T0])
    assert refusal(last) == (0, 0, 0)
    gone = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refusal(asker.fetch({}, session=(session, 2))) == (gone, 0, 0)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [2, 3, 5])
def test_an_epoch_out_of_order_is_refused_and_changes_nothing(epoch: int) -> None:
    asker = Asker()
    session = begin(asker, {T0: 0})
    for sent in (1, 2, 3):
        asker.fetch({}, session=(session, sent))
    call = asker.fetch({T1: 0}, session=(session, epoch))
    assert refusal(call) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, 0)
    assert rows_in(asker.fetch({}, session=(session, 4))) == []


def test_after_the_largest_epoch_comes_1() -> None:
    asker = Asker()
    session = begin(asker, {T0: 0})
    asker.raw.core.fetches.sessions[1].sessions[session].epoch = 2**31 - 1
    for epoch in (2**31 - 1, 1, 2):
        assert rows_in(asker.fetch({}, session=(session, epoch))) == []


@pytest.mark.parametrize(("first", "second"), [(BY_NAME, BY_ID), (BY_ID, BY_NAME)])
def test_a_session_keeps_to_names_or_to_ids(first: int, second: int) -> None:
    asker = Asker()
    session = begin(asker, {T0: 0}, first)
    call = asker.fetch({}, session=(session, 1), version=second)
    assert refusal(call) == (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 0, 0)
    assert rows_in(asker.fetch({}, session=(session, 1), version=first)) == []


def test_the_earlier_of_two_requests_that_overlap_is_refused() -> None:
    asker = Asker()
    session = begin(asker, {T0: 0})
    earlier = asker.fetch({}, session=(session, 1), max_wait_ms=500)
    later = asker.fetch({}, session=(session, 2), max_wait_ms=500)
    asker.append(b"a")
    asker.raw.run(0)
    assert refusal(earlier) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session, 0)
    assert rows_in(later) == [(0, 0)]


# -- ends and slots --------------------------------------------------------------------------------


def test_sessions_are_a_brokers_own_and_end_with_it() -> None:
    asker = Asker(nodes=2)
    session = begin(asker, {T0: 0})
    gone = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refusal(asker.fetch({}, session=(session, 1), node=2)) == (gone, 0, 0)
    asker.cluster.kill(1)
    asker.cluster.start(1)
    assert refusal(asker.fetch({}, session=(session, 1))) == (gone, 0, 0)


def test_without_a_free_slot_a_fetch_goes_without_a_session() -> None:
    asker = Asker(settings=BrokerSettings(fetch_session_slots=1))
    session = begin(asker, {T0: 0})
    crowded = asker.fetch({T0: 0, T1: 0}, session=NEW)
    assert (crowded.now.session_id, rows_in(crowded)) == (0, [(0, 0), (1, 0)])
    assert rows_in(asker.fetch({}, session=(session, 1))) == []


def test_a_session_unused_for_two_minutes_makes_room() -> None:
    asker = Asker(settings=BrokerSettings(fetch_session_slots=1))
    session = begin(asker, {T0: 0})
    asker.raw.run(120.1)
    assert begin(asker, {T0: 0}) != session
    gone = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refusal(asker.fetch({}, session=(session, 1))) == (gone, 0, 0)


@pytest.mark.parametrize(("rows", "takes"), [({T0: 0}, False), ({T0: 0, T1: 0}, True)])
def test_a_larger_session_takes_the_place_of_an_old_one(rows: Rows, takes: bool) -> None:
    asker = Asker(settings=BrokerSettings(fetch_session_slots=1))
    session = begin(asker, {U0: 0})
    asker.raw.run(100)
    asker.fetch({}, session=(session, 1))
    asker.raw.run(100)
    asker.fetch({}, session=(session, 2))
    assert (asker.fetch(rows, session=NEW).now.session_id > 0) is takes


@pytest.mark.parametrize("idle", [0, 1])
def test_of_several_sessions_the_one_unused_for_longest_makes_room(idle: int) -> None:
    asker = Asker(settings=BrokerSettings(fetch_session_slots=2))
    sessions = [begin(asker, {T0: 0}) for _ in range(2)]
    asker.raw.run(100)
    assert rows_in(asker.fetch({}, session=(sessions[1 - idle], 1))) == []
    asker.raw.run(30)
    begin(asker, {T0: 0})
    gone = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refusal(asker.fetch({}, session=(sessions[idle], 1))) == (gone, 0, 0)
    assert rows_in(asker.fetch({}, session=(sessions[1 - idle], 2))) == []


@pytest.mark.parametrize("small", [0, 1])
def test_of_several_old_sessions_the_smallest_gives_way_to_a_larger_one(small: int) -> None:
    asker = Asker(settings=BrokerSettings(fetch_session_slots=2))
    sizes: list[Rows] = [{T0: 0, T1: 0}, {T0: 0, T1: 0}]
    sizes[small] = {T0: 0}
    sessions = [begin(asker, rows) for rows in sizes]
    for epoch in (1, 2):
        asker.raw.run(100)
        for session in sessions:
            asker.fetch({}, session=(session, epoch))
    begin(asker, {T0: 0, T1: 0, U0: 0})
    gone = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refusal(asker.fetch({}, session=(sessions[small], 3))) == (gone, 0, 0)
    assert rows_in(asker.fetch({}, session=(sessions[1 - small], 3))) == []


# -- topic ids -------------------------------------------------------------------------------------


def test_a_topic_made_anew_under_a_session_is_inconsistent() -> None:
    asker = Asker()
    session = begin(asker, {T0: 0})
    asker.cluster.delete_topic("t")
    assert rows_in(asker.fetch({}, session=(session, 1))) == [
        (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    ]
    asker.cluster.create_topic("t", 1)
    assert rows_in(asker.fetch({}, session=(session, 2))) == [(0, ErrorCode.INCONSISTENT_TOPIC_ID)]


def test_a_session_remembers_how_an_id_was_called() -> None:
    asker = Asker()
    session = begin(asker, {T0: 0})
    asker.cluster.delete_topic("t")
    gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rows_in(asker.fetch({T0: 1}, session=(session, 1))) == [(0, gone)]
    unknown = ErrorCode.UNKNOWN_TOPIC_ID
    assert rows_in(asker.fetch({T0: 0}, session=(0, -1))) == [(0, unknown)]


def test_an_id_that_is_unknown_at_first_may_become_known() -> None:
    asker = Asker()
    unknown = {"t": b"\7" * 16}
    first = asker.fetch({T0: 0}, session=NEW, ids=unknown)
    assert rows_in(first) == [(0, ErrorCode.UNKNOWN_TOPIC_ID)]
    again = asker.fetch({}, session=(first.now.session_id, 1))
    assert rows_in(again) == [(0, ErrorCode.UNKNOWN_TOPIC_ID)]
