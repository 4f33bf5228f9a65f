"""The assignor under test: how new ones are made, and how one is asked.

Decides: what can be tested (a class, a factory, an instance); when an answer has a shape that
other checks can look at; when two answers are the same (`essence`): a member that is left out of
`partitions` has the same as one with an empty entry.
Never: lets what an author's code raises pass for an error of the kit; changes what a group says
when it is sent over the wire (`as_sent`).
"""

import copy
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from kgroup.assignors.api import USER_DATA_LIMIT, Assignor, LastAssignment, UserDataAssignor
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.peers import PeerAssignor
from kgroup.assignors.registry import as_assignor, resolve
from kgroup.errors import ArgumentError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_subscription,
    encode_subscription,
)


class Offence(Exception):
    """A promise is broken.

    Args:
        says: how, in one sentence.
        evidence: what shows it, ready to print: groups as code, answers; empty for nothing more
            than the group that was asked about.
    """

    def __init__(self, says: str, evidence: str = "") -> None:
        super().__init__(says)
        self.says = says
        self.evidence = evidence


class Elsewhere(Exception):
    """Nothing can be said here, because another promise is broken or does not apply."""


# -- subject ---------------------------------------------------------------------------------------


Testable = Assignor | Callable[[], Assignor] | PeerAssignor | type[PeerAssignor]
"""What can be tested: an instance, what makes one without arguments, or an assignor of aiokafka
or kafka-python."""


_LIMIT: Final = f", more than the {USER_DATA_LIMIT} that a member may send or be given"


class Raised(Elsewhere):
    """The assignor raised; `__cause__` is what."""


class Misshapen(Elsewhere):
    """The assignor returned what cannot be sent; the message says what."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An assignor under test.

    Args:
        name: on the wire.
        protocols: that it supports.
        has_user_data: whether members make user data with it.
        make: returns a new one, equal to all others; the same one again when it cannot be copied.
        given: what the author gave.
    """

    name: str
    protocols: tuple[RebalanceProtocol, ...]
    has_user_data: bool
    make: Callable[[], Assignor]
    given: object

    @property
    def protocol(self) -> RebalanceProtocol:
        """The highest protocol it supports; members that offer only this assignor follow it."""
        cooperative = RebalanceProtocol.COOPERATIVE in self.protocols
        return RebalanceProtocol.COOPERATIVE if cooperative else RebalanceProtocol.EAGER

    def ask(self, group: GroupSubscription, assignor: Assignor | None = None) -> GroupAssignment:
        """Have an assignor divide a group.

        Args:
            group: all of it.
            assignor: one of this subject's, None for a new one.

        Raises:
            Raised: it raised.
            Misshapen: what it returned is no assignment.
        """
        asked = self.make() if assignor is None else assignor
        try:
            answer: object = asked.assign(group)
        except Exception as error:  # foreign code: whatever it raises is its own fault
            raise Raised(f"assign() raised {error!r}{where(error)}") from error
        _check_shape(answer)
        return cast("GroupAssignment", answer)

    def encode(
        self, last: LastAssignment, generation_id: int | None, assignor: Assignor | None = None
    ) -> bytes | None:
        """Return the user data of a member: its own, or what came with its last assignment.

        Raises:
            Raised: the assignor raised.
            Misshapen: it returned neither bytes nor None.
        """
        asked = self.make() if assignor is None else assignor
        if not self.has_user_data:
            return last.user_data
        try:
            made: object = cast("UserDataAssignor", asked).encode_user_data(last, generation_id)
        except Exception as error:  # foreign code: whatever it raises is its own fault
            raise Raised(f"encode_user_data() raised {error!r}{where(error)}") from error
        if made is not None and not isinstance(made, bytes):
            raise Misshapen(f"encode_user_data() returned {made!r}, neither bytes nor None")
        if made is not None and len(made) > USER_DATA_LIMIT:
            raise Misshapen(f"encode_user_data() returned {len(made)} bytes{_LIMIT}")
        return made


def subject_of(given: Testable) -> Subject:
    """Return what makes assignors out of a class, a factory or an instance.

    Raises:
        ArgumentError: it makes none without arguments.
        ConfigError: what it makes has no usable name or protocols, or no assign().
    """
    tested = as_assignor(given)
    if isinstance(tested, Assignor) and not isinstance(tested, type):
        make = _copies_of(tested)
    elif callable(tested):
        make = _maker(tested)
    else:
        raise ArgumentError("assignor", given, "an assignor, its class, or a function making one")
    first = make()
    resolve([first])
    return Subject(
        first.name,
        tuple(first.supported_protocols),
        isinstance(first, UserDataAssignor),
        make,
        given,
    )


def where(error: BaseException) -> str:
    """Return the line that raised, as a clause; empty when it is not known."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    last = frames[-1]
    return (
        f" in {last.name}() at {last.filename.replace(chr(92), '/').split('/')[-1]}:{last.lineno}"
    )


def _copies_of(instance: Assignor) -> Callable[[], Assignor]:
    try:
        pristine = copy.deepcopy(instance)
    except Exception:  # noqa: BLE001 - foreign code; some things cannot be copied
        return lambda: instance
    return lambda: copy.deepcopy(pristine)


def _maker(given: Callable[[], Assignor]) -> Callable[[], Assignor]:
    try:
        given()
    except Exception as error:  # foreign code: whatever it raises, its author must hear of it
        name = getattr(given, "__name__", repr(given))
        raise ArgumentError(
            "assignor",
            given,
            f"something that makes an assignor without arguments ({error!r}); give an instance, "
            f"or `lambda: {name}(...)`",
        ) from error
    return given


def _check_shape(answer: object) -> None:
    """Check that an answer is made of what can be sent.

    Raises:
        Misshapen: it is not, and in what.
    """
    if not isinstance(answer, GroupAssignment):
        raise Misshapen(f"assign() returned {answer!r}, not a GroupAssignment")
    parts = {
        "partitions": answer.partitions,
        "withheld": answer.withheld,
        "user_data": answer.user_data,
    }
    for name, part in parts.items():
        if not isinstance(part, Mapping):
            raise Misshapen(f"{name} is {part!r}, not a mapping")
    for member_id, given in answer.partitions.items():
        _check_partitions(member_id, given)
    for tp, waiting in answer.withheld.items():
        _check_partition(tp, "withheld")
        if not isinstance(waiting, str | None):
            raise Misshapen(f"{tp} is withheld for {waiting!r}, neither a member id nor None")
    for member_id, data in answer.user_data.items():
        if not isinstance(data, bytes):
            raise Misshapen(f"the user data of {member_id!r} is {data!r}, not bytes")
        if len(data) > USER_DATA_LIMIT:
            raise Misshapen(f"the user data of {member_id!r} is {len(data)} bytes{_LIMIT}")


def _check_partitions(member_id: object, given: object) -> None:
    if not isinstance(member_id, str):
        raise Misshapen(f"partitions are given to {member_id!r}, which is no member id")
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise Misshapen(f"{member_id!r} is given {given!r}, not a sequence of TopicPartition")
    for tp in given:
        _check_partition(tp, f"given to {member_id!r}")


def _check_partition(tp: object, what: str) -> None:
    if not isinstance(tp, TopicPartition) or not isinstance(tp.partition, int):
        raise Misshapen(f"{tp!r} is {what}, not a TopicPartition")


# -- essence ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Essence:
    """An answer as a value: equal when it makes no difference which of the two is sent."""

    partitions: Mapping[str, tuple[TopicPartition, ...]]
    withheld: Mapping[TopicPartition, str | None]
    user_data: Mapping[str, bytes]
    rejoin_after: float | None

    @property
    def sets(self) -> "Essence":
        """The same without the order within a member's partitions."""
        given = {who: tuple(sorted(each)) for who, each in self.partitions.items()}
        return replace(self, partitions=given)


def essence(answer: GroupAssignment) -> Essence:
    """Return an answer as a value."""
    after = answer.rejoin_after
    return Essence(
        {who: tuple(given) for who, given in answer.partitions.items() if len(given)},
        dict(answer.withheld),
        dict(answer.user_data),
        None if after != after else after,
    )


# -- sent ------------------------------------------------------------------------------------------


def as_sent(group: GroupSubscription) -> GroupSubscription:
    """Return the group with every member's subscription written and read once.

    What comes off the wire is equal, but its claims are a sequence of another type, sorted.
    """
    return GroupSubscription(tuple(map(_member, group.members)), group.topics, group.now)


def _member(member: Member) -> Member:
    if member.unreadable is not None:
        return member
    written = encode_subscription(
        MemberSubscription(
            topics=tuple(member.topics),
            owned=member.owned,
            generation_id=member.generation_id,
            rack=member.rack,
            user_data=member.user_data,
        ),
        member.version,
    )
    read = decode_subscription(written)
    return replace(
        member,
        topics=frozenset(read.topics),
        owned=read.owned,
        generation_id=read.generation_id,
        user_data=read.user_data,
    )
