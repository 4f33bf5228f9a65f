"""One in-process cluster: requests and time go in, answers come out.

Decides: which part answers which request, what is not spoken (`broker_facts.md` G2: a request whose
version is out of range is answered by closing the connection), and that a broker that is down
answers nothing.
Never: knows bytes, sockets or real time; `server` pairs its tickets with connections.
"""

from typing import Any

from kgroup.testing.broker.asked import HUNG_UP, Asked, Handler, Parked
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.finding import ClusterRequests
from kgroup.testing.broker.consumer_groups.classic_members import ClassicMembers
from kgroup.testing.broker.consumer_groups.describing import ConsumerGroupDescribing
from kgroup.testing.broker.consumer_groups.heartbeats import Heartbeats
from kgroup.testing.broker.consumer_groups.pace import Pace
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.fetching.fetches import Fetches
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.logs.asking import LogRequests
from kgroup.testing.broker.logs.producing import Producing
from kgroup.testing.broker.offsets.part import Offsets
from kgroup.testing.broker.transactions.coordinator import TransactionCoordinators
from kgroup.testing.broker.transactions.requests import TransactionRequests
from kgroup.wire.schema import Request


class Core:
    """One cluster.

    Args:
        context: clock, answers, settings.
        nodes: how many brokers; their ids are 1 to n.
    """

    def __init__(self, context: Context, nodes: int) -> None:
        self.context = context
        self.coordinators: Coordinators = Coordinators(context)
        self.cluster: Cluster = Cluster(context, nodes, self.coordinators)
        self.fetches: Fetches = Fetches(context, self.cluster)
        self.transactions: TransactionCoordinators = TransactionCoordinators(
            context, self.cluster, self.coordinators
        )
        self.offsets: Offsets = Offsets(context, self.coordinators, self.cluster, self.transactions)
        self.pace: Pace = Pace(context, self.coordinators, self.cluster)
        here = context, self.coordinators, self.cluster, self.pace
        self.producing: Producing = Producing(context, self.cluster, self.transactions)
        requests = ClusterRequests(self.cluster)
        self._handlers: dict[type[Request[Any]], Handler] = {
            **requests.handlers,
            **ClassicMembers(*here).handlers,
            **Heartbeats(*here).handlers,
            **ConsumerGroupDescribing(self.coordinators, self.cluster).handlers,
            **self.offsets.handlers,
            **self.fetches.handlers,
            **self.producing.handlers,
            **LogRequests(context, self.cluster).handlers,
            **TransactionRequests(self.cluster, self.transactions).handlers,
        }
        requests.versions.served = frozenset(request.api_key for request in self._handlers)

    def ask(self, asked: Asked, request: Request[Any]) -> None:
        """Take one request; its answer, if there will be one, is or will be in the outbox.

        Args:
            asked: where it came from; `asked.version` is one that `serves` was asked about.
            request: the message.
        """
        if not self.cluster.nodes[asked.node_id].alive:
            self.refuse(asked)
            return
        answer = self._handlers[type(request)](asked, request)
        if not isinstance(answer, Parked):
            self.context.outbox.reply(asked.ticket, answer)

    def disconnected(self, connection: int) -> None:
        """Learn that a connection is closed; what it waited for is not read any more.

        Args:
            connection: its number, as in `Asked`.
        """
        self.fetches.disconnected(connection)
        self.producing.disconnected(connection)

    def serves(self, request: type[Request[Any]], version: int) -> bool:
        """Whether a request of this version has an answer."""
        spoken = self.context.release.speaks(request.api_key, version)
        return spoken and request in self._handlers

    def refuse(self, asked: Asked) -> None:
        """Close the connection of a request that is not served."""
        self.context.outbox.reply(asked.ticket, HUNG_UP)
