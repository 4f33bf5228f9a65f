"""The records that a crash would repeat, counted."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.offsets.ledger import Ledger
from kgroup.offsets.reset import Exposed
from kgroup.types import Claim, TopicPartition

CLAIM = Claim(TopicPartition("t", 0), 1)


def exposed(*offsets: int) -> Exposed:
    found = Exposed()
    found.add(offsets)
    return found


def test_a_commit_covers_the_records_before_it() -> None:
    found = exposed(0, 1, 2, 3)
    found.cover(3)
    assert found.count == 1


def test_offsets_without_records_are_not_counted() -> None:
    found = exposed(0, 5, 6, 20)
    found.cover(6)
    assert found.count == 2


def test_records_to_be_handed_out_again_are_not_counted() -> None:
    found = exposed(0, 1, 5, 6)
    found.cut(1)
    assert found.count == 1


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "cover", "cut"]), st.lists(st.integers(0, 3), max_size=5)),
    max_size=30,
)


@given(STEPS)
def test_it_counts_as_a_set_of_offsets_does(steps: list[tuple[str, list[int]]]) -> None:
    found, offsets, end = Exposed(), set[int](), 0
    for step, gaps in steps:
        at = end - sum(gaps)
        if step == "add":
            added = []
            for gap in gaps:
                end += gap + 1
                added.append(end - 1)
            found.add(added)
            offsets |= {*added}
        elif step == "cover":
            found.cover(at)
            offsets = {offset for offset in offsets if offset >= at}
        else:
            found.cut(at)
            offsets = {offset for offset in offsets if offset < at}
            end = max(offsets, default=-1) + 1 if offsets else end
        assert found.count == len(offsets)


# -- in the ledger --------------------------------------------------------------------------------


def begun(bound: int | None, offset: int = 0) -> Ledger:
    ledger = Ledger(bound)
    ledger.begin(CLAIM, offset, committed=True)
    return ledger


def hand_out(ledger: Ledger, first: int, after: int) -> None:
    ledger.hand_out(CLAIM, after, None)
    ledger.expose(CLAIM, range(first, after))


def test_without_a_bound_there_is_always_room() -> None:
    ledger = begun(None)
    hand_out(ledger, 0, 10_000)
    assert (ledger.room(CLAIM), ledger.is_at_bound(CLAIM)) == (None, False)


def test_records_handed_out_take_room_until_they_are_committed() -> None:
    ledger = begun(5, offset=100)
    hand_out(ledger, 100, 105)
    assert ledger.is_at_bound(CLAIM)
    ledger.acknowledged(CLAIM, 103, ledger.moment())
    assert ledger.room(CLAIM) == 3


def test_records_done_and_not_committed_still_take_room() -> None:
    ledger = begun(5)
    hand_out(ledger, 0, 5)
    ledger.finish_all(CLAIM)
    assert ledger.is_at_bound(CLAIM)


def test_a_commit_asked_for_before_a_seek_back_gives_no_room() -> None:
    ledger = begun(5)
    hand_out(ledger, 0, 5)
    asked = ledger.moment()
    ledger.begin(CLAIM, 0)
    hand_out(ledger, 0, 5)
    ledger.acknowledged(CLAIM, 5, asked)
    assert ledger.is_at_bound(CLAIM)
    ledger.acknowledged(CLAIM, 5, ledger.moment())
    assert ledger.room(CLAIM) == 5


def test_records_done_again_are_committed_again_only_with_a_bound() -> None:
    for bound, expected in ((5, [5]), (None, [])):
        ledger = begun(bound)
        ledger.acknowledged(CLAIM, 5, ledger.moment())
        ledger.begin(CLAIM, 0)
        hand_out(ledger, 0, 5)
        ledger.finish_all(CLAIM)
        assert [offset.offset for _, offset in ledger.uncommitted()] == expected


def test_a_recreated_topic_has_all_its_room() -> None:
    ledger = begun(5)
    hand_out(ledger, 0, 5)
    ledger.renew(CLAIM)
    assert ledger.room(CLAIM) == 5
