"""A Kafka that is already there, named by KGROUP_BOOTSTRAP.

Decides: nothing about it; only that it must answer before it is used.
Never: stops, starts or changes it.
"""

import time
from typing import NoReturn

from kgroup.errors import ConnectionLostError, NoBrokerError, UnsupportedError
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.testing.kafka.secured import SecureAccess
from kgroup.wire.messages import MetadataRequest

_TIMEOUT = 5.0


class GivenKafka:
    """Somebody else's cluster.

    Args:
        bootstrap: `host:port`, several separated by commas.
        nodes: ids of its brokers.
    """

    kind = "given"
    version: str | None = None

    def __init__(self, bootstrap: str, nodes: tuple[int, ...]) -> None:
        self.bootstrap = bootstrap
        self.nodes = nodes

    @property
    def access(self) -> SecureAccess | None:
        """Nothing: what is secured here is not known."""
        return None

    def describe(self) -> str:
        """Say in words what it is."""
        count = f"{len(self.nodes)} broker(s)"
        return f"Kafka of unknown version, {count}, given by KGROUP_BOOTSTRAP, {self.bootstrap}"

    def kill(self, node_id: int) -> None:
        """Refuse: it is not ours."""
        self._refuse("kill", node_id)

    def stop(self, node_id: int) -> None:
        """Refuse: it is not ours."""
        self._refuse("stop", node_id)

    def restart(self, node_id: int) -> None:
        """Refuse: it is not ours."""
        self._refuse("restart", node_id)

    def heal(self) -> None:
        """Do nothing: nothing was stopped."""

    def close(self) -> None:
        """Do nothing: it lives on."""

    def _refuse(self, verb: str, node_id: int) -> NoReturn:
        raise UnsupportedError(
            f"cannot {verb} node {node_id} of {self.bootstrap}: KGROUP_BOOTSTRAP names somebody "
            "else's Kafka; unset it to start one that may be disturbed"
        )


def find_given(bootstrap: str) -> GivenKafka:
    """Return the cluster behind an address.

    Raises:
        ConfigError: the address cannot be read.
        NoBrokerError: no address answers; with the reason of each.
    """
    tried: dict[str, str] = {}
    began = time.monotonic()
    for host, port in parse_bootstrap(bootstrap):
        try:
            with Probe((host, port), timeout=_TIMEOUT) as probe:
                brokers = probe.ask(MetadataRequest(topics=())).brokers
        except ConnectionLostError as error:
            tried[f"{host}:{port}"] = error.reason
        else:
            return GivenKafka(bootstrap, tuple(sorted(row.node_id for row in brokers)))
    raise NoBrokerError(tried, max(0.1, round(time.monotonic() - began, 1)))
