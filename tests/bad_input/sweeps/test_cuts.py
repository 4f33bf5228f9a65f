"""A session with one answer cut at any byte is a session: nothing is lost, nothing comes again."""

import pytest

from tests.bad_input.sweeps.cuts import CUTS, Cut, size_of, sweep
from tests.bad_input.sweeps.workers import Workers, in_virtual_time

_ANYWHERE = 9
"""Within every answer, the shortest included."""

_LONGER = 1000
"""Than any answer."""

_STEP = {"asyncio": 7, "trio": 70}
"""Bytes between two cuts, times the step of the answer; decoders are cut at every byte."""

_SHARES = 4
"""Pieces of a sweep, played side by side."""


@pytest.mark.slow
@pytest.mark.parametrize("backend", _STEP)
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_an_answer_cut_at_any_byte_costs_a_connection_and_nothing_else(
    workers: Workers, backend: str, cut: Cut
) -> None:
    size = in_virtual_time("asyncio", size_of, cut)
    lengths = [*range(0, size, _STEP[backend] * cut.step), size]
    shares = [(cut, lengths[first::_SHARES], size) for first in range(_SHARES)]
    swept = workers.each(backend, sweep, [share for share in shares if share[1]])
    assert sum(each.runs for each in swept) == len(lengths)
    assert [fault for each in swept for fault in each.faults] == []


_QUICK = [cut for cut in CUTS if cut.number == 1][::6]
"""For the fast run; the slow one has them all."""


@pytest.mark.parametrize("cut", _QUICK, ids=str)
def test_a_first_answer_cut_somewhere_costs_a_connection_and_nothing_else(cut: Cut) -> None:
    assert in_virtual_time("asyncio", sweep, cut, [_ANYWHERE], _LONGER).faults == ()
