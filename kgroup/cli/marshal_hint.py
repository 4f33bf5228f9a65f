"""What is said of a group that claims its partitions in a log, where it looks like an empty one.

Decides: in which words, and that a log that cannot be read is reported and makes no verb fail.
Never: shows claims; `kgroup marshal state` does.
"""

from collections.abc import Collection, Iterable, Mapping

from kgroup.admin.marshal.finding import find_claiming
from kgroup.cli.connecting import Common, consumer_config, first_of
from kgroup.cli.tables import screen
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, KGroupError
from kgroup.net.cluster import Cluster
from kgroup.net.group_description import GroupDescription


def marshal_text(group_id: str) -> str:
    """Return where to look for a Marshal group."""
    return f"Marshal group, see `kgroup marshal state {group_id}`"


class ClaimsOf:
    """Which groups without members claim in a log; each is looked for once.

    Args:
        topic: the coordination topic.
        timeout: seconds to read it.
    """

    def __init__(self, topic: str, timeout: float) -> None:
        self._topic = topic
        self._timeout = timeout
        self._known: dict[str, bool | None] = {}

    @classmethod
    def of(cls, common: Common) -> "ClaimsOf":
        """Return the one that a command line means."""
        return cls(consumer_config(common).coordination_topic, common.timeout)

    async def look(
        self, cluster: Cluster, groups: Iterable[GroupDescription]
    ) -> Mapping[str, bool | None]:
        """Return of each group whether it is a Marshal group, None when that is not known."""
        empty = {each.group_id: each.members == () for each in groups}
        asked = [name for name, is_empty in empty.items() if is_empty and name not in self._known]
        self._known |= await self._find(cluster, asked)
        return {name: is_empty and self._known[name] for name, is_empty in empty.items()}

    async def explained(self, cluster: Cluster, group_id: str, error: BrokerError) -> BrokerError:
        """Return the error to tell of a group, which its coordinator may not know."""
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            return error
        if not (await self._find(cluster, [group_id]))[group_id]:
            return error
        text = f"{group_id!r} has committed nothing yet: {marshal_text(group_id)}"
        return BrokerError(error.api, error.code, text)

    async def _find(self, cluster: Cluster, asked: Collection[str]) -> dict[str, bool | None]:
        found: dict[str, bool | None] = dict.fromkeys(asked)
        try:
            claiming = await find_claiming(cluster, self._topic, asked, timeout=self._timeout)
            found = {name: name in claiming for name in asked}
        except* (KGroupError, TimeoutError) as errors:
            why = first_of(errors)
            text = f"whether a group without members is a Marshal group is not known: {why}"
            screen(stderr=True).print(text, markup=False)
        return found
