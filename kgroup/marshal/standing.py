"""What one member keeps of what the world says about a key: a frozen copy.

Decides: when a key is free, as far as a reader can tell before its claim is in the log.
Never: changes; the next record of the key brings another one.
"""

from typing import NamedTuple

from kgroup.marshal.key_state import QUIET_MS, KeyState


class Standing(NamedTuple):
    """One key at one place of the log; times are log time, milliseconds.

    Args:
        owned: whether the last claim has not been released.
        client_id: of the last owner, b"" before any.
        instance_id: of the last owner, b"" before any.
        epoch: offset of the accepted claim, None before any.
        started: of the owner's process, None when it did not say.
        beat: of the last heartbeat or claim that counted, None before any.
        heard: of the last heartbeat or claim, None before any.
        ttl: time to live of the claim, after `beat`.
        offset: next to read, as the last heartbeat or release has it, None before any.
        released_at: of the release, None while the key is owned.
        definite: whether what was not read can change nothing any more.
        mixed_until: until then a peer without headers is taken into account, None: there was none.
        idle_since: since then no member has begun with it; None while one has, or if unknown.
    """

    owned: bool = False
    client_id: bytes = b""
    instance_id: bytes = b""
    epoch: int | None = None
    started: int | None = None
    beat: int | None = None
    heard: int | None = None
    ttl: int = 0
    offset: int | None = None
    released_at: int | None = None
    definite: bool = False
    mixed_until: int | None = None
    idle_since: int | None = None

    def free_at(self, since: int) -> int:
        """Return the log time from which a claim is accepted, if nothing is written until then.

        Args:
            since: log time of the first message that was read.
        """
        if self.definite:
            return self.beat + self.ttl if self.owned and self.beat is not None else 0
        heard = since if self.heard is None else max(since, self.heard)
        return heard + QUIET_MS

    def nobodys_since(self, time: int) -> int | None:
        """Return the log time since which no member works on the key; None while one does.

        -1 of a key that no member has ever worked on, as far as was read.
        """
        if not self.owned or self.idle_since is not None:
            return -1 if self.idle_since is None else self.idle_since
        over = (self.beat or 0) + self.ttl
        return over if time >= over else None

    def is_owner(self, client_id: bytes, instance_id: bytes) -> bool:
        """Tell whether a process has the key, as far as the log says."""
        return self.owned and (self.client_id, self.instance_id) == (client_id, instance_id)

    def is_mixed(self, time: int) -> bool:
        """Tell whether a peer without headers wrote about the key lately."""
        return self.mixed_until is not None and time < self.mixed_until


def standing_of(state: KeyState) -> Standing:
    """Return a copy of a key's state."""
    return Standing(
        state.owned,
        state.client_id,
        state.instance_id,
        _known(state.epoch),
        _known(state.started),
        _known(state.beat),
        _known(state.heard),
        state.ttl,
        _known(state.offset),
        _known(state.released_at),
        state.definite,
        _known(state.mixed_until),
        _known(state.idle_since),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number
