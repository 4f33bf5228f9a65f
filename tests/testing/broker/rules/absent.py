"""What a real broker has and the in-process one has not."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Absence:
    """One thing that is not there.

    Args:
        what: a name or two.
        instead: what happens when a client asks for it.
    """

    what: str
    instead: str


ABSENT: Final = (
    Absence(
        "Share groups (KIP-932), streams groups (KIP-1071), KIP-848 as 3.9 previewed it",
        "their APIs are not listed by ApiVersions",
    ),
    Absence(
        "Groups with members of the classic protocol and of KIP-848",
        "while a group has members of one, those of the other are refused (23, 69)",
    ),
    Absence("TLS and SASL", "connections are plain; `kgroup broker` starts a real Kafka with both"),
    Absence("ACLs", "everybody may do everything; authorized operations are all"),
    Absence(
        "Quotas", "the throttle time is 0; `broker.answers.rewrite` can put one into an answer"
    ),
    Absence(
        "Retention, compaction and tiered storage of topics",
        "records stay until `delete_before`, DeleteRecords or `truncate` takes them",
    ),
    Absence(
        "Replication",
        "replicas share one log; the high watermark is held back by hand, and what a log loses in "
        "an unclean election is said with `truncate`",
    ),
    Absence(
        "Segments",
        "a log is one piece; a real fetch ends where a segment does, so it may tell less at once",
    ),
    Absence(
        "Half a close",
        "a client that closes its sending side alone is taken to have closed its connection",
    ),
    Absence("A disk", "everything is in memory and gone with the object"),
    Absence("KRaft and the controller's APIs", "elections are exact instants, not votes"),
    Absence("Message formats before version 2", "Produce takes batches of version 2 only"),
    Absence("JMX, metrics and client telemetry (KIP-714)", "look at `broker.requests` instead"),
    Absence("Delegation tokens, SCRAM users, log directories, reassignments", "not listed"),
)
