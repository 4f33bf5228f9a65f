"""T1: a round that others began before a static process died is not blamed on its restart."""

import pytest

from kgroup.audit.oracles import StaticUnnoticed, judge
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal import Polled
from tests.audit.histories import History, Writer


def at_rest() -> tuple[History, Writer, Writer]:
    """Return a group of a dynamic member and two static ones, of which two are written on."""
    history = History()
    members = (
        history.member("a"),
        history.member("s", instance="i"),
        history.member("o", instance="j"),
    )
    for member in members:
        member.start()
    for number, member in enumerate(members[:2]):
        member.join(1, number)
        member.assign(number, offset=0)
    _, s, other = members
    other.join(1)
    history.wait(17.0)
    other.heartbeat()
    s.heartbeat()
    return history, s, other


@pytest.mark.parametrize("gone", ["dynamic", "static"])
@pytest.mark.parametrize(
    ("calm", "told", "joined", "expected"),
    [
        (4.0, True, True, []),
        (5.95, True, True, []),  # its last word was on its way for a while
        (6.5, True, True, ["T1"]),  # what had gone was forgotten: the round has another cause
        (4.0, False, True, ["T1"]),  # it begins the round itself
        (4.0, True, False, []),  # an eager one gives up first what it has
        (4.0, False, False, ["T1"]),
    ],
)
def test_t1_who_was_told_of_a_round_and_dies_amid_it_comes_back_into_the_next_generation(
    gone: str, calm: float, told: bool, joined: bool, expected: list[str]
):
    """1. Another member is gone; 2. a heartbeat is in order; 3. the session of step 1 ends; 4. the
    member is told of that round and dies amid it, more than a session after step 1; 5. it is back
    in time, in that round."""
    history, s, other = at_rest()
    history.fault("SIGKILL", "a" if gone == "dynamic" else "o")
    for pause in (2.0, calm - 2.0):
        history.wait(pause)
        s.heartbeat()
        if gone == "dynamic":
            other.heartbeat()
    history.wait(2.5)
    if told:
        s.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    if joined:
        s.ask(ApiKey.JOIN_GROUP)
    history.wait(0.5)
    s.write(Polled())
    again = history.member("s", "2", instance="i")
    again.start()
    again.join(2, 1)
    assert [found.rule for found in judge([StaticUnnoticed()], history.entries)] == expected
