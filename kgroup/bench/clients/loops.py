"""asyncio, uvloop or trio, with their own ways to run.

Decides: nothing.
Never: imports a loop that is not asked for.
"""

import importlib
from collections.abc import Awaitable, Callable
from typing import Any

Run = Callable[[Callable[[], Awaitable[Any]]], Any]


def load(loop: str) -> Run:
    """Import a loop, and return what runs an async function on it; asyncio where none is named.

    Raises:
        ImportError: it is not installed.
    """
    module: Any = importlib.import_module(loop or "asyncio")
    if loop == "trio":
        run: Run = module.run
        return run
    return lambda main: module.run(main())
