"""kgroup in Marshal mode: members that claim partitions in a log, without a coordinator.

Decides: that a level is a guarantee; that a session is twice the interval of heartbeats, in whole
seconds, as Marshal has it.
Never: makes the log: it is there when a job comes.
"""

import time
from typing import Any, Final

import anyio

from kgroup.bench.clients.following import Following
from kgroup.bench.clients.measuring import Pass
from kgroup.bench.clients.native import LEVELS, Native, followed

_SETTLED: Final = 0.2
"""Seconds that a consumer stands before it claims: it asks for metadata again no sooner."""
_PATIENCE: Final = 60.0
_ONCE: Final = "at most once"

Job = dict[str, Any]


class Marshal(Native):
    """Makes a `kgroup.Consumer` that claims."""

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""

        async def main() -> None:
            async with self._consumer(job, run.group, **_options(job)) as consumer:
                with anyio.move_on_after(job["limit_s"]):
                    await LEVELS["records"](consumer, run, job["records"])
                run.complete()

        self._run(main)

    def follow(self, job: Job, told: Following) -> None:
        """Be a member of a group, and tell what is delivered until it is over."""
        options = {
            **_options(job),
            "group_instance_id": job["instance"],
            "marshal_heartbeat_interval": max(1.0, float(round(job["session_timeout_s"] / 2))),
        }
        if job["level"] != _ONCE:
            options |= {"enable_auto_commit": True, "auto_commit_interval": job["auto_commit_s"]}
        self._run(lambda: followed(lambda: self._consumer(job, job["group"], **options), told))

    def claim(self, job: Job) -> dict[str, Any]:
        """Claim a partition, time after time, in a group of its own each time."""

        async def main() -> list[float]:
            return [await self._claim(job, number) for number in range(job["claims"] + 1)]

        _warm_up, *times = self._run(main)
        return {"claims_s": times}

    async def _claim(self, job: Job, number: int) -> float:
        owned = _Owned()
        consumer = self._make(
            bootstrap_servers=job["bootstrap"],
            group_id=f"{job['group']}-{number}",
            **_options(job),
        )
        with anyio.fail_after(_PATIENCE):
            async with consumer:
                await anyio.sleep(_SETTLED)
                began = time.perf_counter()
                consumer.subscribe(job["topic"], listener=owned)
                await owned.some.wait()
        return owned.at - began


def _options(job: Job) -> Job:
    return {
        "backend": "marshal",
        "coordination_topic": job["log"],
        "guarantee": job["level"].replace(" ", "_"),
        "auto_offset_reset": "earliest",
    }


class _Owned:
    """A listener that waits for the first partition."""

    def __init__(self) -> None:
        self.some = anyio.Event()
        self.at = 0.0

    def on_assigned(self, _consumer: object, _change: object, /) -> None:
        """Partitions are owned from now on."""
        self.at = time.perf_counter()
        self.some.set()
