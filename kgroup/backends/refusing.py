"""Refusing a call at once without keeping the event loop.

Decides: that other tasks run before a call is refused that has awaited nothing.
Never: replaces the error, unless the caller is cancelled meanwhile; awaits where all is well.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.lowlevel

__all__ = ["refusing"]


@asynccontextmanager
async def refusing() -> AsyncIterator[None]:
    """Let other tasks run before the error of the body goes on; the body awaits nothing.

    1. A call is refused with an error that lasts; 2. the application takes no notice of it, and
    calls again; 3. had neither awaited anything, no other task would ever run, and nothing could
    cancel this one.
    """
    try:
        yield
    except Exception:
        await anyio.lowlevel.checkpoint()
        raise
