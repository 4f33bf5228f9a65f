"""The in-process broker as a stand-in, where no real Kafka can be had.

Decides: that it is set up as kgroup's real ones are, so that tests and demos find what they expect.
Never: hides what it is: `kind` and `describe` say so, and nothing that ran on it alone counts as
proved on Kafka.
"""

from typing import Final

from kgroup.testing.broker.inprocess import InProcessBroker
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.kafka.jars import DEFAULT_VERSION
from kgroup.testing.kafka.secured import SecureAccess
from kgroup.testing.kafka.supply import RealKafka

STAND_IN: Final = BrokerSettings(
    auto_create_topics=False,
    election_delay=3.0,
    follower_reads=True,
    min_session_timeout=1.0,
    offsets_partitions=3,
)
"""As kgroup sets up its real brokers."""


class InProcessKafka:
    """An in-process cluster on loopback sockets, as one of the ways to have a Kafka.

    Args:
        version: the Kafka it passes for.
        brokers: how many.
        settings: of the cluster.
    """

    kind = "in-process"
    access: SecureAccess | None = None

    def __init__(self, version: str, brokers: int, settings: BrokerSettings = STAND_IN) -> None:
        self.version: str | None = version
        racks = [f"rack-{number}" for number in range(1, brokers + 1)] if brokers > 1 else []
        self._broker = InProcessBroker(
            nodes=brokers, release=version, settings=settings, racks=racks
        )
        self._served = self._broker.serve()

    def start(self) -> None:
        """Open its sockets."""
        self._served.__enter__()

    @property
    def bootstrap(self) -> str:
        """`host:port` of its brokers, separated by commas."""
        return self._broker.bootstrap_servers

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of its brokers."""
        return tuple(self._broker.core.cluster.nodes)

    def describe(self) -> str:
        """Say in words what it is."""
        count = len(self.nodes)
        return (
            f"in-process broker in place of Kafka {self.version}, {count} broker(s), "
            f"{self.bootstrap}; not a real Kafka"
        )

    def kill(self, node_id: int) -> None:
        """Let a broker die."""
        self._broker.node(node_id).kill()

    def stop(self, node_id: int) -> None:
        """Let a broker hand over and end."""
        self._broker.node(node_id).stop()

    def restart(self, node_id: int) -> None:
        """Start a broker that was ended, on its old address and data."""
        self._broker.node(node_id).start()

    def heal(self) -> None:
        """Start every broker that was ended."""
        for node_id in self.nodes:
            if not self._broker.node(node_id).alive:
                self._broker.node(node_id).start()

    def close(self) -> None:
        """Close its sockets."""
        self._served.__exit__()


def stand_in(
    version: str = DEFAULT_VERSION, brokers: int = 1, settings: BrokerSettings = STAND_IN
) -> RealKafka:
    """Return an in-process broker behind the same calls as a real Kafka.

    Args:
        version: the Kafka it passes for.
        brokers: how many.
        settings: of the cluster.

    Raises:
        ValueError: no such release is known.
    """
    supply = InProcessKafka(version, brokers, settings)
    supply.start()
    return RealKafka(supply)
