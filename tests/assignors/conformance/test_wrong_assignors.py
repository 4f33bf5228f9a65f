"""Every promise has assignors that break it, and the kit names that promise and no other."""

import pytest

from kgroup.assignors.conformance import PROMISES, Claims, Status, run
from tests.assignors.conformance import wrong, wrong_rounds

STICKY = Claims(sticky=True)

BROKEN = [
    (wrong.RaisesWithoutMembers, Claims(), "answers"),
    (wrong.CannotReadNames, Claims(), "answers"),
    (wrong.BelievesUserData, Claims(), "hostile"),
    (wrong.BelievesItsEcho, Claims(), "hostile"),
    (wrong.BelievesClaims, Claims(), "hostile"),
    (wrong.AddsClaims, Claims(), "answers hostile"),
    (wrong.ReturnsADict, Claims(), "sendable"),
    (wrong.NamesPartitionsByText, Claims(), "sendable"),
    (wrong.SendsText, Claims(), "sendable"),
    (wrong.SendsTooMuch, Claims(), "sendable"),
    (wrong.LeavesIdleMembersOut, Claims(), "entries"),
    (wrong.ForgetsTheLast, Claims(), "complete"),
    (wrong.GivesTwice, Claims(), "disjoint"),
    (wrong.WithholdsWhatItGives, Claims(), "disjoint"),
    (wrong.GivesToAnybody, Claims(), "subscribers"),
    (wrong.GivesToAStranger, Claims(), "known"),
    (wrong.InventsAPartition, Claims(), "known"),
    (wrong.WritesToAStranger, Claims(), "known"),
    (wrong.CountsFromZero, Claims(), "complete known"),
    (wrong.DrawsChance, Claims(), "repeatable"),
    (wrong.CountsOnItsClass, Claims(), "repeatable"),
    (wrong.CountsItsCalls, Claims(), "memoryless"),
    (wrong.RemembersTheNewestGeneration, Claims(), "memoryless"),
    (wrong.TakesPartitionsAsListed, Claims(), "orderless"),
    (wrong.FollowsTheOrderOfClaims, Claims(), "orderless"),
    (wrong.WalksOverASet, Claims(), "anywhere"),
    (wrong.ReadsHash, Claims(), "anywhere"),
    (wrong.TakesFromTheGroup, Claims(), "untouched"),
    (wrong.SortsClaims, Claims(), "untouched"),
    (wrong.StampsText, Claims(), "user-data"),
    (wrong.StampsTooMuch, Claims(), "user-data"),
    (wrong.StampsCounts, Claims(), "user-data"),
    (wrong.StampsOnlyWhatItHolds, Claims(), "user-data"),
    (wrong.CannotReadItsStamps, Claims(), "hostile user-data"),
    (wrong_rounds.RejoinsInThePast, Claims(), "rejoin"),
    (wrong_rounds.RejoinsAtOnce, Claims(), "rejoin"),
    (wrong_rounds.RejoinsNever, Claims(), "rejoin"),
    (wrong_rounds.RejoinsAtNoTime, Claims(), "rejoin"),
    (wrong_rounds.HoldsForNobody, Claims(), "fed"),
    (wrong_rounds.NeverGivesTheWithheld, Claims(), "fed"),
    (wrong_rounds.HoldsForEver, Claims(), "released"),
    (wrong_rounds.HandsOverAtOnce, Claims(), "handover"),
    (wrong_rounds.TurnsForEver, Claims(), "settles"),
    (wrong_rounds.LeavesADifferenceOfTwo, Claims(balance=1), "balance"),
    (wrong_rounds.GoesByTopic, Claims(balance=1), "balance"),
    (wrong_rounds.GoesByTopic, Claims(optimal=True), "optimal"),
    (wrong_rounds.MovesWithoutReason, STICKY, "keeps survivors"),
    (wrong_rounds.MovesWhenOneLeaves, STICKY, "survivors"),
    (wrong_rounds.MovesWhenOneJoins, STICKY, "newcomer"),
    (wrong_rounds.IgnoresTheEcho, STICKY, "survivors newcomer"),
]

KEPT = [
    (wrong.Decent, Claims()),
    (wrong.Stamps, Claims()),
    (wrong_rounds.GoesByTopic, Claims()),
    (wrong_rounds.LeavesADifferenceOfTwo, Claims(balance=2)),
    (wrong_rounds.Sticky, Claims(sticky=True, balance=1, optimal=True)),
    (wrong_rounds.RemembersByEcho, Claims(sticky=True, balance=1)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("assignor", "claims", "promises"), BROKEN, ids=lambda each: getattr(each, "__name__", None)
)
def test_a_broken_promise_is_named_and_no_other(assignor, claims, promises):
    report = run(assignor, claims, examples=300)
    assert [outcome.check for outcome in report.broken] == promises.split(), report.text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("assignor", "claims"), KEPT, ids=lambda each: getattr(each, "__name__", None)
)
def test_an_assignor_that_keeps_its_promises_passes(assignor, claims):
    report = run(assignor, claims, examples=300)
    assert report.passed, report.text()
    assert not [each for each in report.outcomes if each.status is Status.NOT_JUDGED]


def test_every_promise_is_broken_by_some_assignor():
    broken = {name for _, _, promises in BROKEN for name in promises.split()}
    assert {promise.name for promise in PROMISES} - broken == {"twins"}
