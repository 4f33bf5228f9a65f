import pytest

from kgroup.audit.oracles import BoundedDuplicates, DeliveryOrder, NothingLost, judge
from kgroup.journal import (
    BROKER,
    CommitStage,
    CommitStored,
    Delivered,
    MemberStopped,
    PositionMove,
    PositionMoved,
    Source,
)
from tests.audit.histories import History, Writer, one_member, tp


def rules(history: History, sparse: frozenset[str] = frozenset()) -> list[str]:
    oracles = (DeliveryOrder(sparse), NothingLost(None, sparse), BoundedDuplicates())
    return [found.rule for found in judge(oracles, history.entries)]


def taken_over(*, killed: bool, offset: int) -> tuple[History, Writer]:
    """Member a commits 10 of 15 records and goes; b reads an offset and delivers from there."""
    history, a = one_member(0)
    a.deliver(0, 10)
    a.commit(0)
    a.deliver(0, 5)
    if not killed:
        a.revoke(0)
    b = history.member("b")
    b.join(2, 0)
    b.assign(0, offset=offset)
    b.deliver(0, 5)
    return history, b


def test_d1_a_commit_over_records_that_nobody_was_given_is_found():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.positions[tp(0)] = 8
    member.commit(0)
    (found,) = judge([NothingLost()], history.entries)
    assert (found.rule, "3 offsets" in found.text, "5 to 7" in found.text) == ("D1", True, True)


def test_d1_records_after_the_last_delivery_are_found_at_the_end():
    history, member = one_member(0)
    member.deliver(0, 5)
    assert judge([NothingLost({tp(0): 5})], history.entries) == ()
    (found,) = judge([NothingLost({tp(0): 7})], history.entries)
    assert (found.rule, found.tp) == ("D1", tp(0))


def test_d1_what_a_seek_jumped_over_is_not_lost():
    history, member = one_member(0)
    member.write(PositionMoved(member.claims[tp(0)], 100, PositionMove.SEEK))
    member.positions[tp(0)] = 100
    member.deliver(0, 5)
    member.commit(0)
    assert rules(history) == []


def test_d2_going_back_and_skipping_inside_a_claim_are_found():
    for offset in (3, 7):
        history, member = one_member(0)
        member.deliver(0, 5)
        member.positions[tp(0)] = offset
        member.deliver(0, 5)
        assert "D2" in rules(history)


def test_d2_a_skip_is_fine_where_offsets_hold_no_record():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.positions[tp(0)] = 7
    member.write(Delivered(member.claims[tp(0)], 7, 9, 2))
    assert rules(history, frozenset({"t"})) == []
    assert rules(history) == ["D2", "D2"]


def test_d3_a_claim_that_starts_elsewhere_than_its_offset_is_found():
    history, member = one_member(0)
    member.positions[tp(0)] = 2
    member.deliver(0, 5)
    assert rules(history) == ["D3"]


def test_d3_a_claim_that_starts_nowhere_is_found():
    history, member = one_member()
    member.assign(0)
    member.positions[tp(0)] = 0
    member.deliver(0, 5)
    assert rules(history) == ["D3"]


def test_d3_the_reset_policy_gives_the_start_when_nothing_is_committed():
    history, member = one_member()
    member.assign(0)
    member.read(0, None)
    member.write(PositionMoved(member.claims[tp(0)], 40, PositionMove.RESET))
    member.positions[tp(0)] = 40
    member.deliver(0, 5)
    assert rules(history) == []


def test_d5_records_done_before_a_clean_handover_are_not_repeated():
    history, _ = taken_over(killed=False, offset=10)
    assert rules(history) == ["D5"]


@pytest.mark.parametrize(
    ("sought", "offset", "expected"),
    [(4, 4, []), (4, 3, ["D5"]), (20, 4, ["D5"]), (None, 4, ["D5"])],
)
def test_d5_what_the_former_owner_sought_back_to_is_to_be_read_again(sought, offset, expected):
    # 1. a is done with 10; 2. its application seeks back to 4; 3. before it reads, t-0 is taken
    # from it: 4 is committed; 4. b begins there, not below.
    history, a = one_member(0)
    a.deliver(0, 10)
    if sought is not None:
        a.write(PositionMoved(a.claims[tp(0)], sought, PositionMove.SEEK))
    a.revoke(0)
    b = history.member("b")
    b.join(2, 0)
    b.assign(0, offset=offset)
    b.deliver(0, 5)
    found = judge([BoundedDuplicates()], history.entries)
    assert [each.rule for each in found] == expected


def test_d5_a_failed_commit_explains_the_repetition():
    history, a = one_member(0)
    a.deliver(0, 10)
    a.commit(0, stage=CommitStage.UNKNOWN)
    a.revoke(0)
    b = history.member("b")
    b.join(2, 0)
    b.assign(0, offset=0)
    b.deliver(0, 10)
    assert rules(history) == []


@pytest.mark.parametrize(
    ("reason", "expected"), [("closed", ["D5"]), ("another member uses the instance id", [])]
)
def test_d5_a_member_that_ended_with_an_error_could_not_commit_what_it_was_done_with(
    reason, expected
):
    history, a = one_member(0)
    a.deliver(0, 10)
    a.write(MemberStopped(reason))
    b = history.member("b")
    b.join(2, 0)
    b.assign(0, offset=0)
    b.deliver(0, 10)
    assert [v.rule for v in judge([BoundedDuplicates()], history.entries)] == expected


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [("before the claim", []), ("before it asks", []), ("after its answer", ["D5"]), ("", ["D6"])],
)
def test_d5_a_commit_that_was_deleted_before_the_next_owner_asks_explains_the_repetition(
    deleted: str, expected: list[str]
) -> None:
    # 1. a is done with 10, commits 10, and gives t-0 up; 2. b is given t-0; 3. an administrator
    # deletes the commit; 4. b asks where to begin, and begins at the start.
    history, a = one_member(0)
    a.deliver(0, 10)
    a.commit(0)
    a.revoke(0)
    b = history.member("b")
    gone = CommitStored(tp=tp(0), offset=None)
    broker = Source(host="h", process=BROKER, member="coordinator", group="g")
    b.join(2, 0)
    if deleted == "before the claim":
        history.write(broker, 1, gone)
    b.assign(0)
    if deleted == "before it asks":
        history.write(broker, 1, gone)
    b.read(0, None)
    if deleted == "after its answer":
        history.write(broker, 1, gone)
    b.write(PositionMoved(b.claims[tp(0)], 0, PositionMove.RESET))
    b.positions[tp(0)] = 0
    b.deliver(0, 10)
    found = judge([BoundedDuplicates()], history.entries)
    assert [each.rule for each in found] == expected


def test_d6_a_kill_explains_what_follows_the_last_acknowledged_commit():
    history, _ = taken_over(killed=True, offset=10)
    assert rules(history) == []


def test_d6_a_kill_does_not_explain_what_was_committed():
    history, _ = taken_over(killed=True, offset=8)
    (found,) = judge([BoundedDuplicates()], history.entries)
    assert (found.rule, "2 records" in found.text) == ("D6", True)


def test_d6_offsets_that_an_administrator_deleted_explain_the_repetition():
    for deleted, expected in ((True, []), (False, ["D6"])):
        history, b = taken_over(killed=True, offset=10)
        broker = Source(host="h", process=BROKER, member="coordinator", group="g")
        if deleted:
            gone = CommitStored(tp=b.claims[tp(0)].tp, offset=None)
            history.write(broker, 1, gone)
        b.positions[tp(0)] = 8
        b.write(PositionMoved(b.claims[tp(0)], 8, PositionMove.RESET))
        b.deliver(0, 2)
        assert [v.rule for v in judge([BoundedDuplicates()], history.entries)] == expected
