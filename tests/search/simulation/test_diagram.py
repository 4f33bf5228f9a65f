"""Runs as sequence diagrams."""

from dataclasses import replace

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    CallbackStage,
    CallbackStep,
    ClaimMessage,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    CloseAsked,
    CommitStage,
    CommitStep,
    CommitStored,
    ConnectionClosed,
    ConnectionOpened,
    Delivered,
    Done,
    Event,
    FaultStep,
    FetchAnswered,
    FetchIssued,
    GenerationEntered,
    JoinIssued,
    KeyChanged,
    MemberStarted,
    MemberStopped,
    MessageRejected,
    OffsetRead,
    OwnershipStep,
    PauseCause,
    Paused,
    Phase,
    Polled,
    PositionMove,
    PositionMoved,
    Resumed,
    RoundFailed,
    RoundMember,
    RoundStored,
    StateChanged,
    UnknownEvent,
)
from kgroup.journal.events import EVENT_CLASSES
from kgroup.types import ChangeKind, Claim, MemberState
from tests.search.simulation.diagram import diagram
from tests.search.simulation.diagram_words import words
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.toy import T0, breaking, play, play_well, request

CLAIM = Claim(T0, 1)
EVENTS: list[tuple[Event, str]] = [
    (MemberStarted(), "starts"),
    (CloseAsked(5.0), "is to close within 5 s"),
    (MemberStopped("closed", left=True), "stops: closed, has left the group"),
    (StateChanged(MemberState.STABLE, MemberState.FINDING, "x"), "STABLE -> FINDING: x"),
    (
        GenerationEntered(generation_id=3, member_id="m", leader=True),
        "is in generation 3, leads, is given nothing",
    ),
    (
        JoinIssued(member_id="m", generation_id=2, owned=(T0,), cause="it must"),
        "joins, owns t0-0 of generation 2: it must",
    ),
    (
        RoundFailed(generation_id=3, protocol_name="range", reason="no", retry_after=1.0),
        "cannot assign generation 3: no",
    ),
    (
        KeyChanged(tp=T0, before="claiming", after="locating", cause="own claim accepted"),
        "key claiming -> locating (own claim accepted): t0-0",
    ),
    (
        MessageRejected(tp=T0, reason="no value", count=2, offset=7),
        "2 rejected, no value: t0-0@7",
    ),
    (
        ClaimStep(stage=ClaimStage.WRITTEN, message=ClaimMessage.HEARTBEAT, tp=T0, position=5),
        "heartbeat written t0-0@5",
    ),
    (
        ClaimStep(
            stage=ClaimStage.READ,
            message=ClaimMessage.CLAIM,
            tp=T0,
            offset=7,
            verdict=ClaimVerdict.ACCEPTED,
            sender="b/2",
        ),
        "claim of b/2 accepted t0-0",
    ),
    (ConnectionOpened(connection=1, address="broker-1:9092"), "connected to broker-1:9092"),
    (ConnectionClosed(connection=1, reason="reset"), "connection 1 has ended: reset"),
    (request(ApiKey.SYNC_GROUP), "SyncGroup"),
    (
        AnswerReceived(connection=1, correlation_id=1, api=ApiKey.HEARTBEAT, version=4, error=27),
        "Heartbeat REBALANCE_IN_PROGRESS",
    ),
    (
        OwnershipStep(kind=ChangeKind.REVOKED, phase=Phase.BEGIN, claims=(CLAIM,)),
        "is giving up t0-0",
    ),
    (
        CallbackStep(kind=ChangeKind.LOST, stage=CallbackStage.RAISE, serial=1, error="no"),
        "on_lost raises: no",
    ),
    (OffsetRead(CLAIM, 7), "begins t0-0@7"),
    (PositionMoved(CLAIM, 2, PositionMove.SEEK), "moves (seek) t0-0@2"),
    (FetchIssued(CLAIM, 2), "asks for t0-0@2"),
    (FetchAnswered(CLAIM, 2, 5), "gets t0-0@2"),
    (Delivered(CLAIM, 2, 4, 3), "delivers t0-0@2..4"),
    (Done(CLAIM, 5), "is done with t0-0 below 5"),
    (Paused((CLAIM,)), "pauses t0-0"),
    (Resumed((CLAIM,)), "resumes t0-0"),
    (Paused((CLAIM,), PauseCause.UNCOMMITTED), "pauses t0-0 (max_uncommitted)"),
    (Polled(), "polls"),
    (
        CommitStep(stage=CommitStage.ERROR, commit_id=2, claim=CLAIM, offset=5, code=22),
        "could not commit (no. 2) (ILLEGAL_GENERATION) t0-0@5",
    ),
    (
        CommitStored(tp=T0, offset=5, member_id="m", generation_id=3),
        "stores a commit of m of generation 3: t0-0@5",
    ),
    (
        RoundStored(
            generation_id=4, protocol_name="range", members=(RoundMember("m", None, (T0,)),)
        ),
        "stores generation 4: m t0-0",
    ),
    (FaultStep(Phase.END, "SIGSTOP", "m1"), "FAULT: m1 SIGSTOP is over"),
    (UnknownEvent("later"), "later"),
]

EXPECTED = """\
    seconds  m0      m1      coordinator
      0.000  o               |  m0 starts as i0
      0.000  o               |  m0 FINDING -> JOINING: coordinator known
      0.000  o--------------->  m0 JoinGroup
      0.100  <---------------o  m0 JoinGroup answered, generation 1
      0.200  o               |  m0 SYNCING -> STABLE: synced
      0.200  o               |  m0 is in generation 1, is given t0-0
      0.200  o               |  m0 owns t0-0
      0.200  o               |  m0 begins t0-0 anywhere: nothing is committed
        ...  |               |  1.6 s: 4 Heartbeats, 4 polls
>>>   2.500  o               |  m0 delivers t0-0@0..2
      2.600  o               |  m0 asks to commit (no. 1) t0-0@3
      2.700  |               o  coordinator stores a commit of m0 of generation 1: t0-0@3
      2.800  o               |  m0 has committed (no. 1) t0-0@3
      3.000  |       o       |  m1 starts as i1
      3.000  |       o       |  m1 FINDING -> JOINING: coordinator known
      3.000  |       o------->  m1 JoinGroup
      3.100  |       <-------o  m1 JoinGroup answered, generation 2
      3.200  |       o       |  m1 SYNCING -> STABLE: synced
      3.200  |       o       |  m1 is in generation 2, is given t0-0
      3.200  |       o       |  m1 owns t0-0
      3.200  |       o       |  m1 begins t0-0 anywhere: nothing is committed
        ...  |       |       |  1.6 s: 4 Heartbeats, 4 polls
>>>   5.500  |       o       |  m1 delivers t0-0@0..2
>>> S2: t0-0 has two owners
    ... and 6 lines more after that"""


def broken() -> Outcome:
    return play(breaking(), keep=True)


def drawing(text: str) -> str:
    return text[text.index("    seconds") :]


def test_a_broken_run_is_drawn_up_to_the_last_proof() -> None:
    assert drawing(diagram(broken())) == EXPECTED


def test_the_plan_and_what_is_broken_stand_above() -> None:
    head = diagram(broken()).split("    seconds")[0]
    assert "level A, eager, 2 picks" in head
    assert "m0 closes" in head
    assert "broken: S2\nfirst S2: t0-0 has two owners" in head


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_it_may_be(width: int) -> None:
    lines = diagram(broken(), width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.startswith(">>>") for line in lines) == 3


def test_a_good_run_is_drawn_to_its_end() -> None:
    well = play_well(Schedule(Level.A, Mode.EAGER), keep=True)
    text = diagram(well)
    assert "nothing is broken" in text
    assert "stops: closed" in text.splitlines()[-1]


def test_deliveries_are_summed_up_where_no_violation_is_about_them() -> None:
    good = replace(broken(), violations=())
    text = diagram(good)
    assert "m0 delivers" not in text
    assert "1 delivery" in text
    assert "m0 has committed" in text


def test_a_run_without_its_journal_tells_its_plan_and_what_is_broken() -> None:
    text = diagram(play(breaking()))
    assert "first S2" in text
    assert "seconds" not in text


def test_many_members_have_narrow_lanes() -> None:
    outcome = broken()
    plan = outcome.plan
    members = tuple(replace(plan.members[0], index=number) for number in range(11))
    crowd = replace(outcome, plan=replace(plan, members=members))
    head = next(line for line in diagram(crowd).splitlines() if "seconds" in line)
    assert head.split()[1:] == [*(f"m{number}"[:2] for number in range(11)), "coordinator"]


@pytest.mark.parametrize(("event", "text"), EVENTS, ids=lambda value: str(value)[:24])
def test_what_happens_is_told_in_words(event: Event, text: str) -> None:
    said = words(event)
    assert " ".join((said.text, *said.parts)) == text


def test_every_event_of_the_journal_has_words() -> None:
    assert {type(event) for event, _ in EVENTS} == {*EVENT_CLASSES, UnknownEvent}
