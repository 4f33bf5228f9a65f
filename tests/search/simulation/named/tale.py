"""A run's journal, asked what happened in it.

Decides: the questions of named schedules: which member sent, heard, owned, committed what, when.
Never: judges.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    CommitStage,
    CommitStep,
    Delivered,
    Event,
    OwnershipStep,
    Phase,
    RequestSent,
)
from kgroup.types import ChangeKind, TopicPartition
from tests.search.simulation.plan import Kind
from tests.search.simulation.schedule import Outcome

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Moment(Generic[E]):
    """One event, its instant and its member.

    Args:
        at: seconds.
        process: one life of one member, such as "m0.0".
        event: what happened.
    """

    at: float
    process: str
    event: E


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with its answer.

    Args:
        process: the one that asked.
        request: as sent.
        sent_at: seconds.
        answer: None when none came.
        heard_at: seconds, infinity when none came.
    """

    process: str
    request: RequestSent
    sent_at: float
    answer: AnswerReceived | None
    heard_at: float


@dataclass(frozen=True, slots=True)
class Period:
    """One partition owned by one life of one member.

    Args:
        process: the owner.
        tp: the partition.
        serial: number of the claim.
        since: when the listener had returned.
        until: when it ended for the outside, infinity when it did not.
        ended: how, None when it did not.
        asked_at: when its end began: from here on nothing is delivered.
    """

    process: str
    tp: TopicPartition
    serial: int
    since: float
    until: float = inf
    ended: ChangeKind | None = None
    asked_at: float = inf


class Tale:
    """What happened in one run.

    Args:
        outcome: of a run whose journal was kept.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.plan = outcome.plan
        self.outcome = outcome
        self._entries = outcome.entries

    def all(
        self, kind: type[E], of: str = "", *, after: float = 0.0, before: float = inf
    ) -> list[Moment[E]]:
        """Return events of a kind, in order.

        Args:
            kind: class of event.
            of: how the process is called, or how its name begins.
            after: not earlier than this.
            before: earlier than this.
        """
        return [
            Moment(each.at, each.source.process, each.event)
            for each in self._entries
            if isinstance(each.event, kind)
            and each.source.process.startswith(of)
            and after <= each.at < before
        ]

    def struck(self, index: int = 0) -> float:
        """Return when a perturbation of the plan took place."""
        return self.plan.perturbations[index].at

    def when(self, kind: Kind) -> float:
        """Return when the plan has the first perturbation of a kind."""
        return next(each.at for each in self.plan.perturbations if each.kind is kind)

    # -- requests ----------------------------------------------------------------------------

    def exchanges(
        self, api: ApiKey, of: str = "", *, after: float = 0.0, before: float = inf
    ) -> list[Exchange]:
        """Return requests sent in a time, each with its answer."""
        answers = {
            (each.process, each.event.connection, each.event.correlation_id): each
            for each in self.all(AnswerReceived, of)
        }
        found = []
        for sent in self.all(RequestSent, of, after=after, before=before):
            if sent.event.api != api:
                continue
            key = (sent.process, sent.event.connection, sent.event.correlation_id)
            heard = answers.get(key)
            answer = None if heard is None else heard.event
            heard_at = inf if heard is None else heard.at
            found.append(Exchange(sent.process, sent.event, sent.at, answer, heard_at))
        return found

    def heard(self, api: ApiKey, error: int, of: str = "") -> list[Exchange]:
        """Return exchanges answered with an error code."""
        return [
            each
            for each in self.exchanges(api, of)
            if each.answer is not None and each.answer.error == error
        ]

    # -- commits -----------------------------------------------------------------------------

    def committed(self, of: str = "", *, after: float = 0.0) -> list[Moment[CommitStep]]:
        """Return commits that were acknowledged."""
        return self._commits(CommitStage.OK, of, after)

    def not_committed(self, of: str = "") -> list[Moment[CommitStep]]:
        """Return commits that were refused, or whose outcome is not known."""
        refused = self._commits(CommitStage.ERROR, of, 0.0)
        return refused + self._commits(CommitStage.UNKNOWN, of, 0.0)

    def unknown(self, of: str = "") -> list[Moment[CommitStep]]:
        """Return commits whose outcome is not known."""
        return self._commits(CommitStage.UNKNOWN, of, 0.0)

    def _commits(self, stage: CommitStage, of: str, after: float) -> list[Moment[CommitStep]]:
        return [m for m in self.all(CommitStep, of, after=after) if m.event.stage is stage]

    def turned_down(self, of: str = "") -> list[Exchange]:
        """Return commits that were answered, and nothing of them accepted at that moment."""
        accepted = {(m.process, m.at) for m in self.committed(of)}
        return [
            each
            for each in self.exchanges(ApiKey.OFFSET_COMMIT, of)
            if each.answer is not None and (each.process, each.heard_at) not in accepted
        ]

    # -- ownership ---------------------------------------------------------------------------

    def periods(self, of: str = "") -> list[Period]:
        """Return all periods of ownership, in the order they began."""
        open_: dict[tuple[str, int], Period] = {}
        for moment in self.all(OwnershipStep, of):
            for period in self._stepped(moment, open_):
                open_[period.process, period.serial] = period
        return sorted(open_.values(), key=lambda each: each.since)

    @staticmethod
    def _stepped(
        moment: Moment[OwnershipStep], known: dict[tuple[str, int], Period]
    ) -> Iterator[Period]:
        event, at = moment.event, moment.at
        begins = event.phase is Phase.BEGIN
        for claim in event.claims:
            if event.kind is ChangeKind.ASSIGNED:
                if not begins:
                    yield Period(moment.process, claim.tp, claim.serial, at)
                continue
            was = known.get((moment.process, claim.serial))
            if was is None:
                continue
            over = begins == (event.kind is ChangeKind.LOST)
            asked = at if begins else was.asked_at
            until = at if over else was.until
            yield Period(was.process, was.tp, was.serial, was.since, until, event.kind, asked)

    def changed(
        self, kind: ChangeKind, of: str = "", *, after: float = 0.0, before: float = inf
    ) -> list[Moment[OwnershipStep]]:
        """Return changes of a kind that took something away, or gave it."""
        found = self.all(OwnershipStep, of, after=after, before=before)
        return [
            m
            for m in found
            if m.event.kind is kind and m.event.phase is Phase.BEGIN and m.event.claims
        ]

    def delivered(
        self, of: str = "", *, after: float = 0.0, before: float = inf
    ) -> list[Moment[Delivered]]:
        """Return what was handed out."""
        return self.all(Delivered, of, after=after, before=before)
