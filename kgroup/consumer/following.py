"""Reading every partition of topics without a group.

Decides: which partitions the topics or the pattern asked for have now: those are owned, as if they
were assigned by hand, and what is added later too.
Never: asks for metadata itself; calls a listener: nobody takes anything away.
"""

from kgroup.consumer.coordination.standalone import StandaloneBackend
from kgroup.consumer.coordination.topics import SubscribedTopics, to_watch
from kgroup.consumer.ownership import Ownership
from kgroup.net.cluster import Cluster
from kgroup.types import Subscription, TopicPartition

__all__ = ["Following"]


class Following:
    """Keeps what is owned equal to what there is.

    Args:
        cluster: its view; not owned.
        standalone: owns the partitions.
        ownership: carries changes out.
        exclude_internal: whether a pattern leaves out topics of the brokers.
    """

    def __init__(
        self,
        cluster: Cluster,
        standalone: StandaloneBackend,
        ownership: Ownership,
        *,
        exclude_internal: bool,
    ) -> None:
        self._cluster = cluster
        self._standalone = standalone
        self._ownership = ownership
        self._topics = SubscribedTopics(exclude_internal=exclude_internal)
        self._asked = False

    def ask(self, wanted: Subscription | None) -> None:
        """Follow topics or a pattern from now on, nothing with None."""
        self._asked = wanted is not None
        if wanted is None:
            return
        self._topics.ask(wanted)
        if wanted.pattern is not None:
            # All topics may be known already, but there may be new ones since.
            self._cluster.invalidate()
        self._cluster.watch(to_watch(wanted))
        self.look()

    def look(self) -> None:
        """Take in the present view of the cluster."""
        view = self._cluster.view
        names = self._topics.among(view) if self._asked else None
        if names is None:
            return
        known = ((name, view.topics.get(name)) for name in names)
        wanted = {
            TopicPartition(name, number)
            for name, topic in known
            if topic is not None
            for number in topic.partitions
        }
        if wanted != {claim.tp for claim in self._standalone.membership.claims}:
            for change in self._standalone.own(wanted):
                self._ownership.settle_now(change)
