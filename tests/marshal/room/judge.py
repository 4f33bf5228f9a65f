"""What must hold in a room, whatever goes wrong in it.

Decides: which promise a step, a batch, an answer, a call of the listener breaks.
Never: takes part.
"""

import math
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

from kgroup.marshal.admission import AdmissionStage
from kgroup.marshal.events import Admitted, Committed, Event
from kgroup.marshal.key_state import KeyLife, due_of
from kgroup.marshal.rules import Guarantee
from kgroup.marshal.step import Step, next_deadline
from kgroup.types import ChangeKind, Claim, OwnershipChange, TopicPartition
from tests.marshal.room.hindsight import Hindsight
from tests.marshal.room.log import Fact

if TYPE_CHECKING:
    from tests.marshal.room.node import Node
    from tests.marshal.room.room import Room

_MOST_STEPS = 400


class Judge:
    """Sees everything.

    Args:
        room: that is judged.
    """

    def __init__(self, room: "Room") -> None:
        self.room = room
        self.broken: list[str] = []
        self.rows: Counter[str] = Counter()
        self.batch_moves: Counter[tuple[AdmissionStage, AdmissionStage]] = Counter()
        self.strict_until = math.inf
        """Until then nobody may hand out what the log does not give to it."""
        self.loose_until = 0.0
        """Until then they may: the log was cut off, and not everybody has noticed."""
        self._hash = sha256()
        self._ticks: Counter[tuple[str, int]] = Counter()
        self._state: dict[tuple[str, Claim], ChangeKind] = {}
        self._stages: dict[tuple[str, TopicPartition], AdmissionStage] = {}
        self._frontier: dict[TopicPartition, int] = {}
        self._asked: dict[tuple[str, int], tuple[dict[Claim, int], int]] = {}
        self._answered: set[tuple[str, int]] = set()
        self._hindsight = Hindsight(room)

    def breaks(self, what: str) -> None:
        """Note a broken promise."""
        self.broken.append(f"{self.room.now - 1000:.2f} {what}")

    def transcript(self) -> str:
        """Return a hash of all that happened."""
        return self._hash.hexdigest()

    # -- steps -----------------------------------------------------------------------------

    def stepped(self, node: "Node", event: Event, taken: Step) -> None:
        """Judge a step."""
        room, member = self.room, taken.member
        rows = [(tp, str(row)) for tp, row in taken.rows]
        self.rows.update(row for _, row in rows)
        words = (room.now, node.name, type(event).__name__, rows, len(taken.effects))
        self._hash.update(repr(words).encode())
        if next_deadline(member) <= room.now:
            self.breaks(f"{node.name}: something is due right after the step")
        for life in member.lives.values():
            self._move(node, life)
            if life.due != due_of(life):
                self.breaks(f"{node.name}: {life.tp} sleeps until {life.due}, not {due_of(life)}")
        most = node.settings.max_claims
        if most is not None and len(member.holdings.claims) > most:
            self.breaks(f"{node.name}: has {len(member.holdings.claims)}, and takes {most}")
        second = (node.name, int(room.now))
        self._ticks[second] += 1
        if self._ticks[second] == _MOST_STEPS:
            self.breaks(f"{node.name}: {_MOST_STEPS} steps within a second")

    def _move(self, node: "Node", life: KeyLife) -> None:
        key = (node.name, life.tp)
        before = self._stages.get(key, AdmissionStage.OVER)
        stage = AdmissionStage.OVER if life.admission is None else life.admission.stage
        if stage is not before:
            self.batch_moves[before, stage] += 1
            self._stages[key] = stage

    # -- the log ---------------------------------------------------------------------------

    def wrote_claim(self, node: "Node", tp: TopicPartition) -> None:
        """Judge a claim when it is sent."""
        if self._is_strict():
            self._note(f"{node.name} claims {tp}", self._hindsight.claims(node, tp))

    def appended(self, fact: Fact) -> None:
        """Judge a record when it is in the log."""
        sender = fact.read.client_id.decode()
        wrong = self._hindsight.written(fact)
        if self.room.now >= self.loose_until:
            self._note(f"{sender} writes {fact.read.kind.name}", wrong)

    def _is_strict(self) -> bool:
        return self.loose_until <= self.room.now < self.strict_until

    def _note(self, who: str, wrong: str | None) -> None:
        if wrong is not None:
            self.breaks(f"{who}: {wrong}")

    # -- records ---------------------------------------------------------------------------

    def handed_out(self, node: "Node", claim: Claim, begin: int, end: int) -> None:
        """Judge a batch."""
        room, tp = self.room, claim.tp
        who = f"{node.name} hands out {tp} [{begin}, {end})"
        if self._state.get((node.name, claim)) is not ChangeKind.ASSIGNED:
            self.breaks(f"{who}: the listener does not have it")
        if self._is_strict():
            self._is_owner(node, tp, who)
            for other in room.nodes:
                if other is not node and not other.dead and self._may(other, tp):
                    self.breaks(f"{who}: {other.name} may, too")
        frontier = self._frontier.get(tp)
        if node.settings.guarantee is Guarantee.AT_MOST_ONCE:
            if begin < (frontier or 0):
                self.breaks(f"{who}: twice, somebody was at {frontier}")
        elif begin > (frontier or 0):
            self.breaks(f"{who}: what is behind {frontier or 0} was skipped")
        self._frontier[tp] = max(frontier or 0, end)

    def _is_owner(self, node: "Node", tp: TopicPartition, who: str) -> None:
        state = self.room.log.state(tp)
        time = int(self.room.log.clock(self.room.now) * 1000)
        mine = state.is_owner(*(each for each in node.member.who))
        if not mine or not state.owned_at(max(time, self.room.log.time)):
            self.breaks(
                f"{who}: in the log it is {state.client_id!r}'s, {time - state.beat} ms old"
            )

    def _may(self, node: "Node", tp: TopicPartition) -> bool:
        member = node.member
        claims = [claim for claim in member.holdings.claims if claim.tp == tp]
        return any(member.may_deliver(claim, self.room.now) for claim in claims)

    # -- answers ---------------------------------------------------------------------------

    def asked(self, node: "Node", serial: int, offsets: dict[Claim, int]) -> None:
        """Note a commit."""
        self._asked[node.name, serial] = (offsets, len(self.room.log.facts))
        for claim, offset in offsets.items():
            self._hindsight.asked(claim, offset)

    def answered(self, node: "Node", answer: Committed | Admitted) -> None:
        """Judge an answer."""
        key = (node.name, answer.serial)
        if key in self._answered:
            self.breaks(f"{node.name}: {answer} is answered twice")
        self._answered.add(key)
        if isinstance(answer, Admitted):
            return
        offsets, since = self._asked.pop(key)
        for claim, offset in offsets.items():
            if claim not in answer.refused and not self._stands(node, claim, offset, since):
                self.breaks(
                    f"{node.name}: {claim} at {offset} is reported as committed, and is not"
                )

    def _stands(self, node: "Node", claim: Claim, offset: int, since: int) -> bool:
        """Tell whether the log came to say so, or said so already, or says what came later."""
        later = [asked.get(claim) for asked, _ in self._asked.values()]
        if any(each is not None for each in later):
            return True
        facts = self.room.log.facts
        if any(
            fact.read.tp == claim.tp and fact.read.standing.offset == offset
            for fact in facts[since:]
        ):
            return True
        return self.room.log.state(claim.tp).offset == offset or self.room.now < self.loose_until

    def unanswered(self) -> list[str]:
        """List commits of the living that nobody answered."""
        names = {node.name for node in self.room.nodes if not node.dead}
        return [f"{name}: commit {serial}" for name, serial in self._asked if name in names]

    # -- the listener ----------------------------------------------------------------------

    def tells(self, node: "Node", change: OwnershipChange) -> None:
        """Judge a change that a member reports; the listener may be busy for a while."""
        for claim in change.added if self.room.now >= self.loose_until else ():
            who = f"{node.name}: {claim} is assigned"
            self._note(who, self._hindsight.gains(node, claim))

    def called(self, node: "Node", change: OwnershipChange) -> None:
        """Judge a call."""
        before = self._state
        for claim in change.added:
            held = any(
                kind is ChangeKind.ASSIGNED and name == node.name and one.tp == claim.tp
                for (name, one), kind in before.items()
            )
            if (node.name, claim) in before or held:
                self.breaks(f"{node.name}: {claim} is assigned, and was")
            before[node.name, claim] = ChangeKind.ASSIGNED
        for claim in change.removed:
            if before.get((node.name, claim)) is not ChangeKind.ASSIGNED:
                self.breaks(f"{node.name}: {claim} {change.kind.value}, and it does not have it")
            before[node.name, claim] = change.kind
