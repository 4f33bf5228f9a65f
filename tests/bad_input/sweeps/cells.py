"""The cells of the matrix: what the reactions table says of each, and whether it was so.

Decides: how a reaction of the table shows at each place, and how a consumer must be afterwards.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, CorruptRecordError, UnsupportedVersionError
from kgroup.machine.reactions import OTHER_APIS, REACTIONS, Reaction, reaction
from tests.bad_input.sweeps.places import PLACES, Place
from tests.bad_input.sweeps.reading_off import seen
from tests.bad_input.sweeps.trials import FOR_LONG, TOO_OFTEN, Trial, tried

CODES: Final = tuple(int(code) for code in ErrorCode if code is not ErrorCode.NONE)
"""Every error code that is known."""

MOST_A_SECOND: Final = 20
"""Requests of one client under any permanent error, after the first second (L4)."""

_R = Reaction
_A = ApiKey

_WHOLE: Final = {"METADATA-partitions": _R.IGNORE, "FETCH-whole": _R.RETRY}
"""Levels at which no code says anything of its own: a partition whose leader is named is read; a
broker that cannot serve a Fetch is asked again."""

_OF_SESSIONS: Final[dict[tuple[_A, int], Reaction]] = {
    (_A.FETCH, ErrorCode.INCONSISTENT_TOPIC_ID): _R.REFRESH,
    (_A.FETCH, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR): _R.REFRESH,
}
"""A session is over, and the topic may be another one (KIP-516)."""

_CLASSIC: Final = {_R.RENEW_EPOCH: _R.RETRY}
"""A classic member has no epoch that could move on."""

_RIGHTS: Final = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)

_ASKED_ANYWAY: Final = (_A.METADATA, _A.OFFSET_FETCH, _A.OFFSET_FOR_LEADER_EPOCH)
"""What is refused there is asked for again now and then, as what is not permitted is; the error
says which it was."""

_OF_MEMBERS: Final = (_A.FIND_COORDINATOR, _A.JOIN_GROUP, _A.SYNC_GROUP, _A.HEARTBEAT)
"""Without these there is no membership: what is refused there is the end."""


_EVERY: Final = 10


def codes_at(place: Place, times: int | None = 1) -> tuple[int, ...]:
    """Return the codes that are tried at a place.

    Every code strikes once. At a second level, and for long, the codes with a cell of their own
    are tried, and every tenth of the others: these share one reaction.

    Args:
        place: where the error is put.
        times: how often each strikes, None = for ten seconds.
    """
    if times is not None and not place.is_second:
        return CODES
    cells = REACTIONS.get(place.api, OTHER_APIS)
    return tuple(code for at, code in enumerate(CODES) if code in cells or at % _EVERY == 0)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one cell.

    Args:
        place: where the error was put, by name.
        code: the error.
        reaction: what was seen, None when it has no name.
        faults: what was wrong, in words.
        pace: most requests in a second, after the first one.
    """

    place: str
    code: int
    reaction: Reaction | None
    faults: tuple[str, ...]
    pace: int


async def judge(name: str, codes: Iterable[int], times: int | None) -> list[Judged]:
    """Try some codes at one place.

    Args:
        name: of the place.
        codes: errors.
        times: how often each strikes, None = for ten seconds.
    """
    (place,) = (each for each in PLACES if str(each) == name)
    return [await _judge(place, code, times) for code in codes]


async def _judge(place: Place, code: int, times: int | None) -> Judged:
    try:
        trial = await tried(place, code, times=times)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported with its cell
        fault = f"{place} {code}: {type(error).__name__}: {error}"
        return Judged(str(place), code, None, (fault,), 0)
    found, faults = None, []
    wanted = _shown(place, code, times)
    try:
        found = seen(trial)
    except LookupError as error:
        faults.append(f"{error}")
    if found is not None and found is not wanted:
        faults.append(f"{found.name}, the table has {wanted.name}")
    pace = _pace(trial)
    if pace > MOST_A_SECOND:
        faults.append(f"{pace} requests in a second")
    if len(trial.hits) > TOO_OFTEN:
        faults.append("it spins")
    faults += _afterwards(trial, wanted, times)
    named = ErrorCode(code).name
    lines = tuple(f"{place} {named} {'once' if times else 'for long'}: {each}" for each in faults)
    return Judged(str(place), code, found, lines, pace)


def _shown(place: Place, code: int, times: int | None) -> Reaction:
    """Return as what the table's reaction shows."""
    name, special = str(place), _OF_SESSIONS.get((place.api, code))
    shown = special or _CLASSIC.get(found := reaction(place.api, code), found)
    if name in _WHOLE:
        return special or _WHOLE[name]
    match place.api, shown:
        case _A.LEAVE_GROUP, _:
            again = shown is _R.FIND_COORDINATOR and place.level == "whole"
            return shown if again else _R.SUCCEED  # a leaving member does not mind the rest
        case _A.METADATA, _R.REBOOTSTRAP if place.level == "topics":
            return _R.RETRY
        case _A.METADATA, _R.REBOOTSTRAP:
            return shown
        case _A.METADATA, _ if place.level == "whole":
            return _R.RETRY
        case _A.JOIN_GROUP, _R.RETRY_BOUNDED if times:
            return _R.RETRY
        case _A.LIST_OFFSETS, _R.NOTHING:
            return _R.RETRY  # a log whose beginning nobody can name may be able to later
        case _A.OFFSET_COMMIT, _R.UNAUTHORIZED if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return _R.REFUSE  # raised by `commit`; asked again by the next one
        case api, _R.REFUSE if api in _ASKED_ANYWAY and code in _RIGHTS:
            return _R.UNAUTHORIZED
        case _:
            return shown


def _pace(trial: Trial) -> int:
    """Return the most requests in any second, from the second one on while the error lasts."""
    if not trial.hits:
        return 0
    began = trial.hits[0]
    moments = [each.at for each in trial.arrivals if began + 1 <= each.at <= began + FOR_LONG]
    most, first = 0, 0
    for last, at in enumerate(moments):
        while moments[first] <= at - 1:
            first += 1
        most = max(most, last - first + 1)
    return most


def _afterwards(trial: Trial, wanted: Reaction, times: int | None) -> list[str]:
    faults = [f"left {trial.left}"] if trial.left else []
    faults += [
        f"reads raised {error!r}" for _, error in trial.raised if not _is_expected(trial, error)
    ]
    if trial.place.api is _A.LEAVE_GROUP:
        return faults
    fatal = wanted is _R.FENCE or (wanted is _R.REFUSE and trial.place.api in _OF_MEMBERS)
    fatal = fatal or (times is None and wanted in (_R.RETRY_BOUNDED, _R.DOWNGRADE))
    if not fatal:
        return faults + ([] if trial.recovered else [f"not recovered: {trial.failure!r}"])
    if trial.failure is None:
        return [*faults, "goes on"]
    if not trial.silent and wanted is not _R.DOWNGRADE:
        faults.append("asks on after its end")
    return faults


def _is_expected(trial: Trial, error: Exception) -> bool:
    """Say whether an error is about what struck."""
    match error:
        case BrokerError(code=trial.code) | CorruptRecordError():
            return True
        case UnsupportedVersionError():
            return trial.place.api is _A.API_VERSIONS
        case _:
            return error is trial.failure
