"""The rule of the original library, as it is: the oracle that its recorded states are held against.

Decides: what one of its readers concludes from a log and its own clock, record by record.
Never: used by kgroup itself, which does not ask a reader's clock what happened (`kgroup.marshal`).
"""

from dataclasses import dataclass, field

from kgroup.marshal.messages import Kind, Message, Reject, decode

_LEASE = 120


@dataclass(slots=True)
class GoClaim:
    """What it stores of one key; times are seconds of the senders' clocks."""

    instance: bytes = b""
    client: bytes = b""
    group: bytes = b""
    last_heartbeat: int = 0
    last_release: int = 0
    current_offset: int = 0

    def claimed(self, now: int) -> bool:
        """Tell whether a reader whose clock says `now` takes the key for owned."""
        return self.last_heartbeat != 0 and 0 <= now - self.last_heartbeat < _LEASE


@dataclass(slots=True)
class GoWorld:
    """One reader of one coordination partition."""

    claims: dict[tuple[bytes, bytes, int], GoClaim] = field(default_factory=dict)

    def apply(self, value: bytes | None, now: int) -> None:
        """Apply a record that is read when the reader's clock says `now`, seconds."""
        message = decode(value)
        if isinstance(message, Reject) or message.kind is Kind.RELEASE_GROUP:
            return
        key = (message.group_id, message.topic, message.partition)
        claim = self.claims.setdefault(key, GoClaim())
        match message.kind:
            case Kind.HEARTBEAT:
                _take(claim, message)
                claim.current_offset = message.tail
            case Kind.CLAIMING_PARTITION if not claim.claimed(now):
                _take(claim, message)
            case Kind.RELEASING_PARTITION if _is_of(claim, message):
                claim.last_heartbeat = 0
                claim.last_release = message.time
                claim.current_offset = message.tail
            case _:
                pass


def _take(claim: GoClaim, message: Message) -> None:
    claim.instance, claim.client = message.instance_id, message.client_id
    claim.group = message.group_id
    claim.last_heartbeat, claim.last_release = message.time, 0


def _is_of(claim: GoClaim, message: Message) -> bool:
    stored = (claim.client, claim.group, claim.instance)
    return stored == (message.client_id, message.group_id, message.instance_id)
