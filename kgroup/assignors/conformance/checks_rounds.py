"""Does it behave over several rounds: sticky, cooperative, and never holding back for ever?

Decides: what members may lose, how many rounds a change may take, and what brings the next one.
Never: looks at how an assignor knows what members hold, be it their claims, their user data, or
what it sent along itself: only at what comes of it.
KIPs: 54 (stickiness), 429 (follow-up rounds).
"""

from math import isfinite
from typing import Final

from kgroup.assignors.conformance.claimed import Claims
from kgroup.assignors.conformance.offence import Elsewhere, Offence
from kgroup.assignors.conformance.paste import group_as_code, indented
from kgroup.assignors.conformance.rounds import PATIENCE, Gathering
from kgroup.assignors.conformance.stories import Story, happen
from kgroup.assignors.conformance.subject import Subject

__all__ = ["fed", "keeps", "newcomer", "rejoin", "released", "settles", "survivors"]

_DAY: Final = 86_400.0
_QUIET_ROUNDS: Final = 2


def rejoin(subject: Subject, story: Story) -> None:
    """Judge every time that it asks for."""
    gathering = Gathering(subject, story.group)
    for change in (None, story.early, story.change, None):
        if change is not None:
            happen(gathering, change, equal=story.equal)
        played = gathering.play()
        after: object = played.answer.rejoin_after
        if after is not None and not _is_a_time(after):
            raise _offence(f"it asks for the next round after {after!r} s", gathering)


def fed(subject: Subject, story: Story) -> None:
    """Judge whether whatever is withheld has somebody, or a time, that brings the next round."""
    gathering = Gathering(subject, story.group)
    for change in (None, story.early, story.change):
        if change is not None:
            happen(gathering, change, equal=story.equal)
        for _ in range(_QUIET_ROUNDS):
            played = gathering.play_sound()
            if played.answer.withheld and not played.goes_on:
                first = min(played.answer.withheld)
                raise _offence(
                    f"{first} is withheld, but nobody has to hand anything back and rejoin_after "
                    "is None: no round follows, and it starves",
                    gathering,
                )


def released(subject: Subject, story: Story) -> None:
    """Judge whether what is held back is given when enough time has gone by."""
    gathering = Gathering(subject, story.group)
    for change in (story.early, story.change):
        gathering.play_sound()
        happen(gathering, change, equal=story.equal)
    for seconds in (*[None] * PATIENCE, _DAY, 365 * _DAY, None):
        played = gathering.play_sound()
        if not played.answer.withheld:
            return
        if played.revoked:
            continue
        if played.answer.rejoin_after is None:
            raise Elsewhere("no round follows")
        gathering.wait(seconds or played.answer.rejoin_after)
    if not played.revoked:
        first = min(played.answer.withheld)
        raise _offence(f"{first} is still held back more than a year later", gathering)


def settles(claims: Claims, subject: Subject, story: Story) -> None:
    """Judge how many rounds a cooperative group takes after a change."""
    gathering = _at_rest(subject, story, claims)
    happen(gathering, story.change, equal=story.equal)
    if not gathering.settle(claims.rounds):
        raise _offence(
            f"{claims.rounds} rounds after a single change members are still told to hand "
            "something back",
            gathering,
        )


def keeps(subject: Subject, story: Story) -> None:
    """Judge whether a group to which nothing happens stays as it is."""
    gathering = _at_rest(subject, story)
    before = gathering.held()
    for _ in range(_QUIET_ROUNDS):
        gathering.play_sound()
        for who, held in gathering.held().items():
            if lost := before[who] - held:
                raise _offence(f"{who!r} lost {min(lost)}, though nothing happened", gathering)


def survivors(subject: Subject, story: Story) -> None:
    """Judge whether those who stay keep what they have when one leaves."""
    gathering = _at_rest(subject, story)
    before = gathering.held()
    gone = happen(gathering, story.change, equal=True)
    for _ in range(PATIENCE):
        played = gathering.play_sound()
        for who, held in gathering.held().items():
            if lost := before[who] - held:
                raise _offence(f"{who!r} lost {min(lost)} when {gone!r} left", gathering)
        if not played.revoked:
            return


def newcomer(subject: Subject, story: Story) -> None:
    """Judge whether a newcomer's arrival moves only what it gets itself."""
    gathering = _at_rest(subject, story)
    before = gathering.held()
    new = happen(gathering, story.change, equal=True)
    if not gathering.settle(PATIENCE):
        raise Elsewhere("the group never comes to rest")
    after = gathering.held()
    for who, held in before.items():
        if moved := held - after[who] - after[new]:
            raise _offence(
                f"when {new!r} joined, {who!r} lost {min(moved)}, which {new!r} did not get",
                gathering,
            )


def _is_a_time(after: object) -> bool:
    return isinstance(after, int | float) and isfinite(after) and after > 0


def _at_rest(subject: Subject, story: Story, claims: Claims | None = None) -> Gathering:
    """Return a group with a past in which nobody waits for anything."""
    rounds = PATIENCE if claims is None else claims.rounds
    gathering = Gathering(subject, story.group)
    for change in (None, story.early):
        if change is not None:
            happen(gathering, change, equal=story.equal)
        if not gathering.settle(rounds):
            raise Elsewhere("the group never comes to rest")
    return gathering


def _offence(says: str, gathering: Gathering) -> Offence:
    happened = indented("\n".join(gathering.log))
    asked = group_as_code(gathering.asked)
    return Offence(says, f"what happened:\n{happened}\nthe group of the last round:\n\n{asked}")
