"""When a broker may be called ready.

Decides: that every broker sees every other, that each partition of the offsets topic is led and
loaded, and that every live replica is in sync, so that the next one may die. A new cluster answers
group requests 15 while the offsets topic is made, then 16, then 14; a test that began there would
test the start of a broker.
Never: leaves a group behind: it asks for descriptions of groups that do not exist.
"""

import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import (
    BrokerError,
    ConfigError,
    ConnectionLostError,
    TransportError,
    UnsupportedVersionError,
)
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
    MetadataRequestTopic,
)
from kgroup.wire.schema import Message, Request

R = TypeVar("R", bound=Message)

_CLIENT_ID = "kgroup-probe"
# Every broker since 2.4 speaks it, and a client must not ask for more than a broker knows.
_API_VERSIONS_VERSION = 3


class Probe:
    """A connection to one broker; use it in a `with` block.

    Args:
        address: `(host, port)` of the broker.
        timeout: seconds that connecting, and each answer, may take.
    """

    def __init__(self, address: tuple[str, int], *, timeout: float = 5.0) -> None:
        self.address = address
        self.timeout = timeout
        self._socket: socket.socket | None = None
        self._splitter = FrameSplitter()
        self._asked = 0
        self._spoken: dict[int, range] = {}

    def __enter__(self) -> Self:
        try:
            self._socket = socket.create_connection(self.address, self.timeout)
        except OSError as error:
            raise self._lost(str(error)) from error
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def api_versions(self) -> ApiVersionsResponse:
        """Ask which APIs and versions the broker speaks."""
        request = ApiVersionsRequest(client_software_name="kgroup", client_software_version="0")
        answer = self._exchange(request, _API_VERSIONS_VERSION)
        self._spoken = {
            row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys
        }
        return answer

    def ask(self, request: Request[R], *, version: int | None = None) -> R:
        """Send a request and return the answer.

        Args:
            request: the message.
            version: to send it in, whatever the broker speaks; None = the highest of both sides.

        Raises:
            ConnectionLostError: the broker closed, or did not answer in time.
            UnsupportedVersionError: there is no common version.
        """
        if version is not None:
            return self._exchange(request, version)
        if not self._spoken:
            self.api_versions()
        theirs = self._spoken.get(request.api_key, range(0))
        common = [version for version in request.VERSIONS if version in theirs]
        if not common:
            name = ApiKey(request.api_key).name
            raise UnsupportedVersionError(name, f"the broker speaks {theirs}")
        return self._exchange(request, common[-1])

    def _exchange(self, request: Request[R], version: int) -> R:
        self._asked += 1
        deadline = time.monotonic() + self.timeout
        try:
            self._connected.sendall(encode_request(request, version, self._asked, _CLIENT_ID))
            frame = self._frame(deadline)
        except OSError as error:
            raise self._lost(str(error) or type(error).__name__) from error
        _, answer = decode_response(type(request), version, frame)
        return answer

    def _frame(self, deadline: float) -> memoryview:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer within {self.timeout:g} s")
            self._connected.settimeout(left)
            data = self._connected.recv(65_536)
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            for frame in self._splitter.feed(data):
                return frame

    @property
    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise self._lost("not connected; use the probe in a `with` block")
        return self._socket

    def _lost(self, reason: str) -> ConnectionLostError:
        host, port = self.address
        return ConnectionLostError(f"{host}:{port}", reason)


# -- ready -----------------------------------------------------------------------------------------


Address = tuple[str, int]

_OFFSETS_TOPIC = "__consumer_offsets"
_PAUSE = 0.05
# A group that does not exist: 0 (state Dead) up to DescribeGroups v5, 69 since.
_SERVED = frozenset({ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND})


def wait_ready(
    addresses: Sequence[Address],
    *,
    brokers: int,
    timeout: float,
    check: Callable[[], None],
) -> None:
    """Return when the cluster serves groups.

    Args:
        addresses: of the brokers that must answer.
        brokers: how many brokers each of them must see.
        timeout: seconds to wait at most.
        check: called between attempts; raises when waiting is in vain.

    Raises:
        TimeoutError: it is not ready in time; says what was last in the way.
    """
    deadline = time.monotonic() + timeout
    for address in addresses:
        until(partial(_sees, address, brokers), deadline, check)
    until(partial(_serves_groups, addresses[0]), deadline, check)
    until(partial(_in_sync, addresses[0]), deadline, check)


def until(
    obstacle: Callable[[], str | None], deadline: float, check: Callable[[], None] = lambda: None
) -> None:
    """Ask what is in the way, again and again, until there is nothing.

    Args:
        obstacle: returns None when all is well, otherwise what is still in the way.
        deadline: of the monotonic clock.
        check: called between attempts; raises when waiting is in vain.

    Raises:
        TimeoutError: something is still in the way at the deadline; says what.
    """
    while True:
        check()
        try:
            left = obstacle()
        except (TransportError, BrokerError) as error:
            left = str(error)
        if left is None:
            return
        if time.monotonic() + _PAUSE > deadline:
            raise TimeoutError(f"Kafka is not ready: {left}")
        time.sleep(_PAUSE)


def parse_bootstrap(bootstrap: str) -> list[Address]:
    """Read `host:port,host:port`.

    Raises:
        ConfigError: an entry is not `host:port`.
    """
    found = []
    for entry in bootstrap.split(","):
        host, colon, port = entry.strip().rpartition(":")
        if not (colon and port.isdigit()):
            raise ConfigError("bootstrap", entry, "host:port")
        found.append((host.strip("[]"), int(port)))
    return found


def offsets_partition(group_id: str, partitions: int) -> int:
    """Return the partition of the offsets topic that keeps a group.

    It is Math.abs of Java's string hash, not its low 31 bits: the two differ for odd negative
    hashes.
    """
    value = 0
    units = group_id.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFF_FFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def group_on_partition(partition: int, partitions: int) -> str:
    """Return a group id that the given partition of the offsets topic keeps."""
    number = 0
    while offsets_partition(f"kgroup-warm-up-{number}", partitions) != partition:
        number += 1
    return f"kgroup-warm-up-{number}"


def _sees(address: Address, brokers: int) -> str | None:
    with Probe(address) as probe:
        seen = len(probe.ask(MetadataRequest(topics=())).brokers)
    host, port = address
    return None if seen >= brokers else f"{host}:{port} sees {seen} of {brokers} brokers"


def _serves_groups(address: Address) -> str | None:
    with Probe(address) as probe:
        obstacle = _coordinator_answers(probe, group_on_partition(0, 1))
        if obstacle:
            return obstacle
        topic = MetadataRequestTopic(name=_OFFSETS_TOPIC)
        described = probe.ask(MetadataRequest(topics=(topic,))).topics[0]
        partitions = len(described.partitions)
        for partition in range(partitions):
            group = group_on_partition(partition, partitions)
            obstacle = _coordinator_answers(probe, group)
            if obstacle:
                return obstacle
    return None if partitions else f"{_OFFSETS_TOPIC} has no partition yet"


def _in_sync(address: Address) -> str | None:
    with Probe(address) as probe:
        cluster = probe.ask(MetadataRequest(topics=None))
    live = {broker.node_id for broker in cluster.brokers}
    for topic in cluster.topics:
        for partition in topic.partitions:
            behind = live.intersection(partition.replica_nodes).difference(partition.isr_nodes)
            if behind:
                return f"{topic.name}-{partition.partition_index} is not in sync on {behind}"
    return None


def _coordinator_answers(probe: Probe, group_id: str) -> str | None:
    found = probe.ask(FindCoordinatorRequest(coordinator_keys=(group_id,))).coordinators[0]
    if found.error_code != ErrorCode.NONE:
        return str(BrokerError("FindCoordinator", found.error_code))
    with Probe((found.host, found.port)) as coordinator:
        answer = coordinator.ask(DescribeGroupsRequest(groups=(group_id,))).groups[0]
    if answer.error_code in _SERVED:
        return None
    return str(BrokerError("DescribeGroups", answer.error_code))
