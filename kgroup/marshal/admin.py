"""Setting positions of a group from outside: what is written about each key, and what it came to.

Decides: the order. A key is claimed like by any member, confirmed at the position that it had, and
released at the new one after that was committed. Giving up before that releases it where it was. A
step is taken when the one before it was read back, never because it was acknowledged.
Never: touches a key that has an owner; counts a key as set that is not.
Source: the administrator of dropbox/marshal (2016 to 2017), with its waits made real.

    WAITING -claim-> CLAIMED -heartbeat-> HELD -commit-> COMMITTED -release at target-> SET
                        |                   |
                        +----- giving up ---+-> RESTORING -release where it was-> KEPT

A claim, a commit or a release that may or may not have been done ends as UNKNOWN, and a key that
another member took as LOST; each says what that means. Doing all of it again is harmless.
"""

from dataclasses import replace
from enum import Enum
from typing import Final, NamedTuple

from kgroup.marshal.messages import Kind, Reject
from kgroup.marshal.rules import Verdict
from kgroup.types import TopicPartition
from kgroup.values import dataclass


class Stage(Enum):
    """How far the position of one key has come."""

    WAITING = "not claimed"
    CLAIMED = "claimed, and not confirmed"
    HELD = "held where it was"
    COMMITTED = "committed at its new position"
    RESTORING = "about to be released where it was"
    SET = "set"
    KEPT = "not changed"
    LOST = "taken by somebody else"
    UNKNOWN = "not known"


_DONE: Final = frozenset({Stage.SET, Stage.KEPT, Stage.LOST, Stage.UNKNOWN})


class Draft(NamedTuple):
    """A message that is to be written about a key.

    Args:
        kind: its type.
        tail: position that it carries, 0 in a claim.
        epoch: under which it is written, None in a claim.
    """

    kind: Kind
    tail: int = 0
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class KeyMove:
    """One key on its way to another position.

    Args:
        tp: the key.
        target: next offset its group shall read.
        former: next offset it would read now, None when no position was ever written.
        stage: how far it has come.
        epoch: of our claim, None before.
        reason: why it is not SET, "" when it is or may still be.
    """

    tp: TopicPartition
    target: int
    former: int | None = None
    stage: Stage = Stage.WAITING
    epoch: int | None = None
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Whether nothing is to be written about it any more."""
        return self.stage in _DONE

    @property
    def is_ours(self) -> bool:
        """Whether we have claimed it, and not released it."""
        return self.stage in (Stage.CLAIMED, Stage.HELD, Stage.COMMITTED, Stage.RESTORING)


def draft_of(move: KeyMove) -> Draft | None:
    """Return what is to be written next, None for nothing.

    A key that never had a position is not confirmed: a heartbeat would give it one.
    """
    match move.stage:
        case Stage.WAITING:
            return Draft(Kind.CLAIMING_PARTITION)
        case Stage.CLAIMED | Stage.HELD if move.former is not None:
            return Draft(Kind.HEARTBEAT, move.former, move.epoch)
        case Stage.COMMITTED:
            return Draft(Kind.RELEASING_PARTITION, move.target, move.epoch)
        case Stage.RESTORING if move.former is not None:
            return Draft(Kind.RELEASING_PARTITION, move.former, move.epoch)
        case _:
            return None


def heard(
    move: KeyMove, verdict: Verdict | Reject | None, offset: int, logged: int | None
) -> KeyMove:
    """Take in what came of the last message about a key.

    Args:
        move: as it was when the message was written.
        verdict: what the message did; None when it was not read back in time.
        offset: of its record, if it was read back.
        logged: position that the log had of the key there, None without one.
    """
    match move.stage, verdict:
        case Stage.WAITING, Verdict.ACCEPTED:
            former = move.former if logged is None else logged
            stage = Stage.HELD if former is None else Stage.CLAIMED
            return replace(move, stage=stage, epoch=offset, former=former)
        case Stage.WAITING, _ if verdict is not None:
            return move
        case Stage.CLAIMED | Stage.HELD, Verdict.RENEWED:
            return replace(move, stage=Stage.HELD)
        case Stage.COMMITTED, Verdict.RELEASED:
            return replace(move, stage=Stage.SET, reason="")
        case Stage.RESTORING, Verdict.RELEASED:
            return replace(move, stage=Stage.KEPT)
        case _, None:
            return _unread(move)
        case _:
            return _lost(move)


def was_committed(move: KeyMove, error: Exception | None) -> KeyMove:
    """Take in how committing the new position of a held key ended."""
    if error is None:
        return replace(move, stage=Stage.COMMITTED)
    return give_up(move, f"its position was not committed: {error}")


def give_up(move: KeyMove, reason: str) -> KeyMove:
    """Leave a key where it was, unless its new position was committed: then there is no way back.

    Args:
        move: the key.
        reason: why, in words.
    """
    match move.stage:
        case Stage.WAITING:
            return replace(move, stage=Stage.KEPT, reason=reason)
        case Stage.CLAIMED | Stage.HELD if move.former is None:
            # A release would give it a position. The claim ends by itself.
            text = f"{reason}; nobody can claim it before our claim ends"
            return replace(move, stage=Stage.KEPT, reason=text)
        case Stage.CLAIMED | Stage.HELD:
            return replace(move, stage=Stage.RESTORING, reason=reason)
        case _:
            return move


def in_doubt(move: KeyMove, committed: str) -> KeyMove:
    """Say that a key was left where it was, but what is committed of it may not have been.

    Args:
        move: the key; of one that was not left where it was nothing is said.
        committed: what the group coordinator has, in words.
    """
    if move.stage is not Stage.KEPT:
        return move
    text = f"the log of claims has offset {move.former}, and what is committed is {committed}"
    return replace(move, stage=Stage.UNKNOWN, reason=f"{move.reason}; {text}: do it again")


def _unread(move: KeyMove) -> KeyMove:
    what = {
        Stage.WAITING: "our claim may still come, and end by itself; its position stays",
        Stage.COMMITTED: (
            f"offset {move.target} is committed, and whether the log of claims has it is not "
            "known: do it again"
        ),
    }.get(move.stage, "its position stays; nobody can claim it before our claim ends")
    stage = Stage.UNKNOWN if move.stage in (Stage.WAITING, Stage.COMMITTED) else Stage.KEPT
    before = f"{move.reason}; " if move.reason else ""
    text = f"{before}what was written about it was not read back in time; {what}"
    return replace(move, stage=stage, reason=text)


def _lost(move: KeyMove) -> KeyMove:
    what = "somebody else took it meanwhile; its position is as its owner says"
    if move.stage is Stage.COMMITTED:
        what += f", though offset {move.target} is committed: do it again"
    return replace(move, stage=Stage.LOST, reason=what)
