"""Records come out as they were written: in order, once, fairly, and bounded."""

import pytest

from tests.consumer.shelf import Shelf
from tests.consumer.stage import A, entered

pytestmark = pytest.mark.anyio


async def test_every_record_is_handed_out_once_and_in_order() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 25)
    async with entered(shelf) as stage:
        await stage.give(A)
        seen = []
        async for batch in stage.consumer.batches():
            seen += [record.offset for record in batch]
            if len(seen) >= 25:
                break
        assert seen == list(range(25))
