"""What a member may conclude from what it has read, held against the whole log.

Decides: whether a claim, a gain, a position that goes back has its reason in the log, or in what an
application asked for.
Never: looks into a member: only what it writes and tells counts, and how far it has read.
"""

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import Guarantee, Verdict
from kgroup.types import Claim, TopicPartition
from tests.marshal.room.log import WALL, Fact

if TYPE_CHECKING:
    from tests.marshal.room.node import Node
    from tests.marshal.room.room import Room

_COUNTS: Final = frozenset({Verdict.RENEWED, Verdict.ADOPTED})
_SIGNS: Final = _COUNTS | {Verdict.ACCEPTED}

_SLACK: Final = 5.0
"""Seconds by which a member may misjudge the time of the log."""


class Hindsight:
    """Knows how the log came to be what it is.

    Args:
        room: that is judged.
    """

    def __init__(self, room: "Room") -> None:
        self._room = room
        self._asked: dict[TopicPartition, set[int]] = defaultdict(set)
        self._position: dict[TopicPartition, int] = {}
        self._generation = 0

    def asked(self, claim: Claim, offset: int) -> None:
        """Note that an application commits a position."""
        self._asked[claim.tp].add(offset)

    def _of(self, tp: TopicPartition) -> list[Fact]:
        """Return what the log says about a key, the latest first."""
        return [fact for fact in reversed(self._room.log.facts) if fact.read.tp == tp]

    def claims(self, node: "Node", tp: TopicPartition) -> str | None:
        """Return what is wrong with a claim: it has read that somebody else has the key.

        In one step it may hear of a release and claim, or wake, claim because that was due while
        it slept, and hear then that it is too late. So both what it knew before and what it knows
        now must speak against it.
        """
        facts = self._of(tp)
        known = [fact for fact in facts if node.has_read(fact.read.offset)]
        knew = [fact for fact in facts if node.has_read(fact.read.offset, before=True)]
        return self._is_somebodys(node, knew) and self._is_somebodys(node, known)

    def _is_somebodys(self, node: "Node", facts: list[Fact]) -> str | None:
        sign = next((fact for fact in facts if fact.read.verdict in _SIGNS), None)
        if sign is None or not facts[0].read.standing.owned:
            return None
        standing = sign.read.standing
        if standing.client_id == node.member.who[0]:
            return None  # a twin's, or its own: the log says what becomes of it
        said_at = sign.at
        if not self._room.log.append_time:
            said_at = min(said_at, (standing.beat or 0) / 1000 - WALL)
        age, lease = self._room.now - said_at, standing.ttl / 1000
        if age < lease - _SLACK:
            return f"it has read that it is {standing.client_id!r}'s, {age:.1f} s ago"
        return None

    def gains(self, node: "Node", claim: Claim) -> str | None:
        """Return what is wrong with a gain: no heartbeat under the claim was read back."""
        for fact in self._of(claim.tp):
            read = fact.read
            if (read.client_id, read.instance_id) != node.member.who:
                continue
            if not node.has_read(read.offset):
                continue
            if read.kind is Kind.HEARTBEAT and read.verdict in _COUNTS:
                return None
            if read.verdict is Verdict.ACCEPTED:
                break
        return "no heartbeat of it was read back"

    def written(self, fact: Fact) -> str | None:
        """Return what is wrong with a record: it takes a position back that nobody asked for."""
        room, read = self._room, fact.read
        if self._generation != room.log.generation:
            self._generation = room.log.generation
            self._position.clear()
        offset, before = read.standing.offset, self._position.get(read.tp)
        if offset is not None:
            self._position[read.tp] = offset
        who = read.client_id, read.instance_id
        node = next((each for each in room.nodes if each.member.who == who), None)
        # At most once, a refused batch is not handed out, and goes to the next owner.
        if node is None or node.settings.guarantee is Guarantee.AT_MOST_ONCE:
            return None
        if offset is None or before is None or offset >= before or offset in self._asked[read.tp]:
            return None
        return f"takes {read.tp} back from {before} to {offset}, which nobody has committed"
