"""Refusing a call at once without keeping the event loop.

Decides: that other tasks run before a call is refused that has awaited nothing.
Never: replaces the error, unless the caller is cancelled meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["refusing"]


@asynccontextmanager
async def refusing() -> AsyncIterator[None]:
    """Let other tasks run before the error of the body goes on; the body awaits nothing.

    1. A call is refused with an error that lasts. 2. The application takes no notice of it, and
    calls again. 3. Had neither awaited anything, no other task would ever run, not even the one
    that is to cancel this one.
    """
    try:
        yield
    except Exception:
        await asyncio.sleep(0)
        raise
