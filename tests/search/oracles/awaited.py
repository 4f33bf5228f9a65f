"""Which answers one life of a member still awaits: what S8 calls late moves nobody.

Decides: which request, and which generation of a commit, is of before. An answer about the member's
id (25, 82) is no exception.
Never: calls anything wrong; oracles do.
KIPs: 345.
"""

from collections.abc import Collection
from types import MappingProxyType

from kgroup.codes import ApiKey
from kgroup.journal.events import (
    AnswerReceived,
    CommitStep,
    OwnershipStep,
    Phase,
    RequestSent,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.types import ChangeKind, MemberState
from tests.search.oracles import excuses

OUT = frozenset(
    {MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.LEFT, MemberState.DORMANT}
)
"""States in which a member takes no part: it may come back as anybody."""

_ROUND = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP)
_OF_COORDINATOR = frozenset({*_ROUND, ApiKey.HEARTBEAT})
"""What is given up with a coordinator; a refused commit is heard while its generation stands."""

_BUT_JOIN = frozenset(ApiKey) - {ApiKey.JOIN_GROUP}
"""What is given up with a generation."""

_INSTEAD = MappingProxyType(
    {**dict.fromkeys(_ROUND, _ROUND), ApiKey.HEARTBEAT: (ApiKey.HEARTBEAT,)}
)
"""Request -> those before it of which no answer is awaited any more."""

_Key = tuple[int, int]


class Awaited:
    """What one life has asked its coordinator, and what of that is of before.

    A request is of before when the next one of its kind is out (of a round's, or of heartbeats: the
    one after the sync, say), when a JoinGroup is answered with another generation, when its own is
    lost, as a change of ownership or of state tells, when the member goes out of the group, and,
    but for commits, when its coordinator is lost.
    """

    __slots__ = ("_before", "_commit", "_generation", "_gone", "_requests")

    def __init__(self) -> None:
        self._requests: dict[_Key, RequestSent] = {}
        self._before: set[_Key] = set()
        self._commit: tuple[RequestSent, bool] | None = None
        self._generation: int | None = None
        self._gone = False

    def sent(self, event: RequestSent) -> None:
        """Take a request of a group API."""
        kinds = _INSTEAD.get(event.api, ())
        self._before.update(key for key, sent in self._requests.items() if sent.api in kinds)
        key = (event.connection, event.correlation_id)
        self._requests[key] = event
        self._before.discard(key)

    def answered(self, event: AnswerReceived) -> tuple[RequestSent | None, bool]:
        """Take an answer; return its request, if the log has it, and whether it is of before."""
        key = (event.connection, event.correlation_id)
        request = self._requests.pop(key, None)
        late = excuses.awaited_no_more(key, self._before)
        self._before.discard(key)
        if event.api is ApiKey.OFFSET_COMMIT:
            self._commit = None if request is None else (request, late)
        if not late and excuses.coordinator_given_up(event.api, event.error):
            self._set_apart(_OF_COORDINATOR)
        if event.api is ApiKey.JOIN_GROUP and not event.error and not late:
            self._before.update(
                key
                for key, sent in self._requests.items()
                if sent.generation_id not in (None, event.generation_id)
            )
            self._generation, self._gone = event.generation_id, False
        return request, late

    def committed(self, event: CommitStep) -> tuple[str | None, int | None, bool]:
        """Return the member id and the generation of a commit, and whether it is of before.

        The step tells what the member is by now, the request what it was: one at most is out.
        """
        if self._commit is not None:
            request, late = self._commit
            return request.member_id, request.generation_id, late
        late = excuses.commit_of_before(self._gone, self._generation, event.generation_id)
        return event.member_id, event.generation_id, late

    def lost(self, event: OwnershipStep) -> None:
        """Take a change of ownership; after a loss only a JoinGroup is awaited."""
        begins = event.kind is ChangeKind.LOST and event.phase is Phase.BEGIN
        if begins and event.generation_id is not None and event.generation_id == self._generation:
            self._lose()

    def moved(self, event: StateChanged) -> None:
        """Take a change of state; of a loss it may tell alone."""
        if event.after in OUT:
            self.out()
        elif excuses.lost_while_revoked(event.cause):
            self._lose()
        elif event.cause == StateCause.COORDINATOR_LOST:
            self._set_apart(_OF_COORDINATOR)

    def out(self) -> None:
        """Await nothing any more: the member is out of the group."""
        self._before.update(self._requests)
        self._gone = True

    def _lose(self) -> None:
        self._set_apart(_BUT_JOIN)
        self._gone = True

    def _set_apart(self, apis: Collection[ApiKey]) -> None:
        self._before.update(key for key, sent in self._requests.items() if sent.api in apis)
