"""What users of other clients suffered from is provoked, and does not happen."""

from pathlib import Path

import pytest

from tests.search.simulation.named.case import Named, Setting
from tests.search.simulation.named.catalogue import CATALOGUE
from tests.search.simulation.named.planting import planted
from tests.search.simulation.named.schedules import SCHEDULES
from tests.search.simulation.named.tale import Tale
from tests.search.simulation.schedule import Outcome, Schedule
from tests.search.simulation.world.run import play_objects

_TESTS = Path(__file__).parents[3]
_JITTERS = (0, 1)
"""Seeds of what each message takes beyond the plain latency, up to five times."""

each_schedule = pytest.mark.parametrize("named", SCHEDULES, ids=lambda named: named.name)


def played(named: Named, setting: Setting, jitter: int | None = None) -> Outcome:
    schedule = Schedule(setting.level, picks=())
    if jitter is not None:
        schedule = Schedule(setting.level, seed=jitter)
    return play_objects(schedule, plan=named.plan(setting), keep=True)


def assert_good(named: Named, setting: Setting) -> None:
    outcome = played(named, setting)
    tale = Tale(outcome)
    assert named.happened(tale), f"{setting}: not provoked\n{outcome.plan}"
    assert not outcome.violations, f"{setting}\n{outcome.plan}"
    assert named.kept(tale), f"{setting}\n{outcome.plan}"


@each_schedule
def test_a_named_schedule_is_provoked_and_keeps_its_promises(named: Named) -> None:
    assert_good(named, named.settings[0])


@pytest.mark.slow
@each_schedule
def test_it_does_so_in_every_kind_of_group(named: Named) -> None:
    for setting in named.settings[1:]:
        assert_good(named, setting)


@pytest.mark.slow
@each_schedule
def test_its_promises_hold_a_few_round_trips_beside_it_too(named: Named) -> None:
    for setting in named.settings:
        for jitter in _JITTERS:
            outcome = played(named, setting, jitter)
            assert not outcome.violations, f"{setting}, jitter {jitter}\n{outcome.plan}"


@pytest.mark.slow
@each_schedule
def test_a_planted_fault_is_found_by_it(named: Named) -> None:
    with planted(named.faults):
        outcomes = [played(named, setting) for setting in named.settings]
        broken = {rule for outcome in outcomes for rule in outcome.rules}
        assert broken & {*named.promises} or not all(named.kept(Tale(each)) for each in outcomes)
    assert_good(named, named.settings[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "named", [each for each in SCHEDULES if each.promises], ids=lambda named: named.name
)
def test_each_promise_it_names_is_broken_in_it_by_a_planted_fault(named: Named) -> None:
    broken = set[str]()
    for faults in (named.faults, *((each,) for each in named.others)):
        with planted(faults):
            for setting in named.settings:
                broken.update(played(named, setting).rules)
    assert {*named.promises} <= broken
    assert_good(named, named.settings[0])


def test_names_are_unlike_each_other() -> None:
    names = [each.name for each in SCHEDULES]
    assert len(set(names)) == len(names)


def test_schedules_stand_for_what_is_in_the_catalogue() -> None:
    keys = [each.key for each in CATALOGUE]
    assert len(set(keys)) == len(keys)
    assert {key for each in SCHEDULES for key in each.of} <= set(keys)


@pytest.mark.parametrize("symptom", CATALOGUE, ids=lambda symptom: symptom.key)
def test_every_symptom_has_a_schedule_or_a_test_elsewhere(symptom) -> None:
    scheduled = [each.name for each in SCHEDULES if symptom.key in each.of]
    assert scheduled or symptom.elsewhere
    for test in symptom.elsewhere:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (_TESTS / path).read_text(encoding="utf-8"), test
