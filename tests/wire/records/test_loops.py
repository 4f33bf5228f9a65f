"""The loops over records: the compiled form does as the one in Python, and is used."""

import os
import shutil
import sysconfig
from itertools import islice
from operator import length_hint
from pathlib import Path
from typing import Any

import pytest

from kgroup.wire.records import (
    NewRecord,
    RecordColumns,
    encode_batch,
    iter_batches,
    loops,
    python_loops,
)

DATA = encode_batch([NewRecord(b"k", b"v", (("h", b"x"),), 5), NewRecord(None, b"", (), 6)])[61:]
SHAPE = (tuple, "okv", ("offset", "key", "value"))
CONSTANT = (tuple, "=", ("topic",))


def columns(data: bytes = DATA, count: int = 2) -> tuple[Any, ...]:
    return (data, *loops.scan(data, count, 10, 0))


def made(shape=SHAPE, constants=(), start=0, stop=2, given=None) -> list[Any]:
    return [*loops.records(shape, constants, given or columns(), start, stop)]


@pytest.mark.skipif(not loops.COMPILED, reason="the compiled module is not active")
@pytest.mark.parametrize("seed", range(4))
def test_the_compiled_form_finds_and_makes_what_the_one_in_python_does(seed: int) -> None:
    from tests.wire.records.differential import differences, inputs  # noqa: PLC0415

    for given in islice(inputs(seed), 1500):
        assert [*differences(given)] == []


@pytest.mark.skipif("KGROUP_PURE" in os.environ, reason="it is switched off")
def test_the_compiled_form_is_active_where_a_compiler_is_there() -> None:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    assert loops.COMPILED is (shutil.which(compiler) is not None)


def test_records_are_made_from_the_first_wanted_up_to_the_last() -> None:
    assert made(start=1) == [(11, None, b"")]
    assert made(stop=1) == [(10, b"k", b"v")]


def test_an_iterator_of_records_tells_how_many_are_left() -> None:
    found = loops.records(SHAPE, (), columns(), 0, 2)
    next(found)
    assert length_hint(found) == 1


@pytest.mark.parametrize(
    ("shape", "constants"),
    [
        pytest.param((tuple, "?", ("a",)), (), id="an unknown code"),
        pytest.param((tuple, "ok", ("a",)), (), id="more codes than names"),
        pytest.param(CONSTANT, (), id="a constant is missing"),
        pytest.param(CONSTANT, (1, 2), id="a constant too many"),
    ],
)
def test_a_shape_that_contradicts_itself_is_refused(shape, constants) -> None:
    with pytest.raises(ValueError, match="do not fit the class"):
        made(shape, constants)


@pytest.mark.skipif(not loops.COMPILED, reason="only compiled code could read outside")
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("position", [-2, len(DATA), len(DATA) + 1, (1 << 31) - 1])
def test_no_bound_leads_outside_the_buffer(place: int, position: int) -> None:
    data, offsets, times, bounds = columns()
    lying = [*bounds]
    lying[place] = position
    whole = (tuple, "kvh", ("k", "v", "h"))
    try:
        found = made(whole, given=(data, offsets, times, loops.column("i", lying)))
    except ValueError:
        return
    taken = [each for record in found for each in record[:2] if each]
    assert all(each in data for each in taken)


def test_old_columns_can_be_read_as_new_ones_are() -> None:
    given = RecordColumns(b"kv\0", [7], [-1], [0, 1, 1, 2, 2])
    assert list(given) == [(7, -1, b"k", b"v", ())]


def test_gathered_values_are_the_buffers_of_an_arrow_array() -> None:
    valid, ends, data, nulls = loops.gather(DATA, columns()[3], 0, 0, 2)
    assert (valid, ends, data, nulls) == (b"\1", b"\0\0\0\0\1\0\0\0\1\0\0\0", b"k", 1)


def test_the_c_source_stays_under_600_lines() -> None:
    source = Path(python_loops.__file__).with_name("_compiled.c").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 600


def test_a_batch_is_read_by_the_loops_that_were_chosen() -> None:
    (batch,) = iter_batches(encode_batch([NewRecord(b"k", b"v")]))
    assert isinstance(batch.columns().offsets, list) is not loops.COMPILED
