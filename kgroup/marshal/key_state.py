"""One key: what the log says of it (`KeyState`), and how one member lives it (`KeyLife`).

Decides: the shape of both; when a key is free; which timers run in each phase, and when
    each is due.
Never: changes by itself. `world` writes a `KeyState`, one record after the other; a step replaces a
    `KeyLife`, and fires its timers.
"""

import math
from collections.abc import Iterator
from dataclasses import field
from typing import Final, NamedTuple

from kgroup.marshal.admission import Admission, AdmissionStage
from kgroup.marshal.key_rows import KeyPhase, KeyTrigger
from kgroup.marshal.messages import Kind
from kgroup.types import Cause, Claim, TopicPartition
from kgroup.values import dataclass

TTL_MS: Final = 120_000
"""Of a claim that does not say how often its owner beats: two intervals of a minute."""

QUIET_MS: Final = 120_000
"""Of silence after which every earlier claim is over."""

LONGEST_PAUSE: Final = 3000
"""Seconds after which a pause is over, whatever it says: a reader begins an hour before the end of
a log, and knows of every pause that is not."""

_NONE: Final = -1


class Key(NamedTuple):
    """What is claimed: one partition of a topic, for one group; ids are bytes, as in the log."""

    group: bytes
    topic: bytes
    partition: int


class Pause(NamedTuple):
    """While it lasts, one client alone may claim keys of a group.

    Args:
        until: log time, milliseconds.
        client_id: of the administrator that asked for it.
    """

    until: int
    client_id: bytes


@dataclass(slots=True)
class KeyState:
    """One key. Not frozen: a log of a million records is folded into it at start-up.

    Args:
        owned: whether the last claim has not been released; it may be stale all the same.
        instance_id: of the last owner; stays after a release.
        client_id: of the last owner; stays after a release.
        epoch: offset of the accepted claim, -1 before any; higher ones are later.
        started: of the owner's process, milliseconds, -1 when it did not say.
        beat: log time of the last heartbeat or claim that counted, milliseconds.
        heard: log time of the last heartbeat or claim, whether it counted or not.
        ttl: time to live of the claim: milliseconds from `beat` after which the key is free.
        offset: next to read, as the last heartbeat or release has it; -1 before any.
        released_at: log time of the release, -1 while the key is owned.
        definite: whether what went before the first record read can change nothing any more.
        mixed_until: log time until which a peer without headers is taken into account.
        idle_since: log time since which no member has begun with it; -1 while one has, and when
            that is not known. A claim does not end it: its first heartbeat does.
        tenure: what was found out of the owner's last heartbeats, so that others like them need not
            be looked at in full; None once anything else has happened. No part of the state.
    """

    owned: bool = False
    instance_id: bytes = b""
    client_id: bytes = b""
    epoch: int = _NONE
    started: int = _NONE
    beat: int = _NONE
    heard: int = _NONE
    ttl: int = TTL_MS
    offset: int = _NONE
    released_at: int = _NONE
    definite: bool = False
    mixed_until: int = _NONE
    idle_since: int = _NONE
    tenure: "Tenure | None" = field(default=None, repr=False, compare=False)

    def owned_at(self, time: int) -> bool:
        """Tell whether somebody owns the key at a log time, milliseconds; in its past, too."""
        return self.owned and time - self.beat < self.ttl

    def nobodys_since(self, time: int) -> int | None:
        """Return the log time since which no member works on the key; None while one does.

        -1 of a key that no member has ever worked on, as far as was read.
        """
        if not self.owned or self.idle_since >= 0:
            return self.idle_since
        over = self.beat + self.ttl
        return over if time >= over else None

    def is_owner(self, client_id: bytes, instance_id: bytes) -> bool:
        """Tell whether a process is the last owner, or was until it released the key."""
        return self.instance_id == instance_id and self.client_id == client_id


@dataclass(frozen=True, slots=True, eq=False)
class Tenure:
    """An owner's hold on a key, as a heartbeat that counted proved it; `state` keeps it as long.

    Args:
        state: of the key.
        fenced: whether the heartbeat had headers that count.
        is_of_original: whether it had none at all.
    """

    state: KeyState
    fenced: bool
    is_of_original: bool


# -- key life --------------------------------------------------------------------------------------
#
# One key as one member lives it.
#
# Decides: the shape, and when the next of its timers is due.
# Never: changes; a step replaces it.


@dataclass(frozen=True, slots=True)
class Write:
    """A message that was written and not read back yet; of one key there is one at a time.

    Args:
        ticket: also the nonce in its header.
        kind: of the message.
        tail: position that it carries.
        sent_at: instant before it was written; the time to live counts from here.
        limit: instant after which it is not waited for.
    """

    ticket: int
    kind: Kind
    tail: int
    sent_at: float
    limit: float


@dataclass(frozen=True, slots=True)
class KeyLife:
    """One key.

    Args:
        tp: the partition.
        phase: where it stands.
        write: what is awaited of the log.
        locating: ticket of the awaited position.
        locate_at: when the position is asked for again, infinity while it need not be.
        claim_at: when the claim is due.
        retry_at: instant before which it is not tried again.
        failures: claims in a row that came to nothing.
        claim: the period of ownership, None before and after.
        leaving: the same, from when it was given up until its release is settled.
        epoch: offset of the accepted claim, None without one.
        expires_at: instant after which nothing is handed out, nor waited for; None without a claim.
        proved: whether a heartbeat was read back.
        beat_at: when the next heartbeat is due.
        beaten_at: instant at which the last one was written.
        position: next to read, as far as the application has committed; None before it is known.
        logged: the same, as the log has it under this claim; None before the first heartbeat.
        committed_at: instant at which it was last sent to the group coordinator.
        sent: the highest that was written under this claim, or stood in the log before it: below
            it no heartbeat can take the position back.
        rewinds: whether a lower position is being committed.
        cools_down: whether others are to have it for a while once it is handed back.
        drain_until: instant after which a batch in hand is not waited for, None: none is.
        cause: why it is handed back, None while it is not.
        admission: of records, at most once; None without.
        due: when its next timer is due, infinity when none runs; a step that replaces it keeps it.
    """

    tp: TopicPartition
    phase: KeyPhase = KeyPhase.IDLE
    write: Write | None = None
    locating: int | None = None
    locate_at: float = math.inf
    claim_at: float = 0.0
    retry_at: float = 0.0
    failures: int = 0
    claim: Claim | None = None
    leaving: Claim | None = None
    epoch: int | None = None
    expires_at: float | None = None
    proved: bool = False
    beat_at: float = math.inf
    beaten_at: float = -math.inf
    position: int | None = None
    logged: int | None = None
    committed_at: float = -math.inf
    sent: int = 0
    rewinds: bool = False
    cools_down: bool = False
    drain_until: float | None = None
    cause: Cause | None = None
    admission: Admission | None = None
    due: float = math.inf

    def publishes(self, until: int) -> bool:
        """Tell whether the log says, under this claim, that what is below is handed out.

        1. A heartbeat says so; 2. before it is read back its batch is refused, so it is not handed
        out; 3. it is read back. It says so until the position is taken back, or asked for again.
        """
        if self.claim is None or self.logged is None or self.position is None:
            return False
        return until <= min(self.logged, self.position)

    @property
    def flows(self) -> bool:
        """Whether its records may be handed out until its claim expires."""
        return self.phase is KeyPhase.OWNED and not self.rewinds

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is under way."""
        return self.phase is KeyPhase.IDLE


# -- key timers ------------------------------------------------------------------------------------


KEY_TIMERS = frozenset(
    {
        KeyTrigger.CLAIM_DUE,
        KeyTrigger.LOCATE_DUE,
        KeyTrigger.BEAT_DUE,
        KeyTrigger.WRITE_LIMIT,
        KeyTrigger.EXPIRED,
    }
)


def timers_of(life: KeyLife) -> Iterator[tuple[KeyTrigger, float]]:
    """Yield the timers that run, with their instants; the end of the claim first."""
    if life.phase is KeyPhase.IDLE:
        return
    if life.phase is KeyPhase.PAUSING:
        yield KeyTrigger.CLAIM_DUE, life.claim_at
        return
    if life.expires_at is not None:
        yield KeyTrigger.EXPIRED, life.expires_at
    if life.phase is KeyPhase.LOCATING:
        yield KeyTrigger.LOCATE_DUE, life.locate_at
    elif life.write is not None:
        yield KeyTrigger.WRITE_LIMIT, life.write.limit
    elif life.phase in (KeyPhase.CONFIRMING, KeyPhase.OWNED, KeyPhase.RELEASING):
        yield KeyTrigger.BEAT_DUE, life.beat_at


def due_of(life: KeyLife) -> float:
    """Return the instant at which the first of its timers is due, infinity when none runs."""
    due = min((at for _, at in timers_of(life)), default=math.inf)
    if life.drain_until is not None:
        due = min(due, life.drain_until)
    batch = life.admission
    if batch is not None and batch.stage is AdmissionStage.WAITING and life.write is None:
        due = min(due, batch.not_before)
    return due
