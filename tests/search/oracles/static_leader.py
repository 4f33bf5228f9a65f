"""T3: who assigns, and who does not (KIP-814).

T3: a member that joined as a follower, or was told to skip the assignment, sends none; below
    JoinGroup version 9 a leader that restarted is told the leader's former id, and must not lead.

Decides: whether a member that is not to assign did.
Never: judges the assignment; `rounds` does. That a leader who skips the assignment still notices
new partitions is judged where its metadata is: in the machine's tests.
"""

from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    AnswerReceived,
    Entry,
    Event,
    GenerationEntered,
    RequestSent,
    Source,
)


class OnlyLeadersAssign:
    """T3: assignments come from the leader of the round."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, GenerationEntered, RequestSent}
    )

    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: dict[Source, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, AnswerReceived):
            if event.api is ApiKey.JOIN_GROUP and not event.error:
                self._answers[entry.source] = entry
        elif isinstance(event, GenerationEntered):
            if event.leader and not self._leads(entry.source):
                return self._found(entry, "counts as the leader of")
        elif isinstance(event, RequestSent):
            return self._sent(entry, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _sent(self, entry: Entry, event: RequestSent) -> tuple[Violation, ...]:
        if event.api is ApiKey.SYNC_GROUP and event.assignments:
            if not self._leads(entry.source):
                return self._found(entry, "is no leader, but assigned")
            if self._skips(entry.source):
                return self._found(entry, "was to skip the assignment, but assigned")
        return ()

    def _answer(self, source: Source) -> AnswerReceived | None:
        answer = self._answers.get(source)
        if answer is None:
            return None
        assert isinstance(answer.event, AnswerReceived)
        return answer.event

    def _leads(self, source: Source) -> bool:
        answer = self._answer(source)
        return answer is None or answer.leader is None or answer.leader == answer.member_id

    def _skips(self, source: Source) -> bool:
        answer = self._answer(source)
        return answer is not None and answer.skip_assignment is True

    def _found(self, entry: Entry, what: str) -> tuple[Violation, ...]:
        answered = self._answers[entry.source]
        answer = self._answer(entry.source)
        assert answer is not None
        text = (
            f"{entry.source} {what} generation {answer.generation_id}, which {answer.leader} leads"
        )
        return (Violation("T3", text, (answered, entry)),)
