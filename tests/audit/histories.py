"""Histories written by hand: what members would have logged, in order of time.

A `History` is the clock and the log; a `Writer` is one life of one member and writes what that
member does in the order a right consumer does it. Tests break a history by writing something a
right consumer would not, or by mutating the finished list.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    CallbackStage,
    CallbackStep,
    ClaimsEnded,
    CommitStage,
    CommitStep,
    Delivered,
    Done,
    Entry,
    Event,
    FaultStep,
    FetchAnswered,
    FetchIssued,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    RoundMember,
    RoundStored,
    Source,
)
from kgroup.types import ChangeKind, Claim, RebalanceProtocol, TopicPartition

COOPERATIVE = RebalanceProtocol.COOPERATIVE
EAGER = RebalanceProtocol.EAGER


def tp(partition: int) -> TopicPartition:
    return TopicPartition("t", partition)


@dataclass
class History:
    """The log of a run and its clock; each entry takes a millisecond."""

    entries: list[Entry] = field(default_factory=list)
    now: float = 100.0
    faults: int = 0

    def write(self, source: Source, seq: int, event: Event) -> Entry:
        self.now += 0.001
        entry = Entry(
            source=source,
            seq=seq,
            at=self.now,
            wall=1_700_000_000 + self.now,
            event=event,
            where=f"{source.member}-{source.process}.jsonl:{seq}",
        )
        self.entries.append(entry)
        return entry

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def member(
        self,
        label: str,
        process: str = "1",
        *,
        protocol: RebalanceProtocol = COOPERATIVE,
        instance: str | None = None,
    ) -> "Writer":
        source = Source(host="h", process=process, member=label, group="g")
        return Writer(self, source, protocol, instance)

    def fault(self, what: str, target: str) -> None:
        source = Source(host="h", process="0", member="run", group="g")
        self.faults += 1
        self.write(source, self.faults, FaultStep(Phase.BEGIN, what, target))

    def round(self, generation: int, given: Mapping["Writer", tuple[int, ...]]) -> None:
        """Have the coordinator store a round: what each member is assigned."""
        members = tuple(
            RoundMember(writer.member_id, writer.instance, tuple(tp(p) for p in partitions))
            for writer, partitions in given.items()
        )
        self.faults += 1
        self.write(
            Source(host="h", process="0", member="run", group="g"),
            self.faults,
            RoundStored(generation_id=generation, protocol_name="range", members=members),
        )


@dataclass(eq=False)
class Writer:
    """One life of one member."""

    history: History
    source: Source
    protocol: RebalanceProtocol
    instance: str | None
    seq: int = 0
    serial: int = 0
    generation: int = 0
    claims: dict[TopicPartition, Claim] = field(default_factory=dict)
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    correlation: int = 0
    commits: int = 0
    changes: int = 0

    @property
    def member_id(self) -> str:
        return f"{self.source.member}-{self.source.process}-id"

    def write(self, event: Event) -> Entry:
        self.seq += 1
        return self.history.write(self.source, self.seq, event)

    def start(self) -> None:
        self.write(
            MemberStarted(
                group_instance_id=self.instance,
                protocol=self.protocol,
                session_timeout=6.0,
                rebalance_timeout=10.0,
                lease_margin=0.1,
            )
        )

    def stop(self, *, left: bool = True) -> None:
        left = left and self.instance is None
        if left:
            self.ask(ApiKey.LEAVE_GROUP)
        self.write(MemberStopped("closed", left=left))
        self.claims.clear()

    def ask(self, api: ApiKey, *, error: int = 0, generation: int | None = None) -> None:
        """Send a request and get its answer."""
        self.send(api, generation=generation)
        self.hear(api, error=error)

    def send(self, api: ApiKey, *, generation: int | None = None) -> None:
        """Send a request."""
        self.correlation += 1
        generation = self.generation if generation is None else generation
        self.write(
            RequestSent(
                connection=1,
                correlation_id=self.correlation,
                api=api,
                version=4,
                generation_id=generation,
                member_id=self.member_id,
            )
        )

    def hear(self, api: ApiKey, *, error: int = 0) -> None:
        """Get the answer to the request that was sent last."""
        self.write(
            AnswerReceived(
                connection=1, correlation_id=self.correlation, api=api, version=4, error=error
            )
        )

    def heartbeat(self, error: int = 0) -> None:
        self.ask(ApiKey.HEARTBEAT, error=error)

    def join(self, generation: int, *partitions: int) -> None:
        """Go through a round that assigns these partitions; ownership itself is not touched."""
        self.write(
            JoinIssued(
                member_id=self.member_id if self.generation else None,
                generation_id=self.generation or None,
                owned=tuple(self.claims),
            )
        )
        self.ask(ApiKey.JOIN_GROUP)
        self.ask(ApiKey.SYNC_GROUP, generation=generation)
        self.enter(generation, *partitions)

    def enter(self, generation: int, *partitions: int) -> None:
        self.generation = generation
        self.write(
            GenerationEntered(
                generation_id=generation,
                member_id=self.member_id,
                protocol_name="cooperative-sticky",
                protocol=self.protocol,
                assignment=tuple(tp(p) for p in partitions),
            )
        )
        self.heartbeat()

    def change(self, kind: ChangeKind, claims: tuple[Claim, ...]) -> None:
        """Tell the listener, with both edges."""
        self.changes += 1
        for phase, stage in (
            (Phase.BEGIN, CallbackStage.ENTER),
            (Phase.END, CallbackStage.EXIT),
        ):
            if phase is Phase.END:
                self.write(CallbackStep(kind=kind, stage=stage, serial=self.changes))
            self.step(kind, phase, claims)
            if phase is Phase.BEGIN:
                self.write(CallbackStep(kind=kind, stage=stage, serial=self.changes))

    def step(self, kind: ChangeKind, phase: Phase, claims: tuple[Claim, ...]) -> Entry:
        return self.write(
            OwnershipStep(
                kind=kind,
                phase=phase,
                claims=claims,
                member_id=self.member_id,
                generation_id=self.generation,
                serial=self.changes,
            )
        )

    def assign(self, *partitions: int, offset: int | None = None) -> None:
        """Own partitions from a committed offset on."""
        claims = []
        for partition in partitions:
            self.serial += 1
            self.claims[tp(partition)] = Claim(tp(partition), self.serial)
            claims.append(self.claims[tp(partition)])
        self.change(ChangeKind.ASSIGNED, tuple(claims))
        for partition in partitions if offset is not None else ():
            self.read(partition, offset)

    def read(self, partition: int, offset: int | None) -> None:
        self.write(OffsetRead(self.claims[tp(partition)], offset, self.generation))
        if offset is not None:
            self.positions[tp(partition)] = offset

    def end(self, kind: ChangeKind, *partitions: int) -> None:
        """Give partitions up, or lose them."""
        self.change(kind, tuple(self.claims[tp(p)] for p in partitions))
        for partition in partitions:
            del self.claims[tp(partition)]

    def revoke(self, *partitions: int) -> None:
        self.end(ChangeKind.REVOKED, *partitions)

    def decide_loss(self, *partitions: int) -> None:
        """The member knows that claims are lost; its listener has not heard of it yet."""
        claims = tuple(self.claims[tp(partition)] for partition in partitions)
        self.write(ClaimsEnded(kind=ChangeKind.LOST, claims=claims, member_id=self.member_id))

    def lose(self, *partitions: int) -> None:
        self.end(ChangeKind.LOST, *partitions)
        self.generation = 0

    def deliver(self, partition: int, count: int, *, done: bool = True) -> Entry:
        """Fetch and deliver the next records; by default the application finishes them."""
        claim, first = self.claims[tp(partition)], self.positions[tp(partition)]
        self.write(Polled())
        self.write(FetchIssued(claim, first))
        self.write(FetchAnswered(claim, first, first + count))
        entry = self.write(Delivered(claim, first, first + count - 1, count))
        self.positions[tp(partition)] = first + count
        if done:
            self.write(Done(claim, first + count))
        return entry

    def commit(self, partition: int, *, stage: CommitStage | None = CommitStage.OK) -> Entry:
        """Commit the position; stage None leaves it without an answer."""
        self.commits += 1
        entry = self.commit_step(CommitStage.REQUESTED, partition)
        return entry if stage is None else self.commit_step(stage, partition)

    def commit_step(
        self, stage: CommitStage, partition: int, *, offset: int | None = None
    ) -> Entry:
        return self.write(
            CommitStep(
                stage=stage,
                commit_id=self.commits,
                claim=self.claims[tp(partition)],
                offset=self.positions[tp(partition)] if offset is None else offset,
                member_id=self.member_id,
                generation_id=self.generation,
            )
        )


def one_member(
    *partitions: int, protocol: RebalanceProtocol = COOPERATIVE
) -> tuple[History, Writer]:
    """Return a history in which one member owns some partitions from offset 0 on."""
    history = History()
    member = history.member("a", protocol=protocol)
    member.start()
    member.join(1, *partitions)
    member.assign(*partitions, offset=0)
    return history, member


def good_history() -> History:
    """Return a run with a start, a second member, a kill, a static restart and a close."""
    history = History()
    a, b = history.member("a"), history.member("b")
    s = history.member("s", instance="static-1")
    for member in (a, s):
        member.start()
    a.join(1, 0, 1)
    s.join(1, 2)
    a.assign(0, 1, offset=0)
    s.assign(2, offset=0)
    for partition in (0, 1):
        a.deliver(partition, 10)
        a.commit(partition)
    s.deliver(2, 10)
    s.commit(2)
    _hand_over_1(a, b, s)
    _restart(s, history, (a, b))
    _kill(a, b, history)
    b.deliver(0, 5)
    b.commit(0)
    b.revoke(0, 1)
    b.stop()
    return history


def _hand_over_1(a: Writer, b: Writer, s: Writer) -> None:
    """Give t-1 from a to b in two cooperative rounds; t-0 is delivered throughout."""
    b.start()
    a.heartbeat(error=27)
    b.join(2)
    a.join(2, 0)
    s.join(2, 2)
    a.deliver(0, 5)
    a.commit(1)
    a.revoke(1)
    a.join(3, 0)
    s.join(3, 2)
    b.join(3, 1)
    b.assign(1, offset=10)
    b.deliver(1, 5)
    b.commit(1)
    a.deliver(0, 5)
    a.commit(0)


def _restart(s: Writer, history: History, others: tuple[Writer, ...]) -> None:
    """Close a static member and bring it back within its session: nobody else moves."""
    history.wait(8.0)
    for member in (*others, s):
        member.heartbeat()
    s.revoke(2)
    s.stop()
    history.wait(1.0)
    again = history.member("s", "2", instance="static-1")
    again.start()
    again.join(3, 2)
    again.assign(2, offset=10)
    again.deliver(2, 10)
    again.commit(2)
    s.history = again.history
    for member in others:
        member.heartbeat()


def _kill(a: Writer, b: Writer, history: History) -> None:
    """Kill a with 7 records past its last commit; b takes t-0 over after the session."""
    a.deliver(0, 7, done=False)
    history.fault("SIGKILL", "a")
    for _ in range(6):
        history.wait(1.0)
        b.write(Polled())
        b.heartbeat()
    b.heartbeat(error=27)
    b.join(4, 0, 1)
    b.assign(0, offset=20)
    b.deliver(0, 7)
