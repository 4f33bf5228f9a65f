"""The health server answers from a thread of its own."""

import json
import time
import urllib.error
import urllib.request
from typing import Any

import anyio
import pytest

from kgroup.observe.health import Limits, Monitor
from kgroup.observe.health_server import serving
from kgroup.observe.vitals import Pulse, Vitals
from kgroup.types import Claim, Membership, MemberState, TopicPartition

CLAIM = Claim(TopicPartition("t", 0), 1)


class Patient:
    """A member whose lease ends soon after each look."""

    def vitals(self) -> Vitals:
        now, member = time.monotonic(), Membership("g", MemberState.STABLE, claims=(CLAIM,))
        return Vitals(now, member, pulse=Pulse(until=now + 0.4, lease=0.4))


def asked(port: int, path: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.anyio
async def test_it_answers_red_while_the_loop_is_blocked() -> None:
    monitor = Monitor(Patient(), Limits(lease=0.5), every=0.01, clock=time.monotonic)
    async with monitor.running():
        with serving(monitor, 0, "127.0.0.1") as port:
            _, body = await anyio.to_thread.run_sync(asked, port, "/ready")
            assert body["state"] == "stable"
            time.sleep(0.3)  # noqa: ASYNC251 - the loop is blocked
            status, body = asked(port, "/live?why=probe")
            assert status == 503
            assert body["causes"][0].startswith("the membership ends in")
            assert asked(port, "/else")[0] == 404
