"""Virtual loops for thousands of runs: in this process, or one process per core.

Decides: that what a run complains of behind its own back, such as an exception nobody took or a
coroutine nobody awaited, is a fault of it.
"""

import asyncio
import gc
import logging
import multiprocessing
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import anyio

from kgroup.testing.virtual_time import virtual_backend

R = TypeVar("R")


def in_virtual_time(backend: str, play: Callable[..., Awaitable[R]], *args: Any) -> R:
    """Return what an async function returns, run in a virtual loop of its own.

    Raises:
        AssertionError: somebody complained where nobody would have heard.
    """

    async def watched() -> R:
        if backend == "asyncio":
            complain = lambda _, context: complaints.append(str(context))  # noqa: E731
            asyncio.get_running_loop().set_exception_handler(complain)
        return await play(*args)

    name, options = virtual_backend(backend)
    with _watching() as complaints:
        result = anyio.run(watched, backend=name, backend_options=dict(options))
    assert not complaints, complaints
    return result


@contextmanager
def _watching() -> Iterator[list[str]]:
    """Collect what is written where nobody looks, for one block."""
    complaints: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: complaints.append(
        f"{unraisable.err_msg}: {unraisable.exc_value!r}"
    )
    try:
        yield complaints
        gc.collect()
    finally:
        sys.unraisablehook = before


def _begin() -> None:
    """Set a process up as the test run is: warnings are errors. Its log would be gigabytes."""
    warnings.simplefilter("error")
    logging.disable(logging.CRITICAL)


class Workers:
    """Processes that play; `with` starts and ends them.

    Args:
        count: how many; None = one per core.
    """

    def __init__(self, count: int | None = None) -> None:
        self._pool = ProcessPoolExecutor(
            count or os.cpu_count(), multiprocessing.get_context("spawn"), initializer=_begin
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def each(
        self, backend: str, play: Callable[..., Awaitable[R]], arguments: Iterable[tuple[Any, ...]]
    ) -> list[R]:
        """Return what a function returns for each tuple of arguments, in order."""
        futures: list[Future[R]] = [
            self._pool.submit(in_virtual_time, backend, play, *each) for each in arguments
        ]
        return [future.result() for future in futures]
