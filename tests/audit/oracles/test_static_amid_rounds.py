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


@pytest.mark.parametrize(
    ("gone", "signalled", "joined", "expected"),
    [
        (None, False, False, ["T1"]),
        (None, True, False, []),
        (None, False, True, []),  # it begins the round itself
        ("a", True, True, []),
        ("a", True, False, []),  # an eager one gives up first what it has
        ("a", False, False, []),
        ("o", True, True, []),
        ("o", False, False, []),
    ],
)
def test_t1_a_restart_is_judged_only_when_neither_a_round_nor_a_death_came_before_it(
    gone: str | None, signalled: bool, joined: bool, expected: list[str]
):
    """1. Another member dies; 2. the session of step 1 ends; 3. the member hears of that round and
    dies amid it; 4. it is back in time, in that round."""
    history, s, other = at_rest()
    if gone is not None:
        history.fault("SIGKILL", gone)
    for pause in (2.0, 2.0):
        history.wait(pause)
        s.heartbeat()
        if gone != "o":
            other.heartbeat()
    history.wait(2.5)
    if signalled:
        s.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    if joined:
        s.ask(ApiKey.JOIN_GROUP)
    history.wait(0.5)
    s.write(Polled())
    again = history.member("s", "2", instance="i")
    again.start()
    again.join(2, 1)
    assert [found.rule for found in judge([StaticUnnoticed()], history.entries)] == expected
