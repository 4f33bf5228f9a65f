"""What is known of one key: who owns it, under which epoch, and where reading stands.

Decides: the shape, and what "free" means.
Never: changes by itself; `world` writes it, one record after the other.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["LEASE_MS", "LONGEST_PAUSE", "QUIET_MS", "Key", "KeyState", "Pause", "Tenure"]

LEASE_MS: Final = 120_000
"""Of a claim that does not say how often its owner beats: two intervals of a minute."""

QUIET_MS: Final = 120_000
"""Of silence after which whatever went before is over, whoever was there."""

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
    """Nobody but one client may claim anything of a group.

    Args:
        until: log time, milliseconds.
        client_id: of the admin who asked for it.
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
        lease: milliseconds from `beat` after which the key is free.
        offset: next to read, as the last heartbeat or release has it; -1 before any.
        released_at: log time of the release, -1 while the key is owned.
        definite: whether what went before the first record read can change nothing any more.
        mixed_until: log time until which a peer without headers is taken into account.
        idle_since: log time since which nobody has begun with it, -1 while somebody has, and when
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
    lease: int = LEASE_MS
    offset: int = _NONE
    released_at: int = _NONE
    definite: bool = False
    mixed_until: int = _NONE
    idle_since: int = _NONE
    tenure: "Tenure | None" = field(default=None, repr=False, compare=False)

    def owned_at(self, time: int) -> bool:
        """Tell whether somebody owns the key at a log time, milliseconds; in its past, too."""
        return self.owned and time - self.beat < self.lease

    def nobodys_since(self, time: int) -> int | None:
        """Return the log time since which nobody works on the key; None: somebody does.

        -1 of a key that nobody has ever worked on, as far as was read.
        """
        if not self.owned or self.idle_since >= 0:
            return self.idle_since
        over = self.beat + self.lease
        return over if time >= over else None

    def is_owner(self, client_id: bytes, instance_id: bytes) -> bool:
        """Tell whether a process is the last owner, or was until it released the key."""
        return self.instance_id == instance_id and self.client_id == client_id


@dataclass(frozen=True, slots=True, eq=False)
class Tenure:
    """That somebody has a key, as a heartbeat said that counted; `state` has it while that is so.

    Args:
        state: of the key.
        fenced: whether the heartbeat had headers that count.
        is_of_original: whether it had none at all.
    """

    state: KeyState
    fenced: bool
    is_of_original: bool
