"""What an administrator of a Marshal group is told once.

Decides: names, units and bounds; that ids can be written into the log of claims, and that two who
give themselves no name have two.
Never: reads a configuration.
"""

import re
from dataclasses import dataclass
from typing import Final

from kgroup.errors import ArgumentError
from kgroup.marshal.key_state import LONGEST_PAUSE
from kgroup.marshal.settings import MARSHAL_TOPIC
from kgroup.net.ports import Dice

__all__ = ["LONGEST_KEPT", "AdminSettings", "admin_name", "check_kept_pause", "check_pause"]

LONGEST_KEPT: Final = 7 * 86_400.0
"""Seconds for which a pause is kept up; a slip of the pen stops nobody for years."""

_MOST_BYTES: Final = 249
_UNSOUND: Final = re.compile(r"[/\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """Who asks, for which group; times in seconds.

    Args:
        group_id: of the group.
        client_id: of whoever asks. A pause binds everybody else; the next call under the same
            name goes on with what one before it left behind. Who only reads needs none.
        topic: name of the coordination topic.
        timeout: for one question, and for what was written to be read back.
        whole: whether the log is read from its first record instead of its last hour.
    """

    group_id: str
    client_id: str = "kgroup-admin"
    topic: str = MARSHAL_TOPIC
    timeout: float = 10.0
    whole: bool = False

    def __post_init__(self) -> None:
        for name in ("group_id", "client_id"):
            value = getattr(self, name)
            if not value or _UNSOUND.search(value) or len(value.encode()) > _MOST_BYTES:
                expected = f"1 to {_MOST_BYTES} bytes without '/' and control characters"
                raise ArgumentError(name, value, expected)


def admin_name(dice: Dice) -> str:
    """Return a client id that nobody else has.

    1. Two administrators set positions at one time; 2. both have one name, so that the pause of the
    one binds the other as little as itself; 3. each takes over the keys that the other holds, and
    the log says what the one has set, Kafka what the other one has committed.
    """
    return f"kgroup-admin-{dice.getrandbits(32):08x}"


def check_pause(seconds: float) -> None:
    """Refuse a pause that nobody would keep to its end.

    Raises:
        ArgumentError: it is shorter than a second, or longer than `LONGEST_PAUSE`.
    """
    if not 1 <= seconds <= LONGEST_PAUSE:
        expected = (
            f"1 to {LONGEST_PAUSE} seconds: members that start read an hour of the log, and "
            "would not see an older pause; it is renewed while it is needed"
        )
        raise ArgumentError("pause", seconds, expected)


def check_kept_pause(seconds: float) -> None:
    """Refuse a pause that is not to be kept up for so long.

    Raises:
        ArgumentError: it is shorter than a second, or longer than `LONGEST_KEPT`.
    """
    if not 1 <= seconds <= LONGEST_KEPT:
        raise ArgumentError("pause", seconds, f"1 to {LONGEST_KEPT:.0f} seconds, a week")
