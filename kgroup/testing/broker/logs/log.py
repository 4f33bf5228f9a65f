"""The records of one partition."""

from kgroup.testing.broker.bell import Bell
from kgroup.testing.broker.context import Context

__all__ = ["Log"]


class Log:
    """The records of one partition, one log for all of its replicas.

    Args:
        context: of the cluster.
    """

    def __init__(self, context: Context) -> None:
        self.bell = Bell()
