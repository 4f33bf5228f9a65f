"""The vocabulary of the event log: one frozen class per thing that can happen to a member.

Decides: which events exist, what each carries, and what an entry (a stamped event) is.
Never: stamps an event (a sink does), judges a history (`oracles` do), holds payload bytes.

The emitters: `net` emits connections, requests and answers; the group side emits state,
generation, join, ownership, keys, claims, timers, commits and offset reads; the consumer emits
fetches, deliveries, done, polls, pauses, position moves and callbacks; a fault run emits faults;
a watcher of the coordinator, or of the coordination topic, emits what it stored.
Order matters in three places: `Delivered` is emitted BEFORE the records reach the application,
`OwnershipStep(REVOKED, BEGIN)` before the listener is called, and `ClaimStep(WRITTEN)` before the
message is on its way: a lease is reckoned from it.
KIPs: 62, 345 (instance ids), 429 (owned partitions), 814.

- `entry`: An entry: one event with the stamp that lets logs of many processes merge
- `life`: A member's life: start, stop, states, generations, joins
- `ownership`: Ownership begins and ends, and the listener is called
- `records`: Records on their way: fetched, delivered, done, committed
- `requests`: Connections, requests and answers, as the network sees them
- `vocabulary`: All events together: the closed union that oracles match on, and the list that is
  written
"""

from kgroup.journal.events.entry import Entry, Source
from kgroup.journal.events.life import (
    BROKER,
    CloseAsked,
    CommitStored,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    RoundFailed,
    RoundMember,
    RoundStored,
    StateChanged,
    UnknownEvent,
)
from kgroup.journal.events.ownership import (
    CallbackStage,
    CallbackStep,
    ClaimMessage,
    ClaimsEnded,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    KeyChanged,
    MessageRejected,
    OwnershipStep,
    Phase,
)
from kgroup.journal.events.records import (
    CommitStage,
    CommitStep,
    Delivered,
    Done,
    FetchAnswered,
    FetchIssued,
    OffsetRead,
    PauseCause,
    Paused,
    Polled,
    PositionMove,
    PositionMoved,
    Resumed,
)
from kgroup.journal.events.requests import (
    AnswerReceived,
    ConnectionClosed,
    ConnectionOpened,
    RequestSent,
)
from kgroup.journal.events.vocabulary import EVENT_CLASSES, Event

__all__ = [
    "BROKER",
    "EVENT_CLASSES",
    "AnswerReceived",
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
    "MessageRejected",
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
    "Source",
    "StateChanged",
    "UnknownEvent",
]
