"""What the worst frames cost: those of nothing but rows that hold next to nothing.

A row takes the same memory whatever it holds, so the bound of 16 times the frame, which every
recorded and every mutated message keeps, is not that of a frame made for this. Its bound is here.
"""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from kgroup.wire.frames import request_class
from kgroup.wire.layout import Step, layout_of
from kgroup.wire.schema import Message, decode, encode
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm
from tests.search.fuzz.messages import keys

WORST = 34
"""Bytes of memory for each byte of a frame, at most."""

ROWS = 1000


def least(form: Form, version: int) -> Any:
    """The shortest value; a number is large all the same, for small ones cost nothing."""
    match form:
        case ScalarForm("?", _):
            return False
        case ScalarForm("16s", size):
            return bytes(size)
        case ScalarForm(_, size):
            return 1 << (8 * size - 2)
        case RowForm(cls):
            return shortest(cls, version)
        case ArrayForm():
            return ()
        case BlobForm():
            return b""
        case _:
            return ""


def shortest(cls: type[Message], version: int, **given: Any) -> Message:
    values = {
        step.name: None if step.nullable else least(step.form, version)
        for step in layout_of(cls, version).present
    }
    return cls(**{**values, **given})


def arrays(cls: type[Message], version: int) -> Iterator[tuple[Step, ...]]:
    """Yield the way to each array of a message, however deep."""
    layout = layout_of(cls, version)
    for step in layout.present + layout.tagged:
        inner = step.form.item if isinstance(step.form, ArrayForm) else step.form
        if isinstance(step.form, ArrayForm):
            yield (step,)
        if isinstance(inner, RowForm):
            yield from ((step, *rest) for rest in arrays(inner.cls, version))


def full(cls: type[Message], version: int, way: tuple[Step, ...]) -> Message:
    """A message whose array at the end of a way is full of the shortest items."""
    step, *rest = way
    inner = step.form.item if isinstance(step.form, ArrayForm) else step.form
    if not rest:
        return shortest(cls, version, **{step.name: (least(inner, version),) * ROWS})
    assert isinstance(inner, RowForm)
    value: Any = full(inner.cls, version, tuple(rest))
    return shortest(
        cls, version, **{step.name: (value,) if isinstance(step.form, ArrayForm) else value}
    )


def cost(cls: type[Message], version: int, data: bytes) -> float:
    decode(cls, version, data)  # compiles the decoder
    tracemalloc.start(1)
    try:
        kept = decode(cls, version, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept is not None
    return peak / len(data)


def frames() -> Iterator[tuple[type[Message], int, tuple[Step, ...]]]:
    """Yield every array of every message, in its oldest and its newest version."""
    for key in keys():
        request = request_class(key)
        for cls in (request, request.RESPONSE):
            for version in {cls.VERSIONS[0], cls.VERSIONS[-1]}:
                yield from ((cls, version, way) for way in arrays(cls, version))


@pytest.mark.slow
def test_no_frame_costs_more_than_so_many_times_its_size() -> None:
    costs = {}
    for cls, version, way in frames():
        name = f"{cls.__name__} v{version} {'.'.join(step.name for step in way)}"
        costs[name] = cost(cls, version, encode(full(cls, version, way), version))
    assert len(costs) > 150
    over = {name: factor for name, factor in costs.items() if factor > WORST}
    assert not over, over
