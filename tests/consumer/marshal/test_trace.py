"""The journal of a Marshal member, with a log in memory."""

from dataclasses import dataclass, field
from itertools import pairwise

from kgroup.backends.marshal.effects import MarshalMachine
from kgroup.journal import (
    ClaimMessage,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    KeyChanged,
    MemorySink,
    StateChanged,
)
from kgroup.journal import Event as JournalEvent
from kgroup.machine.wishes import CallListener, ListenerDone, Moment, Subscribed, Tick
from kgroup.marshal.events import (
    Append,
    AppendFailed,
    CountsChanged,
    Effect,
    Event,
    FindPosition,
    KeyRead,
    LogOpened,
    LogRead,
    PositionFound,
)
from kgroup.marshal.key_rows import KeyPhase
from kgroup.marshal.key_state import Key
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.marshal.presence import is_presence
from kgroup.marshal.rules import MarshalSettings, Verdict, WorldRules
from kgroup.marshal.standing import standing_of
from kgroup.marshal.world import World
from kgroup.types import MemberState, TopicPartition

T0 = TopicPartition("t", 0)
_WAY = (
    KeyPhase.IDLE,
    KeyPhase.PAUSING,
    KeyPhase.CLAIMING,
    KeyPhase.LOCATING,
    KeyPhase.CONFIRMING,
    KeyPhase.OWNED,
)
WALL = 1_700_000_000
SETTINGS = MarshalSettings(group_id="g", client_id="web", instance_id="i1", started=5)
TOPICS = frozenset({"t"})


@dataclass
class Room:
    """One member, and the log that it writes to; nothing takes time but waiting."""

    machine: MarshalMachine
    member: MarshalMember
    sink: MemorySink
    world: World = field(default_factory=lambda: World(WorldRules(append_time=True, complete=True)))
    now: float = 0.0
    offset: int = 0
    kept: list[Append] = field(default_factory=list)
    keeps: bool = False
    """Whether what is written is kept back."""

    @property
    def events(self) -> list[JournalEvent]:
        return self.sink.events

    @property
    def steps(self) -> list[ClaimStep]:
        return [event for event in self.events if isinstance(event, ClaimStep)]

    def step(self, event: Event) -> None:
        result = self.machine.step(self.member, event, Moment(self.now))
        self.member = result.member
        for effect in result.effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Append() if self.keeps:
                self.kept.append(effect)
            case Append():
                words = effect.kind, effect.topic, effect.partition, effect.tail
                self.write("web/i1", *words, extension=effect.extension)
            case FindPosition():
                self.step(PositionFound(effect.ticket, 7))
            case CallListener():
                self.step(ListenerDone(effect.change.serial))
            case _:
                pass

    def write(
        self,
        sender: str,
        kind: Kind,
        topic: str,
        partition: int,
        tail: int = 0,
        *,
        extension: Extension,
    ) -> None:
        """Write a message to the log, and have the member read it."""
        client, instance = (word.encode() for word in sender.split("/"))
        time = WALL + int(self.now)
        message = Message(kind, time, instance, client, b"g", topic.encode(), partition, tail)
        headers = write_extension(extension)
        verdict = self.world.apply(self.offset, time * 1000, encode(message), headers)
        assert isinstance(verdict, Verdict)
        reads: tuple[KeyRead, ...] = ()
        if not is_presence(message.topic):
            standing = standing_of(self.world.keys[Key(b"g", message.topic, partition)])
            tp, nonce = TopicPartition(topic, partition), extension.nonce
            words = kind, verdict, self.offset, client, instance, nonce, tail, standing
            reads = (KeyRead(tp, *words),)
        self.offset += 1
        self.step(LogRead(0, self.offset, self.world.time, self.world.since, reads))

    def wait(self, until: MemberState | None = None, seconds: float = 10.0) -> None:
        """Let time pass, with a tick for each deadline."""
        end = self.now + seconds
        while self.now < end and (until is None or self.member.state is not until):
            self.now = min(end, max(self.now, self.machine.next_deadline(self.member)))
            self.step(Tick())


def room() -> Room:
    sink = MemorySink()
    machine = MarshalMachine(SETTINGS, sink)
    return Room(machine, machine.new(0.0), sink)


def begun(*, keeps: bool = False) -> Room:
    """Return a member that subscribes to a topic of one free partition."""
    made = room()
    made.keeps = keeps
    made.step(CountsChanged({"t": 1}))
    made.step(Subscribed(TOPICS))
    made.step(LogOpened(0, TOPICS, 0, WALL * 1000, WALL * 1000, True, True, {}))
    made.wait(seconds=4.0)
    return made


def test_every_phase_of_a_key_up_to_ownership_is_journalled() -> None:
    on = begun()
    moves = [(e.before, e.after) for e in on.events if isinstance(e, KeyChanged) and e.tp == T0]
    assert moves == [(before.value, after.value) for before, after in pairwise(_WAY)]


def test_messages_are_journalled_with_epoch_and_position() -> None:
    claim, accepted, beat, counted = begun().steps[:4]
    assert (claim.stage, claim.message) == (ClaimStage.WRITTEN, ClaimMessage.CLAIM)
    assert (claim.epoch, claim.position, claim.offset) == (None, None, None)
    assert (accepted.ticket, accepted.verdict) == (claim.ticket, ClaimVerdict.ACCEPTED)
    assert accepted.epoch == accepted.offset
    assert (beat.message, beat.position, beat.epoch) == (ClaimMessage.HEARTBEAT, 7, accepted.epoch)
    assert (counted.ticket, counted.verdict) == (beat.ticket, ClaimVerdict.RENEWED)


def test_a_lease_is_journalled_with_the_heartbeat_that_proves_it() -> None:
    on = begun()
    ends = {step.verdict: step.lease_end for step in on.steps if step.stage is ClaimStage.READ}
    assert ends == {
        ClaimVerdict.ACCEPTED: None,
        ClaimVerdict.RENEWED: on.member.lives[T0].expires_at,
    }


def test_a_message_is_journalled_before_it_is_read_back() -> None:
    stages = [step.stage for step in begun().steps]
    assert stages[:4] == [ClaimStage.WRITTEN, ClaimStage.READ] * 2


def test_signs_of_presence_are_about_no_key() -> None:
    on = begun()
    assert on.offset > len(on.steps) / 2, "it has shown itself"
    assert {step.tp for step in on.steps} == {T0}


def test_every_state_is_journalled_in_order() -> None:
    states = [event for event in begun().events if isinstance(event, StateChanged)]
    assert [(each.before, each.after) for each in states] == [
        (MemberState.UNSUBSCRIBED, MemberState.FINDING),
        (MemberState.FINDING, MemberState.STABLE),
    ]


def test_a_peer_that_takes_the_key_is_journalled_by_name() -> None:
    on = begun()
    taken = Extension(epoch=on.offset - 1, started=9, interval=60, nonce=b"1")
    on.write("other/i2", Kind.HEARTBEAT, "t", 0, 9, extension=taken)
    (step,) = [step for step in on.steps if step.sender is not None]
    assert (step.sender, step.verdict, step.ticket) == ("other/i2", ClaimVerdict.ADOPTED, None)
    assert (step.epoch, step.position) == (taken.epoch, 9)


def test_ineffective_messages_of_others_are_not_journalled() -> None:
    on = begun()
    before = len(on.steps)
    on.write("other/i2", Kind.CLAIMING_PARTITION, "t", 0, extension=Extension(nonce=b"1"))
    assert len(on.steps) == before


def test_a_nonce_that_is_no_ticket_is_no_ticket() -> None:
    on = begun()
    on.write("web/i1", Kind.RELEASING_PARTITION, "t", 0, 9, extension=Extension(nonce=b"x"))
    assert on.steps[-1].ticket is None or on.steps[-1].stage is ClaimStage.WRITTEN
    assert any(step.verdict is ClaimVerdict.RELEASED for step in on.steps)


def test_a_failed_claim_is_journalled_with_its_reason_and_certainty() -> None:
    for maybe, stage in ((False, ClaimStage.FAILED), (True, ClaimStage.UNKNOWN)):
        on = begun(keeps=True)
        claim = next(each for each in on.kept if each.kind is Kind.CLAIMING_PARTITION)
        on.step(AppendFailed(claim.ticket, OSError("no route"), maybe))
        (failed,) = [step for step in on.steps if step.stage is stage]
        assert (failed.ticket, failed.message) == (claim.ticket, ClaimMessage.CLAIM)
        assert failed.error == "no route"
