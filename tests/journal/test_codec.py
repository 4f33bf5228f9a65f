import json
from dataclasses import fields
from typing import get_args

import pytest

from kgroup.codes import ApiKey
from kgroup.errors import DecodeError
from kgroup.journal import (
    AnswerReceived,
    BadLine,
    ClaimMessage,
    ClaimsEnded,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    CloseAsked,
    CommitStage,
    CommitStep,
    CommitStored,
    Delivered,
    Entry,
    Event,
    GenerationEntered,
    JoinIssued,
    KeyChanged,
    MemberStarted,
    MessageRejected,
    OffsetRead,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    RoundFailed,
    RoundMember,
    RoundStored,
    Source,
    StateChanged,
    UnknownEvent,
    decode_entry,
    encode_entry,
    read_entries,
)
from kgroup.journal.codec import CUT
from kgroup.journal.events import EVENT_CLASSES
from kgroup.marshal.rules import Verdict
from kgroup.types import ChangeKind, Claim, MemberState, RebalanceProtocol, TopicPartition

SOURCE = Source(host="h/1", process="7-a", member="m1", group="g")
T0 = TopicPartition("t", 0)
C0 = Claim(T0, 4)

EVENTS = [
    MemberStarted(group_instance_id="i", protocol=RebalanceProtocol.EAGER, session_timeout=6.0),
    StateChanged(MemberState.JOINING, MemberState.SYNCING, "joined"),
    RoundFailed(generation_id=4, protocol_name="zone", reason="it raised", retry_after=0.4),
    GenerationEntered(generation_id=3, member_id="m", leader=True, assignment=(T0,)),
    JoinIssued(member_id=None, generation_id=None, owned=(T0,), cause="héllo"),
    KeyChanged(tp=T0, before="claiming", after="locating", cause="own claim accepted"),
    ClaimStep(stage=ClaimStage.WRITTEN, message=ClaimMessage.CLAIM, tp=T0, ticket=3),
    MessageRejected(tp=T0, reason="no value", count=2, offset=7),
    ClaimStep(
        stage=ClaimStage.READ,
        message=ClaimMessage.HEARTBEAT,
        tp=T0,
        ticket=4,
        epoch=0,
        position=0,
        offset=1,
        verdict=ClaimVerdict.RENEWED,
        lease_end=105.25,
    ),
    ClaimStep(
        stage=ClaimStage.READ,
        message=ClaimMessage.CLAIM,
        tp=T0,
        epoch=8,
        offset=8,
        verdict=ClaimVerdict.ACCEPTED,
        sender="web-02/b81d77e2",
    ),
    ClaimStep(
        stage=ClaimStage.UNKNOWN,
        message=ClaimMessage.RELEASE,
        tp=T0,
        ticket=5,
        epoch=0,
        position=7,
        error="no answer within 30 s",
    ),
    RequestSent(connection=1, correlation_id=2, api=ApiKey.HEARTBEAT, version=4, generation_id=-1),
    AnswerReceived(connection=1, correlation_id=2, api=ApiKey.HEARTBEAT, version=4, error=0),
    ClaimsEnded(kind=ChangeKind.LOST, claims=(C0,), cause="session over", serial=9),
    OwnershipStep(kind=ChangeKind.LOST, phase=Phase.BEGIN, claims=(C0,), serial=9),
    OffsetRead(C0, None, 3),
    Delivered(C0, 5, 9, 5),
    Polled(),
    CommitStep(stage=CommitStage.ERROR, commit_id=1, claim=C0, offset=10, code=22),
    CloseAsked(5.0),
    CommitStored(tp=T0, offset=7, member_id="m", generation_id=3, leader_epoch=0),
    RoundStored(generation_id=4, protocol_name=None),
    RoundStored(
        generation_id=4,
        protocol_name="range",
        members=(
            RoundMember("m", None, (T0,), ("t",), (T0,), 3),
            RoundMember("n", "static-1", ()),
        ),
    ),
]


def entry(event: Event, **changes: object) -> Entry:
    stamp = {"source": SOURCE, "seq": 1, "at": 1.25, "wall": 1e9, **changes}
    return Entry(event=event, **stamp)  # type: ignore[arg-type] # a test's shorthand


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.KIND)
def test_an_entry_survives_the_way_to_a_line_and_back(event: Event):
    given = entry(event)
    assert decode_entry(encode_entry(given)) == given


def test_a_line_is_one_line_of_ascii_whatever_the_text_holds():
    line = encode_entry(entry(JoinIssued(member_id="é\n", generation_id=1, owned=())))
    assert "\n" not in line
    assert line.isascii()


def test_the_written_form_of_version_1_does_not_change():
    assert encode_entry(entry(Delivered(C0, 5, 9, 5))) == (
        '{"v":1,"host":"h/1","process":"7-a","member":"m1","group":"g","seq":1,"at":1.25,'
        '"wall":1000000000.0,"event":"deliver","claim":["t",0,4],"first":5,"last":9,"count":5}'
    )


def test_a_consumer_without_a_group_survives_too():
    alone = Source(host="h", process="p", member="m")
    assert decode_entry(encode_entry(entry(Polled(), source=alone))).source == alone


def test_kinds_are_unique_and_no_field_hides_the_stamp():
    assert len({event.KIND for event in EVENT_CLASSES}) == len(EVENT_CLASSES)
    stamp = {"v", "host", "process", "member", "group", "seq", "at", "wall", "event"}
    for event in EVENT_CLASSES:
        assert not stamp & {field.name for field in fields(event)}, event


def test_every_event_of_the_union_can_be_written():
    assert {*EVENT_CLASSES, UnknownEvent} == set(get_args(Event))


def test_what_a_member_of_a_round_had_asked_for_may_be_left_out():
    row = json.loads(encode_entry(entry(RoundStored(generation_id=4, protocol_name="range"))))
    short = json.dumps({**row, "members": [["m", None, [["t", 0]]]]})
    event = decode_entry(short).event
    assert isinstance(event, RoundStored)
    assert event.members == (RoundMember("m", None, (T0,)),)


def test_an_unknown_event_is_kept_by_name_and_an_unknown_field_is_dropped():
    row = json.loads(encode_entry(entry(Delivered(C0, 5, 9, 5))))
    assert decode_entry(json.dumps({**row, "colour": "red"})).event == Delivered(C0, 5, 9, 5)
    later = decode_entry(json.dumps({**row, "event": "teleported"}))
    assert later.event == UnknownEvent("teleported")
    assert json.loads(encode_entry(later))["event"] == "teleported"


def test_an_offset_of_nought_is_not_taken_for_none():
    first = ClaimStep(
        stage=ClaimStage.WRITTEN, message=ClaimMessage.HEARTBEAT, tp=T0, epoch=0, position=0
    )
    row = json.loads(encode_entry(entry(first)))
    assert (row["epoch"], row["position"]) == (0, 0)
    assert "sender" not in row


def test_what_a_record_does_is_written_in_the_words_of_the_rules():
    """A group's pause is about no key."""
    said = {verdict.value for verdict in Verdict if verdict is not Verdict.PAUSED}
    assert {verdict.value for verdict in ClaimVerdict} == said


def test_the_place_of_a_line_is_kept():
    line = encode_entry(entry(Polled()))
    assert decode_entry(line, "a.jsonl:7").where == "a.jsonl:7"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"v": 2}, "version 2"),
        ({"seq": "1"}, "seq is '1'"),
        ({"seq": True}, "seq is True"),
        ({"at": None}, "at is None"),
        ({"host": 3}, "host is 3"),
        ({"claim": ["t", 0]}, "claim is"),
        ({"claim": ["t", "0", 1]}, "claim is"),
        ({"claim": None}, "lacks 'claim'"),
        ({"first": 1.5}, "first is 1.5"),
    ],
)
def test_a_line_that_breaks_the_grammar_names_the_field(change: dict[str, object], reason: str):
    row = json.loads(encode_entry(entry(Delivered(C0, 5, 9, 5))))
    with pytest.raises(DecodeError, match=reason.replace("(", r"\(")):
        decode_entry(json.dumps({**row, **change}))


@pytest.mark.parametrize("line", ["[1]", "{", "", "\x00", '"x"'])
def test_a_line_that_is_no_object_is_refused(line: str):
    with pytest.raises(DecodeError):
        decode_entry(line)


def test_a_bad_line_is_reported_with_its_place_and_the_rest_is_read():
    good = encode_entry(entry(Polled())) + "\n"
    first, bad, last = read_entries([good, "{nonsense\n", good], "a.jsonl")
    assert isinstance(first, Entry)
    assert isinstance(last, Entry)
    assert isinstance(bad, BadLine)
    assert (bad.where, bad.cut) == ("a.jsonl:2", False)


def test_a_last_line_cut_off_at_any_byte_is_no_fault():
    good = encode_entry(entry(Polled()))
    for length in range(1, len(good)):
        (line,) = read_entries([good[:length]], "a")
        assert isinstance(line, BadLine)
        assert line.cut


def test_a_line_cut_by_one_process_and_closed_by_the_next_is_no_fault():
    good = encode_entry(entry(Polled())) + "\n"
    cut, whole = read_entries([good[:20] + CUT + "\n", good], "a")
    assert isinstance(cut, BadLine)
    assert cut.cut
    assert isinstance(whole, Entry)
