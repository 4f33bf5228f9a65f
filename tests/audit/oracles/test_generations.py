from kgroup.audit.oracles import OneOwnerPerGeneration, judge
from kgroup.journal import Polled
from tests.audit.histories import History, tp


def test_s1_two_members_in_one_generation_are_found_when_the_first_goes_on():
    history = History()
    a, b = history.member("a"), history.member("b")
    a.join(1, 0)
    b.join(1, 0, 1)
    a.write(Polled())
    (found,) = judge([OneOwnerPerGeneration()], history.entries)
    assert (found.rule, found.tp) == ("S1", tp(0))


def test_s1_says_nothing_about_a_member_that_was_killed_or_lost_its_membership():
    for last_words in (False, True):
        history = History()
        a, b = history.member("a"), history.member("b")
        a.join(1, 0)
        a.assign(0)
        b.join(1, 0)
        if last_words:
            a.lose(0)
        assert judge([OneOwnerPerGeneration()], history.entries) == ()


def test_s1_allows_a_static_member_its_generation_in_its_next_life():
    history = History()
    first, second = (history.member("s", life, instance="i") for life in "12")
    for life in (first, second):
        life.start()
        life.join(1, 0)
    first.write(Polled())
    assert judge([OneOwnerPerGeneration()], history.entries) == ()
