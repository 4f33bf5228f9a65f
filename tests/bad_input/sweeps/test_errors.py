"""Every known error code of every API once, and each reaction of the table for ten seconds."""

import pytest

from tests.bad_input.sweeps.cells import CODES, codes_at, judge
from tests.bad_input.sweeps.places import PLACES, Place
from tests.bad_input.sweeps.workers import Workers, in_virtual_time

_SHARES = 8
"""Pieces of a sweep, played side by side."""

_TIMED_OUT = 7

EACH_API = [place for place in PLACES if not place.is_second]


def swept(workers: Workers, place: Place, times: int | None) -> list[str]:
    codes = codes_at(place, times)
    shares = [(str(place), codes[first::_SHARES], times) for first in range(_SHARES)]
    cells = [cell for share in workers.each("asyncio", judge, shares) for cell in share]
    assert sorted(cell.code for cell in cells) == sorted(codes)
    return [fault for cell in cells for fault in cell.faults]


def test_every_api_of_a_consumer_is_tried_with_every_code() -> None:
    assert len({place.api for place in EACH_API}) == len(EACH_API) == 12
    assert all(codes_at(place) == CODES for place in EACH_API)


@pytest.mark.faults  # it takes long
@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_an_error_that_strikes_once_has_the_reaction_of_the_table(
    workers: Workers, place: Place
) -> None:
    assert swept(workers, place, 1) == []


@pytest.mark.faults  # it takes long
@pytest.mark.slow
@pytest.mark.parametrize("place", EACH_API, ids=str)
def test_an_error_that_lasts_is_met_at_a_bounded_pace_and_outlived_or_named(
    workers: Workers, place: Place
) -> None:
    assert swept(workers, place, None) == []


@pytest.mark.parametrize("place", EACH_API[::6], ids=str)  # the slow run has them all
def test_a_timed_out_request_has_the_reaction_of_the_table(place: Place) -> None:
    (cell,) = in_virtual_time("asyncio", judge, str(place), [_TIMED_OUT], 1)
    assert cell.faults == ()
