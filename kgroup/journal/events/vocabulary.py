"""All events together: the closed union that oracles match on, and the list that is written.

Decides: what counts as an event, in the order of the documentation.
Never: says what one means; its own module does.
"""

from kgroup.journal.events.life import (
    CloseAsked,
    CommitStored,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    RoundFailed,
    RoundStored,
    StateChanged,
    UnknownEvent,
)
from kgroup.journal.events.ownership import (
    CallbackStep,
    ClaimsEnded,
    ClaimStep,
    KeyChanged,
    MessageRejected,
    OwnershipStep,
)
from kgroup.journal.events.records import (
    CommitStep,
    Delivered,
    Done,
    FetchAnswered,
    FetchIssued,
    OffsetRead,
    Paused,
    Polled,
    PositionMoved,
    Resumed,
)
from kgroup.journal.events.requests import (
    AnswerReceived,
    ConnectionClosed,
    ConnectionOpened,
    RequestSent,
)

Event = (
    MemberStarted
    | CloseAsked
    | MemberStopped
    | StateChanged
    | GenerationEntered
    | JoinIssued
    | RoundFailed
    | KeyChanged
    | ClaimStep
    | MessageRejected
    | ConnectionOpened
    | ConnectionClosed
    | RequestSent
    | AnswerReceived
    | ClaimsEnded
    | OwnershipStep
    | CallbackStep
    | OffsetRead
    | PositionMoved
    | FetchIssued
    | FetchAnswered
    | Delivered
    | Done
    | Paused
    | Resumed
    | Polled
    | CommitStep
    | CommitStored
    | RoundStored
    | FaultStep
    | UnknownEvent
)

EVENT_CLASSES: tuple[type[Event], ...] = (
    MemberStarted,
    CloseAsked,
    MemberStopped,
    StateChanged,
    GenerationEntered,
    JoinIssued,
    RoundFailed,
    KeyChanged,
    ClaimStep,
    MessageRejected,
    ConnectionOpened,
    ConnectionClosed,
    RequestSent,
    AnswerReceived,
    ClaimsEnded,
    OwnershipStep,
    CallbackStep,
    OffsetRead,
    PositionMoved,
    FetchIssued,
    FetchAnswered,
    Delivered,
    Done,
    Paused,
    Resumed,
    Polled,
    CommitStep,
    CommitStored,
    RoundStored,
    FaultStep,
)
"""Every event that can be written, in the order of the documentation."""
