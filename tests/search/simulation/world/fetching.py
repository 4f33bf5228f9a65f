"""Where a member's reading begins, and what it fetches, at levels A and A'.

Decides: nothing that the real positions do not; one fetch is out at a time, and waits at a broker
for records as long as a real one does.
Never: hands anything out.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kgroup.codes import ApiKey
from kgroup.machine.reactions import Reaction, reaction
from kgroup.membership.events import CommitRejected
from kgroup.net.coordinator import read_offset_fetch
from kgroup.types import Claim
from kgroup.wire.messages import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.search.simulation.world.member import Member
from tests.search.simulation.world.network import Lane
from tests.search.simulation.world.reading import Logs, Reading, Wanted

_MAX_WAIT: Final = 5.0
"""Seconds that a fetch waits at a broker for records."""
_RETRY: Final = 0.2


class Fetching:
    """Brings records for one member.

    Args:
        member: knows the coordinator.
        reading: keeps positions and buffers.
        logs: what there is to read.
        arrived: called when something has come.
    """

    def __init__(
        self, member: Member, reading: Reading, logs: Logs, arrived: Callable[[], None]
    ) -> None:
        self._member = member
        self._process = member.process
        self._reading = reading
        self._logs = logs
        self._arrived = arrived
        self._fetch: tuple[Wanted, ...] = ()
        self._fetches = 0

    # -- positions -------------------------------------------------------------------------------

    def ask_positions(self) -> None:
        """Ask for committed offsets of claims that have no position, if there is a coordinator."""
        node_id = self._member.value.coordinator.node_id
        if node_id is None or self._member.over:
            return
        claims = self._reading.unplaced()
        if claims:
            request = _offset_fetch(self._member.settings.group_id, claims)
            timeout = self._member.settings.request_timeout
            hear = partial(self._placed, tuple(claims), node_id)
            self._process.ask(node_id, Lane.CONTROL, request, timeout, hear)

    def _placed(
        self,
        claims: tuple[Claim, ...],
        node_id: int,
        answer: OffsetFetchResponse | None,
        _why: str,
    ) -> None:
        member = self._member
        offsets = None if answer is None else read_offset_fetch(answer, member.settings.group_id)
        generation = member.value.identity.generation
        number = None if generation is None else generation.generation_id
        again = []
        for claim in claims:
            row = None if offsets is None else offsets.partitions.get(claim.tp)
            if row is None or row.code:
                again.append(claim)
            else:
                self._reading.place(claim, row.committed, number)
        code = 0 if offsets is None else offsets.code
        moved = code and reaction(ApiKey.OFFSET_FETCH, code) is Reaction.FIND_COORDINATOR
        if moved and generation is not None and node_id == member.value.coordinator.node_id:
            member.apply(CommitRejected(Reaction.FIND_COORDINATOR, generation, code))
        if again:
            self._process.at(member.now + _RETRY, self._unasked, again)
        self.fetch_more()

    def _unasked(self, claims: list[Claim]) -> None:
        self._reading.unasked(claims)
        self.ask_positions()

    # -- fetching --------------------------------------------------------------------------------

    def fetch_more(self) -> None:
        """Ask for records, unless the same is asked for already."""
        wanted = self._reading.wanted()
        if wanted and wanted != self._fetch:
            self._fetch = wanted
            self._fetches += 1
            arrival = max(self._member.now, self._process.reach.out_until) + self._delay()
            self._process.world.at(arrival, self._fetched, self._fetches, arrival + _MAX_WAIT)

    def _fetched(self, number: int, until: float) -> None:
        """Answer a fetch at the broker, or have it wait there for more records."""
        if number != self._fetches:
            return
        ends = self._logs.ends
        found = [(each, ends.get(each[0].tp, 0)) for each in self._fetch]
        found = [(each, end) for each, end in found if end > each[2]]
        now = self._process.clock.now
        if not found and now < until:
            self._logs.wait(partial(self._fetched, number, until))
            return
        arrival = max(now, self._process.reach.in_until) + self._delay()
        self._process.at(arrival, self._received, number, found)

    def _received(self, number: int, found: list[tuple[Wanted, int]]) -> None:
        if number != self._fetches:
            return
        self._fetch = ()
        came = [self._reading.receive(each, end) for each, end in found]
        if any(came):
            self._arrived()
        self.fetch_more()

    def _delay(self) -> float:
        return self._process.world.delay(self._process.reach)


def _offset_fetch(group_id: str, claims: Iterable[Claim]) -> OffsetFetchRequest:
    by_topic: dict[str, list[int]] = {}
    for claim in claims:
        by_topic.setdefault(claim.tp.topic, []).append(claim.tp.partition)
    topics = tuple(
        OffsetFetchRequestTopics(name=topic, partition_indexes=tuple(numbers))
        for topic, numbers in by_topic.items()
    )
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    return OffsetFetchRequest(groups=(group,), require_stable=True)
