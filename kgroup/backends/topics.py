"""What a subscription comes to: names of topics, from one view of the cluster.

Decides: which topics a pattern takes, and which must be watched to tell. A pattern is judged only
by an answer about *all* topics: an older, narrower one would have the member join with too little.
Topics that vanish from such an answer leave the subscription; no error is raised. Topics
asked for by name stay, whether they are there or not.
Never: asks, or waits for anything; every backend that subscribes stands on this.
"""

import re
from collections.abc import Callable
from contextlib import suppress

from kgroup.errors import AuthenticationError
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.metadata import TopicInfo
from kgroup.types import Subscription


def to_watch(subscription: Subscription | None) -> frozenset[str] | None:
    """Return the topics whose metadata a subscription needs, None for all there are."""
    if subscription is None:
        return frozenset()
    if subscription.partitions is not None:
        return frozenset(tp.topic for tp in subscription.partitions)
    return subscription.topics


def matching(view: ClusterView, takes: Callable[[str, TopicInfo], bool]) -> frozenset[str] | None:
    """Return the topics of a view that are taken; None when it is not about all topics."""
    if view.asked is not None:
        return None
    return frozenset(name for name, topic in view.topics.items() if takes(name, topic))


class SubscribedTopics:
    """Resolves one member's subscription, once per view.

    Args:
        exclude_internal: whether a pattern leaves out topics of the brokers; names do not.
    """

    def __init__(self, *, exclude_internal: bool = True) -> None:
        self._exclude_internal = exclude_internal
        self._names: frozenset[str] | None = None
        self._taken: re.Pattern[str] | None = None
        self._left_out: re.Pattern[str] | None = None
        self._seen: ClusterView | None = None
        self._found: frozenset[str] | None = None

    def ask(self, subscription: Subscription | None) -> None:
        """Resolve something else from now on, None for nothing."""
        wanted = subscription or Subscription()
        self._names = wanted.topics
        self._taken = None if wanted.pattern is None else re.compile(wanted.pattern)
        self._left_out = None if wanted.exclude is None else re.compile(wanted.exclude)
        self._seen = None

    @property
    def by_pattern(self) -> bool:
        """Whether a pattern is asked for."""
        return self._taken is not None

    def among(self, view: ClusterView) -> frozenset[str] | None:
        """Return the topics to ask the group for; None while a view cannot say."""
        if self._taken is None:
            return self._names
        if view is not self._seen:
            self._seen, self._found = view, matching(view, self._takes)
        return self._found

    def _takes(self, name: str, topic: TopicInfo) -> bool:
        if topic.is_gone or (topic.is_internal and self._exclude_internal):
            return False
        if self._taken is None or not self._taken.match(name):
            return False
        return self._left_out is None or not self._left_out.match(name)


# -- metadata watch --------------------------------------------------------------------------------
#
# Metadata as it changes, for a member whose topics hang on it.
#
# Decides: that a refusal of our credentials ends the watch and nothing else: the cluster tells its
# owner, which ends the member.
# Never: asks; the cluster does, at its own pace.


async def watch_metadata(cluster: Cluster, resolve: Callable[[ClusterView], None]) -> None:
    """Tell of the present view, and of each that differs from the one before; until cancelled.

    Args:
        cluster: running.
        resolve: takes a view; must not wait.
    """
    view = cluster.view
    with suppress(AuthenticationError):
        while True:
            resolve(view)
            view = await cluster.changed(view)
