"""Every error kgroup raises, in one hierarchy.

Decides: what a caller can catch and which data an error carries.
Never: how the client reacts to a broker's code; that is `kgroup.machine.reactions`.

An error carries data, not only prose. Time-outs are Python's own `TimeoutError`.

- `brokers`: What the network and brokers refuse
- `group`: What goes wrong between a member and its group
- `usage`: The root of all errors, and what a caller did wrong
"""

from kgroup.errors.brokers import (
    AuthenticationError,
    BrokerError,
    ConnectionLostError,
    NoBrokerError,
    NotConnectedError,
    TlsError,
    TransportError,
    UnauthorizedError,
)
from kgroup.errors.group import (
    AssignmentError,
    AssignorError,
    CommitFailedError,
    CoordinationTopicError,
    DeserializationError,
    FencedError,
    FencedWriteError,
    GroupError,
    LockLostError,
    LogTruncatedError,
    NoOffsetError,
    NotOwnedError,
    OffsetOutOfRangeError,
)
from kgroup.errors.usage import (
    ArgumentError,
    ClosedError,
    ConfigError,
    CorruptRecordError,
    DecodeError,
    IllegalStateError,
    KGroupError,
    LocalProtocolError,
    MissingExtraError,
    ProtocolError,
    UnsupportedCodecError,
    UnsupportedError,
    UnsupportedVersionError,
    WakeupError,
)

__all__ = [
    "ArgumentError",
    "AssignmentError",
    "AssignorError",
    "AuthenticationError",
    "BrokerError",
    "ClosedError",
    "CommitFailedError",
    "ConfigError",
    "ConnectionLostError",
    "CoordinationTopicError",
    "CorruptRecordError",
    "DecodeError",
    "DeserializationError",
    "FencedError",
    "FencedWriteError",
    "GroupError",
    "IllegalStateError",
    "KGroupError",
    "LocalProtocolError",
    "LockLostError",
    "LogTruncatedError",
    "MissingExtraError",
    "NoBrokerError",
    "NoOffsetError",
    "NotConnectedError",
    "NotOwnedError",
    "OffsetOutOfRangeError",
    "ProtocolError",
    "TlsError",
    "TransportError",
    "UnauthorizedError",
    "UnsupportedCodecError",
    "UnsupportedError",
    "UnsupportedVersionError",
    "WakeupError",
]
