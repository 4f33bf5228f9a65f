"""A service that reads orders beside its web pages, and says how it is: `uvicorn service:app`."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Response

from kgroup import Consumer, MemberState


async def read(app: FastAPI) -> None:
    async for batch in app.state.consumer.batches():
        for _ in batch:
            app.state.handled += 1


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.handled = 0
    app.state.consumer = Consumer(
        "orders",
        bootstrap_servers=os.environ.get("KGROUP_BOOTSTRAP", "localhost:9092"),
        group_id="billing",
        group_instance_id=os.environ.get("POD_NAME"),
        auto_offset_reset="earliest",
    )
    await app.state.consumer.start()
    app.state.reading = asyncio.create_task(read(app))
    yield
    await app.state.consumer.stop()  # commits what is done; the loop in `read` ends
    await asyncio.wait([app.state.reading])


app = FastAPI(lifespan=lifespan)


@app.get("/live")
async def live(response: Response) -> dict[str, Any]:
    """Say 503 once reading has ended: only a new process helps."""
    reading = app.state.reading
    if not reading.done():
        return {"reading": True, "handled": app.state.handled}
    response.status_code = 503
    return {"reading": False, "error": repr(reading.exception())}


@app.get("/ready")
async def ready(response: Response) -> dict[str, Any]:
    """Say 503 until this member is in the group, and while it cannot do its work."""
    member = app.state.consumer.membership
    at_work = member.state is MemberState.STABLE and not app.state.reading.done()
    if not at_work or member.trouble is not None:
        response.status_code = 503
    return {
        "state": member.state.value,
        "partitions": sorted(map(str, member.partitions)),
        "trouble": None if member.trouble is None else str(member.trouble),
    }
