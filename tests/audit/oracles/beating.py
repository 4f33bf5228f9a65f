"""What the tests of heartbeats begin with: the log of a stable member, judged by L3 and B5.

Decides: how far a gap may be over before it is called late.
Never: judges by another oracle.
"""

from kgroup.audit.oracles import Heartbeats
from kgroup.types import MemberState
from tests.audit.oracles.logs import STABLE, Log

SYNCING = MemberState.SYNCING


def rules(log: Log) -> list[str]:
    return log.rules(Heartbeats(slack=0.05))


def stable(*, isolated: bool = False) -> Log:
    """Return the log of a member that has just become stable; it beats once a second.

    With `isolated`, a thread of its does when its loop is blocked.
    """
    log = Log()
    log.start(isolated=isolated)
    log.join()
    log.state(SYNCING, STABLE)
    log.enter()
    log.beat()
    return log
