"""Every recorded conversation with a coordinator comes out the same in the process.

4.3.1 traces run under the new coordinator, 3.9.1 traces under the old one. What differs is in
`traces/exceptions.py`, by name; what is not compared at all is in `traces/compare.py`.
"""

import pytest

from tests.testing.broker.traces.exceptions import EXCEPTIONS, LATE, LEFT_OUT
from tests.testing.broker.traces.judge import complaints
from tests.testing.broker.traces.moves import moves_of
from tests.testing.broker.traces.recorded import names, trace
from tests.testing.broker.traces.replay import key_of, replay

NAMES = [*names()]


def test_all_scenarios_are_there() -> None:
    assert len(NAMES) == 82


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_conversation_comes_out_the_same(name: str) -> None:
    recorded = trace(name)
    lead = moves_of(recorded).lead
    outcomes = replay(recorded)
    differing = {
        key_of(recorded, outcome.exchange): [
            f"{outcome.exchange.title}: {line}" for line in complaints(outcome, lead)
        ]
        for outcome in outcomes
    }
    judged = {id(outcome.exchange) for outcome in outcomes if not outcome.left_out}
    left_out = sum(key[0] == name for key in LEFT_OUT)
    assert sum(id(each) in judged for each in recorded.exchanges) == (
        len(recorded.exchanges) - left_out
    )
    unexpected = [
        line for key, lines in differing.items() for line in lines if key not in EXCEPTIONS
    ]
    assert not unexpected, "\n".join(unexpected)
    expected = [key for key in EXCEPTIONS if key[0] == name]
    assert all(differing[key] for key in expected), "take it out of the exceptions: it is equal now"


def test_an_exception_names_an_exchange_that_was_recorded() -> None:
    known = {
        key_of(recorded, exchange)
        for recorded in map(trace, {key[0] for key in (*EXCEPTIONS, *LATE, *LEFT_OUT)})
        for exchange in recorded.exchanges
    }
    assert {*EXCEPTIONS, *LATE, *LEFT_OUT} <= known
