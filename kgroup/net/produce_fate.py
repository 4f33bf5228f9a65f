"""What an answer to Produce says about the batch.

Decides: which error codes say that it is stored, that it may be sent again, and where. Those about
sequence numbers are read here; the rest stands in the table of verdicts.
Never: knows what was sent before; whether a doubt remains is the producer's to say.
KIPs: 98 (sequence numbers), 360 (a producer id that the broker lost).
"""

from enum import Enum

from kgroup.codes import ApiKey, ErrorCode
from kgroup.net.verdict import Verdict, verdict


class Fate(Enum):
    """What an error code says about a batch."""

    STORED = "stored"
    AGAIN = "send it again"
    ELSEWHERE = "find the leader, then send it again"
    ANEW = "the broker lost track of this producer id"
    REFUSED = "not stored"


def fate_of(code: int) -> Fate:
    """Read an error code of a Produce answer; 0 is one of them."""
    match code:
        case ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return Fate.STORED
        case (
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            | ErrorCode.UNKNOWN_PRODUCER_ID
            | ErrorCode.INVALID_PRODUCER_EPOCH
        ):
            return Fate.ANEW
        case _:
            pass
    match verdict(ApiKey.PRODUCE, code):
        case Verdict.DONE:
            return Fate.STORED
        case Verdict.AGAIN:
            return Fate.AGAIN
        case Verdict.ELSEWHERE:
            return Fate.ELSEWHERE
        case Verdict.REFUSED:
            return Fate.REFUSED
