"""What happened in a run: typed events, and the sink they go to.

Decides: the vocabulary of the event log, and its JSON form.
Never: reads a clock, opens a file, or changes what the client does.

- `events`: The vocabulary of the event log: one frozen class per thing that can happen to a
  member
- `codec`: One entry as one line of JSON, and back
- `faults`: Faults made on purpose, as a log has them: the members they concern, since when there
  is calm
- `periods`: Periods of ownership as a log has them: which member held which partition, and when
- `repeats`: Records that were delivered more than once, and what explains it
- `verifiable`: What Kafka's VerifiableConsumer prints, as entries of an event log
- `sink`: Where events go: the protocol that `net` and `consumer` write to, and two small sinks
"""

from typing import TYPE_CHECKING

from kgroup.journal.events import (
    BROKER,
    AnswerReceived,
    CallbackStage,
    CallbackStep,
    ClaimMessage,
    ClaimsEnded,
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
    Entry,
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
    RequestSent,
    Resumed,
    RoundFailed,
    RoundMember,
    RoundStored,
    Source,
    StateChanged,
    UnknownEvent,
)
from kgroup.journal.sink import MemorySink, NullSink, Sink

if TYPE_CHECKING:
    from kgroup.journal.codec import BadLine, decode_entry, encode_entry, read_entries

__all__ = [
    "BROKER",
    "AnswerReceived",
    "BadLine",
    "CallbackStage",
    "CallbackStep",
    "ClaimMessage",
    "ClaimStage",
    "ClaimStep",
    "ClaimVerdict",
    "ClaimsEnded",
    "CloseAsked",
    "CommitStage",
    "CommitStep",
    "CommitStored",
    "ConnectionClosed",
    "ConnectionOpened",
    "Delivered",
    "Done",
    "Entry",
    "Event",
    "FaultStep",
    "FetchAnswered",
    "FetchIssued",
    "GenerationEntered",
    "JoinIssued",
    "KeyChanged",
    "MemberStarted",
    "MemberStopped",
    "MemorySink",
    "MessageRejected",
    "NullSink",
    "OffsetRead",
    "OwnershipStep",
    "PauseCause",
    "Paused",
    "Phase",
    "Polled",
    "PositionMove",
    "PositionMoved",
    "RequestSent",
    "Resumed",
    "RoundFailed",
    "RoundMember",
    "RoundStored",
    "Sink",
    "Source",
    "StateChanged",
    "UnknownEvent",
    "decode_entry",
    "encode_entry",
    "read_entries",
]


def __getattr__(name: str) -> object:
    """Load the codec when something is to be written or read (PEP 562)."""
    if name not in {"BadLine", "decode_entry", "encode_entry", "read_entries"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kgroup.journal import codec  # noqa: PLC0415 - a consumer without an event log needs none

    return getattr(codec, name)
