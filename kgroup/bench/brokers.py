"""Brokers of this machine that die for a measurement, and come back.

Decides: which one coordinates a group.
Never: touches brokers that somebody else has given.
"""

from contextlib import suppress

from kgroup.errors import ConnectionLostError, NoBrokerError, UnsupportedError
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.wire.messages import FindCoordinatorRequest

FEWEST = 3
"""Brokers that a cluster has to have if it is to go on without one."""


class Brokers:
    """Brokers that can be killed.

    Args:
        kafka: a Kafka of this machine, None for one that was given.
    """

    def __init__(self, kafka: RealKafka | None) -> None:
        self._kafka = kafka

    @property
    def absent(self) -> str:
        """Why none can be killed, "" when one can."""
        fits = self._kafka is not None and len(self._kafka.nodes) >= FEWEST
        return "" if fits else "it takes three brokers of this machine: --brokers 3"

    def kill_coordinator(self, group: str) -> None:
        """Kill the broker that coordinates a group.

        Raises:
            UnsupportedError: none may be killed.
            NoBrokerError: no broker says which it is.
        """
        if self._kafka is None:
            raise UnsupportedError(self.absent)
        self._kafka.kill(self._coordinator(self._kafka, group))

    def heal(self) -> None:
        """Start what was killed; return when the cluster is whole."""
        if self._kafka is not None and not self.absent:
            self._kafka.heal()

    def _coordinator(self, kafka: RealKafka, group: str) -> int:
        request = FindCoordinatorRequest(coordinator_keys=(group,))
        for address in parse_bootstrap(kafka.bootstrap):
            with suppress(ConnectionLostError), Probe(address) as probe:
                (found,) = probe.ask(request).coordinators
                if not found.error_code:
                    return found.node_id
        raise NoBrokerError({kafka.bootstrap: f"does not know who coordinates {group}"}, 0.0)
