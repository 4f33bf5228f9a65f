"""Shorthand for histories of single events: what members write, and which rules they break."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kgroup.audit.oracles import Oracle, judge
from kgroup.codes import ApiKey
from kgroup.journal import (
    BROKER,
    AnswerReceived,
    CommitStage,
    CommitStep,
    CommitStored,
    ConnectionClosed,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    OwnershipStep,
    Phase,
    RequestSent,
    RoundMember,
    RoundStored,
    Source,
    StateChanged,
)
from kgroup.types import ChangeKind, Claim, MemberState, TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
C0, C1, C2 = (Claim(tp, number) for number, tp in enumerate((T0, T1, T2), start=1))
STABLE = MemberState.STABLE


@dataclass
class Log:
    """A history and its clock, which stands still unless a test moves it."""

    now: float = 100.0
    entries: list[Entry] = field(default_factory=list)
    correlation: int = 0

    def rules(self, *oracles: Oracle) -> list[str]:
        """Judge the history, and return the rules that are broken."""
        return [violation.rule for violation in judge(oracles, self.entries)]

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def write(self, *events: Event, member: str = "a", process: str = "1") -> None:
        source = Source(host="h", process=process, member=member, group="g")
        for event in events:
            number = len(self.entries) + 1
            entry = Entry(source=source, seq=number, at=self.now, wall=self.now, event=event)
            self.entries.append(entry)

    # -- a member --------------------------------------------------------------------------

    def start(
        self,
        instance: str | None = None,
        *,
        member: str = "a",
        process: str = "1",
        interval: float | None = None,
        isolated: bool = False,
    ) -> None:
        started = MemberStarted(
            group_instance_id=instance,
            session_timeout=6.0,
            rebalance_timeout=10.0,
            heartbeat_interval=1.0,
            max_poll_interval=interval,
            isolated_heartbeats=isolated,
        )
        self.write(started, member=member, process=process)

    def sent(
        self,
        api: ApiKey,
        *,
        generation: int | None = 1,
        member_id: str | None = "id",
        assignments: int | None = None,
        connection: int = 1,
    ) -> int:
        """Send a request and return its number."""
        self.correlation += 1
        request = RequestSent(
            connection=connection,
            correlation_id=self.correlation,
            api=api,
            version=4,
            generation_id=generation,
            member_id=member_id,
            assignments=assignments,
        )
        self.write(request)
        return self.correlation

    def answered(
        self,
        api: ApiKey,
        number: int,
        error: int = 0,
        *,
        generation: int | None = None,
        member_id: str | None = None,
    ) -> None:
        self.write(
            AnswerReceived(
                connection=1,
                correlation_id=number,
                api=api,
                version=4,
                error=error,
                generation_id=generation,
                member_id=member_id,
            )
        )

    def beat(self, error: int = 0, *, generation: int = 1) -> None:
        """Send a heartbeat and get its answer."""
        number = self.sent(ApiKey.HEARTBEAT, generation=generation)
        self.answered(ApiKey.HEARTBEAT, number, error)

    def join(self, generation: int = 1, member_id: str = "id") -> None:
        """Join, and be answered; the generation is not entered."""
        self.issue()
        number = self.sent(ApiKey.JOIN_GROUP, generation=None)
        self.answered(ApiKey.JOIN_GROUP, number, generation=generation, member_id=member_id)

    def issue(self, member_id: str | None = "id", cause: str = "", *owned: TopicPartition) -> None:
        self.write(JoinIssued(member_id=member_id, generation_id=None, owned=owned, cause=cause))

    def enter(self, generation: int = 1, *given: TopicPartition, leader: bool = False) -> None:
        self.write(
            GenerationEntered(
                generation_id=generation, member_id="id", leader=leader, assignment=given
            )
        )

    def state(self, before: MemberState, after: MemberState, cause: str = "synced") -> None:
        self.write(StateChanged(before, after, cause))

    def begin(self, kind: ChangeKind, *claims: Claim, cause: str = "", **who: str) -> None:
        step = OwnershipStep(kind=kind, phase=Phase.BEGIN, claims=claims, cause=cause)
        self.write(step, **who)

    def end(self, kind: ChangeKind, *claims: Claim, **who: str) -> None:
        self.write(OwnershipStep(kind=kind, phase=Phase.END, claims=claims), **who)

    def own(self, *claims: Claim, **who: str) -> None:
        self.begin(ChangeKind.ASSIGNED, *claims, **who)
        self.end(ChangeKind.ASSIGNED, *claims, **who)

    def revoke(self, *claims: Claim, **who: str) -> None:
        self.begin(ChangeKind.REVOKED, *claims, **who)
        self.end(ChangeKind.REVOKED, *claims, **who)

    def lose(self, *claims: Claim, **who: str) -> None:
        self.begin(ChangeKind.LOST, *claims, **who)
        self.end(ChangeKind.LOST, *claims, **who)

    def commit(self, stage: CommitStage, offset: int, claim: Claim = C0, number: int = 1) -> None:
        self.write(CommitStep(stage=stage, commit_id=number, claim=claim, offset=offset))

    def refused_commit(self, code: int, *, generation: int | None, member_id: str = "id") -> None:
        self.write(
            CommitStep(
                stage=CommitStage.ERROR,
                commit_id=1,
                claim=C0,
                offset=1,
                member_id=member_id,
                generation_id=generation,
                code=code,
            )
        )

    # -- everything else -------------------------------------------------------------------

    def fault(self, what: str, target: str = "", *, end: bool = False) -> None:
        phase = Phase.END if end else Phase.BEGIN
        self.write(FaultStep(phase, what, target), member="world")

    def closed(self) -> None:
        self.write(ConnectionClosed(connection=1, reason="reset"))

    def stored(
        self,
        offset: int | None,
        tp: TopicPartition = T0,
        *,
        generation: int | None = 1,
        member_id: str | None = "id",
        epoch: int | None = None,
    ) -> None:
        event = CommitStored(
            tp=tp,
            offset=offset,
            member_id=member_id,
            generation_id=generation,
            leader_epoch=epoch,
        )
        self.write(event, member="coordinator", process=BROKER)

    def round(
        self, members: Iterable[RoundMember], protocol: str = "range", generation: int = 1
    ) -> None:
        event = RoundStored(
            generation_id=generation, protocol_name=protocol, members=tuple(members)
        )
        self.write(event, member="coordinator", process=BROKER)


def given(
    name: str,
    *partitions: TopicPartition,
    topics: tuple[str, ...] = ("t",),
    owned: tuple[TopicPartition, ...] = (),
    generation: int | None = None,
) -> RoundMember:
    """Return a member of a round."""
    return RoundMember(name, None, partitions, topics, owned, generation)
