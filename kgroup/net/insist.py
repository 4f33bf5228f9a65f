"""Repeats a request until it works, is refused, or the time is up.

Decides: which failures are worth another attempt, and the pause before it.
Never: is used where a second attempt does harm; the attempt itself must be repeatable.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from kgroup.codes import ApiKey
from kgroup.errors import BrokerError, DecodeError, TransportError
from kgroup.net.cluster import Cluster
from kgroup.net.verdict import Backoff, Verdict, verdict

__all__ = ["insist"]

R = TypeVar("R")


async def insist(
    cluster: Cluster, attempt: Callable[[], Awaitable[R]], *, timeout: float, what: str
) -> R:
    """Return what an attempt returns.

    Args:
        cluster: told to refresh its metadata when a broker was not the right one.
        attempt: one try; raises BrokerError for what a broker answered.
        timeout: seconds for all attempts and pauses.
        what: words for the error.

    Raises:
        BrokerError: refused for good.
        TimeoutError: no attempt worked in time; its cause is the last failure.
        ClosedError, UnsupportedVersionError: as the attempt raised them.
    """
    backoff = Backoff(cluster.settings.retry_backoff, cluster.settings.retry_backoff_max)
    dice = cluster.ports.dice_for(what)
    last: Exception | None = None
    with anyio.move_on_after(timeout):
        while True:
            try:
                return await attempt()
            except BrokerError as error:
                last = _unless_refused(error)
            except (TransportError, DecodeError, TimeoutError) as error:
                last = error
            cluster.invalidate()
            backoff = backoff.failed()
            await anyio.sleep(backoff.pause(dice))
    because = "" if last is None else f"; last: {last}"
    raise TimeoutError(f"{what}: not done within {timeout:g} s{because}") from last


def _unless_refused(error: BrokerError) -> BrokerError:
    if verdict(ApiKey[error.api], error.code) is Verdict.REFUSED:
        raise error
    return error
