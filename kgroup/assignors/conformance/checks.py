"""Which check judges which promise, and on what.

Decides: what is drawn for each promise, and which odd groups it goes through besides.
Never: judges itself; the functions of `checks_whole`, `checks_same`,
`checks_rounds` and `processes` do, each for one promise.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle, pairwise
from types import MappingProxyType
from typing import Final

from kgroup.assignors.conformance import checks_rounds, checks_same, checks_whole
from kgroup.assignors.conformance.checks_same import Pair, remade
from kgroup.assignors.conformance.drawing import Saying, groups, pairs, stories
from kgroup.assignors.conformance.gallery import gallery
from kgroup.assignors.conformance.hunting import Budget, Haul, hunt
from kgroup.assignors.conformance.paste import answer_as_text, group_as_code, indented
from kgroup.assignors.conformance.processes import anywhere
from kgroup.assignors.conformance.promises import Claims, Promise
from kgroup.assignors.conformance.report import Outcome, Status
from kgroup.assignors.conformance.rounds import Change, Kind, Story
from kgroup.assignors.conformance.subject import Elsewhere, Offence, Subject
from kgroup.assignors.group import GroupSubscription

_OfGroup = Callable[[Subject, GroupSubscription], None]
_OfStory = Callable[[Subject, Story], None]
_Check = Callable[[Subject, Claims, Budget], Haul]


def judge(promise: Promise, subject: Subject, claims: Claims, budget: Budget) -> Outcome:
    """Hold an assignor to one promise that binds it.

    Args:
        promise: which.
        subject: the assignor.
        claims: what is claimed of it.
        budget: how many cases to draw.
    """
    haul = _CHECKS[promise.name](subject, claims, budget)
    status, reason = Status.KEPT, ""
    if haul.offence is not None:
        status, reason = Status.BROKEN, haul.offence.says
        reason += f" (the odd group {haul.odd!r})" if haul.odd else ""
    elif not haul.judged:
        status, reason = Status.NOT_JUDGED, haul.silence
    return Outcome(
        promise=promise,
        status=status,
        examples=haul.examples,
        reason=reason,
        counterexample=None if haul.offence is None else haul.offence.evidence,
    )


def _on_groups(
    judged: _OfGroup, sayings: Sequence[Saying] = tuple(Saying), *, equal: bool = False
) -> _Check:
    """Return a check that asks about one group at a time."""

    def check(subject: Subject, _: Claims, budget: Budget) -> Haul:
        def look(group: GroupSubscription) -> None:
            try:
                judged(subject, group)
            except Offence as offence:
                raise Offence(
                    offence.says, offence.evidence or _group_and_answer(subject, group)
                ) from offence

        return hunt(groups(subject, sayings, equal=equal), _odd(equal=equal), look, budget)

    return check


def _balance(subject: Subject, claims: Claims, budget: Budget) -> Haul:
    bounded = partial(checks_rounds.balance, claims)
    return _on_groups(bounded, equal=True)(subject, claims, budget)


def _memoryless(subject: Subject, _: Claims, budget: Budget) -> Haul:
    odd = {
        f"{one}, then {other}": Pair(group, between)
        for (one, group), (other, between) in pairwise(_odd().items())
    }
    return hunt(pairs(subject), odd, partial(checks_same.memoryless, subject), budget)


def _anywhere(subject: Subject, _: Claims, budget: Budget) -> Haul:
    """Draw all groups first: a process is started for all of them together."""
    asked: list[GroupSubscription] = []
    haul = hunt(groups(subject), _odd(), asked.append, budget)
    try:
        anywhere(subject, asked)
    except Offence as offence:
        haul.offence = offence
    except Elsewhere as reason:
        haul.judged, haul.silence = 0, str(reason)
    return haul


def _on_stories(judged: _OfStory, kinds: Sequence[Kind] = tuple(Kind), *, equal: bool) -> _Check:
    """Return a check that follows a group over several rounds."""

    def check(subject: Subject, _: Claims, budget: Budget) -> Haul:
        nothing = Change(Kind.NOTHING)
        groups_of_odd = _odd(equal=equal, racks=not equal).items()
        odd = {
            f"{name}, {kind.value}": Story(group, nothing, Change(kind), equal)
            for (name, group), kind in zip(groups_of_odd, cycle(kinds), strict=False)
        }
        return hunt(stories(kinds, equal=equal), odd, partial(judged, subject), budget)

    return check


def _settles(subject: Subject, claims: Claims, budget: Budget) -> Haul:
    bounded = partial(checks_rounds.settles, claims)
    return _on_stories(bounded, equal=False)(subject, claims, budget)


def _odd(*, equal: bool = False, racks: bool = True) -> Mapping[str, GroupSubscription]:
    """Return the odd groups.

    Args:
        equal: whether all members have to subscribe to the same.
        racks: whether members may have racks.
    """
    return {
        name: group
        for name, group in gallery().items()
        if (not equal or len({member.topics for member in group.members}) == 1)
        and (racks or all(member.rack is None for member in group.members))
    }


def _group_and_answer(subject: Subject, group: GroupSubscription) -> str:
    shown = group_as_code(group)
    try:
        answer = subject.ask(remade(group))
    except Elsewhere:
        return shown
    return f"{shown}\nits answer:\n{indented(answer_as_text(answer))}"


_CHECKS: Final[Mapping[str, _Check]] = MappingProxyType(
    {
        "answers": _on_groups(checks_whole.answers, (Saying.NOTHING,)),
        "hostile": _on_groups(checks_whole.hostile, (Saying.ANYTHING, Saying.TRUTH)),
        "sendable": _on_groups(checks_whole.sendable),
        "entries": _on_groups(checks_whole.entries),
        "complete": _on_groups(checks_whole.complete),
        "disjoint": _on_groups(checks_whole.disjoint),
        "subscribers": _on_groups(checks_whole.subscribers),
        "known": _on_groups(checks_whole.known),
        "twins": _on_groups(checks_same.twins),
        "repeatable": _on_groups(checks_same.repeatable),
        "memoryless": _memoryless,
        "orderless": _on_groups(checks_same.orderless),
        "anywhere": _anywhere,
        "untouched": _on_groups(checks_same.untouched),
        "user-data": _on_groups(checks_same.user_data, (Saying.TRUTH, Saying.NOTHING)),
        "rejoin": _on_stories(checks_rounds.rejoin, equal=False),
        "fed": _on_stories(checks_rounds.fed, equal=False),
        "released": _on_stories(checks_rounds.released, equal=False),
        "handover": _on_groups(checks_whole.handover, (Saying.TRUTH, Saying.ANYTHING)),
        "settles": _settles,
        "balance": _balance,
        "optimal": _on_groups(checks_rounds.optimal),
        "keeps": _on_stories(checks_rounds.keeps, equal=False),
        "survivors": _on_stories(checks_rounds.survivors, (Kind.LEAVE,), equal=True),
        "newcomer": _on_stories(checks_rounds.newcomer, (Kind.JOIN,), equal=True),
    }
)
