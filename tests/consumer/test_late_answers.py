"""Answers to commits that come after a claim ended or a seek."""

from typing import Any

import anyio
import pytest

from kgroup.types import CommitStatus
from tests.consumer.entered import A, entered
from tests.consumer.shelf import full
from tests.consumer.test_commit_soon import Callbacks

pytestmark = pytest.mark.anyio

MANUAL: dict[str, Any] = {"enable_auto_commit": False}


async def test_an_outcome_is_about_the_claim_that_the_commit_was_asked_under() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_seconds = 1.0
        stage.consumer.commit_soon({A: 1}, calls.note("on its way"))
        await anyio.sleep(0.1)
        stage.consumer.commit_soon({A: 2}, calls.note("in line"))
        stage.group.lose()
        await anyio.sleep(0.1)
        await stage.give(A)
        stage.consumer.commit_soon({A: 3}, calls.note("anew"))
        await anyio.sleep(3)
    assert calls.statuses == [CommitStatus.REFUSED, CommitStatus.REFUSED, CommitStatus.COMMITTED]


async def test_a_seek_back_counts_although_a_commit_was_on_its_way() -> None:
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        await stage.consumer.getmany(max_records=40, timeout=1)
        stage.group.commit_seconds = 1.0
        stage.consumer.commit_soon()
        await anyio.sleep(0.1)
        stage.consumer.seek(A, 5)
        await anyio.sleep(2)
        assert stage.group.offsets == {A: 40}
        await stage.consumer.getmany(max_records=3, timeout=1)
        await stage.consumer.commit()
        assert stage.group.offsets == {A: 8}
